#include "runtime/cpu.hpp"

#include <atomic>

#if defined(CENOTE_HAS_AVX2)
#include <cpuid.h>
#endif

namespace cenote {

namespace {

[[maybe_unused]] bool always() { return true; }

#if defined(CENOTE_HAS_AVX2)
bool has_f16c() {  // not every Clang's __builtin_cpu_supports knows it
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c(); }
#endif
#if defined(CENOTE_HAS_AVX512)
bool has_avx512() {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") && has_avx2();
}
#endif

#if defined(CENOTE_HAS_BASELINE)
// Only the general kernels: a CPU without AVX2 is more than ten years old.
constexpr PoolKernels baseline_kernels() {
    PoolKernels k{};
    k.vector_bytes = k.norm_vector_bytes = 16;
    k.separable_max = &baseline::separable_max;
    k.separable_argmax = &baseline::separable_argmax;
    k.separable_sum = &baseline::separable_sum;
    k.separable_norm = &baseline::separable_norm;
    k.backward_scatter = &baseline::backward_scatter;
    k.weighted = &baseline::weighted_rows;
    return k;
}
#endif

// A level that has every kernel.
#define CENOTE_ALL_KERNELS(level, bytes)                                                                               \
    PoolKernels {                                                                                                      \
        bytes, bytes, &level::separable_max, &level::separable_argmax, &level::separable_sum, &level::separable_norm,  \
            &level::column_strips_max, &level::column_strips_sum, &level::column_strips_norm, &level::line_buffer_max, \
            &level::line_buffer_sum, &level::line_buffer_norm, &level::direct_max, &level::direct_sum,                 \
            &level::direct_uint, &level::direct_norm, &level::backward_gather, &level::backward_scatter,               \
            &level::backward_avg, &level::weighted_rows, &level::order_rows                                            \
    }

#if defined(CENOTE_HAS_AVX512)
// Rows of a few hundred bytes are few 64-byte vectors and mostly tails, and each unaligned load of them crosses a cache
// line, so small windows use AVX2's kernels (float32, two threads, 32×64×112×112, AVX-512 vs. AVX2: value and VJP of
// max 2×2 14.4 vs. 9.2 ms, of 3×3 s2 28 vs. 12 ms). Smooth max and Lp norms are compute-bound and keep their own
// (smooth max 3×3 s1 2.0 vs. 2.3 ms); so do most separable sums (avg 4×4 of 4096² 1.5 vs. 1.65 ms)
// and column strips of float32, sums (10 to 20 %) and maxima (max 31×31 of 8×512² 0.45 vs. 0.56 ms).
template <FindKernel Own, FindKernel Avx2>
TaskFn own_or_avx2(const PoolSchedule& job) {
    const TaskFn own = Own(job);
    return own ? own : Avx2(job);
}

constexpr PoolKernels avx512_kernels() {
    PoolKernels k = CENOTE_ALL_KERNELS(avx2, 32);
    k.norm_vector_bytes = 64;
    k.separable_sum = &own_or_avx2<&avx512::separable_sum, &avx2::separable_sum>;
    k.separable_norm = &avx512::separable_norm;
    k.column_strips_max = &own_or_avx2<&avx512::column_strips_max, &avx2::column_strips_max>;
    k.column_strips_sum = &own_or_avx2<&avx512::column_strips_sum, &avx2::column_strips_sum>;
    k.column_strips_norm = &avx512::column_strips_norm;
    k.line_buffer_norm = &avx512::line_buffer_norm;
    k.direct_norm = &avx512::direct_norm;
    k.weighted = &avx512::weighted_rows;
    return k;
}
#endif

template <auto Float, auto Double, auto Integer>
const ConvKernels* conv_of(DType work) {
    return work == DType::f32 ? Float() : work == DType::f64 ? Double() : Integer(work);
}

// Plain data: nothing is initialised on first use, when another thread might fork, or destroyed while threads run.
constexpr Level kLevels[] = {
#if defined(CENOTE_HAS_BASELINE)
    {"baseline", baseline_kernels(),
     &conv_of<&conv_baseline::conv_f32, &conv_baseline::conv_f64, &conv_baseline::conv_int>,
     &conv_baseline::fft_kernels, &always},
#endif
#if defined(CENOTE_HAS_AVX2) && !defined(CENOTE_AVX2_PARTIAL)  // otherwise built for the AVX-512 level only
    {"avx2", CENOTE_ALL_KERNELS(avx2, 32), &conv_of<&conv_avx2::conv_f32, &conv_avx2::conv_f64, &conv_avx2::conv_int>,
     &conv_avx2::fft_kernels, &has_avx2},
#endif
#if defined(CENOTE_HAS_AVX512)
    {"avx512", avx512_kernels(), &conv_of<&conv_avx512::conv_f32, &conv_avx2::conv_f64, &conv_avx2::conv_int>,
     &conv_avx512::fft_kernels, &has_avx512},
#endif
#if defined(CENOTE_HAS_NEON)  // the baseline of its architecture
    {"baseline", CENOTE_ALL_KERNELS(neon, 16),
     &conv_of<&conv_neon::conv_f32, &conv_neon::conv_f64, &conv_neon::conv_int>, &conv_neon::fft_kernels, &always},
    {"neon", CENOTE_ALL_KERNELS(neon, 16), &conv_of<&conv_neon::conv_f32, &conv_neon::conv_f64, &conv_neon::conv_int>,
     &conv_neon::fft_kernels, &always},
#endif
};

std::atomic<const Level*> current{nullptr};

}  // namespace

std::span<const Level> levels() { return kLevels; }

const Level& level_in_use() {
    if (const Level* level = current.load(std::memory_order_relaxed)) return *level;
    const Level* best = nullptr;
    for (const Level& level : levels())
        if (level.supported()) best = &level;
    current.store(best, std::memory_order_relaxed);
    return *best;
}

bool use_level(const std::string& name) {
    for (const Level& level : levels()) {
        if (name == level.name && level.supported()) {
            current.store(&level, std::memory_order_relaxed);
            return true;
        }
    }
    return false;
}

}  // namespace cenote

#include "cpu.hpp"

#include <atomic>

namespace cenote {

namespace {

bool always() { return true; }

#if defined(CENOTE_HAS_AVX2)
bool has_avx2() {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
}
#endif
#if defined(CENOTE_HAS_AVX512)
bool has_avx512() {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") && has_avx2();
}
#endif

std::atomic<const Level*> current{nullptr};

}  // namespace

const std::vector<Level>& levels() {
    static const std::vector<Level> all = {
        {"baseline", &baseline::find_kernel, &small_baseline::find_small, &conv_baseline::find_conv,
         &conv_baseline::fft_kernels, &always},
#if defined(CENOTE_HAS_AVX2)
        {"avx2", &avx2::find_kernel, &small_avx2::find_small, &conv_avx2::find_conv, &conv_avx2::fft_kernels,
         &has_avx2},
#endif
#if defined(CENOTE_HAS_AVX512)
        {"avx512", &avx512::find_kernel, &small_avx512::find_small, &conv_avx512::find_conv, &conv_avx512::fft_kernels,
         &has_avx512},
#endif
#if defined(CENOTE_HAS_NEON)
        {"neon", &neon::find_kernel, &small_neon::find_small, &conv_neon::find_conv, &conv_neon::fft_kernels, &always},
#endif
    };
    return all;
}

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

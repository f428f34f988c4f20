#include "cpu.hpp"

#include <atomic>

#if defined(CENOTE_HAS_AVX2)
#include <cpuid.h>
#endif

namespace cenote {

namespace {

bool always() { return true; }

#if defined(CENOTE_HAS_AVX2)
bool has_f16c() {  // which __builtin_cpu_supports does not know with every Clang
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

// Plain data: nothing is made at first use, when another thread might fork, nor destroyed while threads are running.
constexpr Level kLevels[] = {
    {"baseline", &baseline::find_kernel, &small_baseline::find_small, &conv_baseline::find_conv, &always},
#if defined(CENOTE_HAS_AVX2)
    {"avx2", &avx2::find_kernel, &small_avx2::find_small, &conv_avx2::find_conv, &has_avx2},
#endif
#if defined(CENOTE_HAS_AVX512)
    {"avx512", &avx512::find_kernel, &small_avx512::find_small, &conv_avx512::find_conv, &has_avx512},
#endif
#if defined(CENOTE_HAS_NEON)
    {"neon", &neon::find_kernel, &small_neon::find_small, &conv_neon::find_conv, &always},
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

// The SIMD levels of this build, which of them this CPU supports, and which one is in use.
#pragma once

#include <span>
#include <string>

#include "conv/fft_kernels.hpp"
#include "runtime/levels.hpp"

namespace cenote {

struct Level {
    const char* name;
    PoolKernels pool;
    const ConvKernels* (*find_conv)(DType work);  // f32, f64, u32 or u64
    const FftKernels* fft;
    bool (*supported)();
};

// All levels of this build, best last.
std::span<const Level> levels();

const Level& level_in_use();
// False if this build or this CPU does not have the level.
bool use_level(const std::string& name);

}  // namespace cenote

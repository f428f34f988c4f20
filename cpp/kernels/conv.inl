// The kernels of convolution for one SIMD level. Included by isa/conv_*.cpp, which are compiled with that level's
// flags, and unlike the kernels of pooling with fused products and sums.
//
// Nothing from the standard library may be instantiated here: see geometry.hpp.

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "../levels.hpp"

#define CENOTE_ONCE __attribute__((noinline))
#if defined(__aarch64__)
#define CENOTE_REGISTERS 32
#else
#define CENOTE_REGISTERS 16
#endif

namespace cenote::CENOTE_LEVEL {

constexpr int kVectorBytes = CENOTE_VECTOR_BYTES;

#include "vec.inl"

#include "convert.inl"

#include "plane.inl"

#include "gemm.inl"

#include "depthwise.inl"

template <class T>
const ConvKernels* kernels_of() {
    static constexpr ConvKernels all = {kLanes<T>,  2 * kLanes<T>, kMostM,           kLanes<T>,      &channels<T>,
                                        &pixels<T>, &lanes<T>,     &lanes_filter<T>, &load_plane<T>, &store_plane<T>};
    return &all;
}

const ConvKernels* find_conv(DType work) {
    switch (work) {
        case DType::f32: return kernels_of<float>();
        case DType::f64: return kernels_of<double>();
        case DType::u32: return kernels_of<uint32_t>();
        default: return kernels_of<uint64_t>();
    }
}

}  // namespace cenote::CENOTE_LEVEL

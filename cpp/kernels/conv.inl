// The kernels of convolution for one SIMD level. Included by isa/conv_*.cpp, which are compiled with that level's
// flags, and unlike the kernels of pooling with fused products and sums.
//
// Nothing from the standard library may be instantiated here: see geometry.hpp.

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "../fft_kernels.hpp"
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

#include "pixels.inl"

#include "depthwise.inl"

#include "winograd.inl"

#include "fft.inl"

template <class T>
constexpr ConvKernels kernels_of() {
    return {kLanes<T>,        2 * kLanes<T>,     kMostM,     kLanes<T>,      &channels<T>,    &pixels<T>, &lanes<T>,
            &lanes_filter<T>, &planes_filter<T>, &border<T>, &load_plane<T>, &store_plane<T>, nullptr,    nullptr,
            nullptr,          nullptr,           nullptr};
}
template <class T>
constexpr ConvKernels float_kernels_of() {
    ConvKernels all = kernels_of<T>();
    all.winograd_cells = &winograd_cells<T>;
    all.winograd_filter = &winograd_filter<T>;
    all.winograd_results = &winograd_results<T>;
    return all;
}

static constexpr ConvKernels kFloat = float_kernels_of<float>(), kDouble = float_kernels_of<double>(),
                             kInt = kernels_of<uint32_t>(), kLong = kernels_of<uint64_t>();

const ConvKernels* find_conv(DType work) {
    switch (work) {
        case DType::f32: return &kFloat;
        case DType::f64: return &kDouble;
        case DType::u32: return &kInt;
        default: return &kLong;
    }
}

}  // namespace cenote::CENOTE_LEVEL

// The beginning of every convolution unit: like pool/units/unit.inl, but in a namespace of its own, because these units
// are compiled with fused multiply-add.

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "runtime/levels.hpp"

#define CENOTE_ONCE __attribute__((noinline))
#if defined(__aarch64__)
#define CENOTE_REGISTERS 32
#else
#define CENOTE_REGISTERS 16
#endif

#define CENOTE_PASTE_(a, b) a##b
#define CENOTE_PASTE(a, b) CENOTE_PASTE_(a, b)
#define CENOTE_CONV_LEVEL CENOTE_PASTE(conv_, CENOTE_LEVEL)

namespace cenote::CENOTE_CONV_LEVEL {

constexpr int kVectorBytes = CENOTE_VECTOR_BYTES;

#include "simd/vector.inl"

#include "simd/convert.inl"

#include "conv/kernels/plane.inl"

#include "conv/kernels/gemm.inl"

#include "conv/kernels/pixels.inl"

#include "conv/kernels/depthwise.inl"

#include "conv/kernels/winograd.inl"

template <class T>
constexpr ConvKernels kernels_of() {
    return {kLanes<T>,      2 * kLanes<T>,   kMostM,           kLanes<T>,         &channels<T>,
            &pixels<T>,     &lanes<T>,       &lanes_filter<T>, &planes_filter<T>, &border<T>,
            &load_plane<T>, &store_plane<T>, nullptr,          nullptr,           nullptr};
}

// On x86, Winograd's transforms are not worth their code with 16-byte vectors.
template <class T>
constexpr ConvKernels float_kernels_of() {
    ConvKernels all = kernels_of<T>();
#if CENOTE_VECTOR_BYTES > 16 || defined(__aarch64__)
    all.winograd_input = &winograd_input<T>;
    all.winograd_filter = &winograd_filter<T>;
    all.winograd_output = &winograd_output<T>;
#endif
    return all;
}

}  // namespace cenote::CENOTE_CONV_LEVEL

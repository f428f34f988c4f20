// Convolution of float32, and the Fourier transforms, which are in double precision.

#include "conv/units/unit.inl"

namespace cenote::CENOTE_CONV_LEVEL {

#include "conv/kernels/fft.inl"

const ConvKernels* conv_f32() {
    static constexpr ConvKernels kernels = float_kernels_of<float>();
    return &kernels;
}

}  // namespace cenote::CENOTE_CONV_LEVEL

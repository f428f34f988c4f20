// Convolution of float64.

#include "conv/units/unit.inl"

namespace cenote::CENOTE_CONV_LEVEL {

const ConvKernels* conv_f64() {
    static constexpr ConvKernels kernels = float_kernels_of<double>();
    return &kernels;
}

}  // namespace cenote::CENOTE_CONV_LEVEL

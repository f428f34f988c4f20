// Convolution of integers, which wrap: C++ allows that for unsigned ones only.

#include "conv/units/unit.inl"

namespace cenote::CENOTE_CONV_LEVEL {

const ConvKernels* conv_int(DType work) {
    static constexpr ConvKernels u32 = kernels_of<uint32_t>(), u64 = kernels_of<uint64_t>();
    return work == DType::u32 ? &u32 : &u64;
}

}  // namespace cenote::CENOTE_CONV_LEVEL

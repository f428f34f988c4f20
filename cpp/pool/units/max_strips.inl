// Max and min of large windows, in column strips.

#include "pool/units/unit.inl"

namespace cenote::CENOTE_LEVEL {

namespace {

#include "pool/kernels/common.inl"

#include "pool/kernels/column_strips_max.inl"

}  // namespace

TaskFn column_strips_max(const PoolSchedule& job) {
    const bool largest = job.reduce == Reduce::max;
    if (job.work == DType::f32 && largest) return &max_strip<float, true>;
#if CENOTE_VECTOR_BYTES < 64  // wider vectors pay for float32 only
    switch (job.work) {
        case DType::f32: return &max_strip<float, false>;
        case DType::u8: return &max_strip<uint8_t, true>;
        case DType::u16: return &max_strip<uint16_t, true>;
        case DType::i16: return &max_strip<int16_t, true>;
        case DType::i32: return &max_strip<int32_t, true>;
        case DType::i64: return &max_strip<int64_t, true>;
        case DType::f64: return largest ? &max_strip<double, true> : &max_strip<double, false>;
        default: return nullptr;
    }
#endif
    return nullptr;
}

}  // namespace cenote::CENOTE_LEVEL

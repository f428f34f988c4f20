// Sums and averages of large windows, in column strips.

#include "pool/units/unit.inl"

namespace cenote::CENOTE_LEVEL {

namespace {

#include "pool/kernels/common.inl"

#include "simd/divide.inl"

#include "pool/kernels/sum_tile.inl"

#include "pool/kernels/column_strips_max.inl"

#include "pool/kernels/column_strips_row.inl"

#include "pool/kernels/column_strips_sum.inl"

}  // namespace

TaskFn column_strips_sum(const PoolSchedule& job) {
    if (job.work == DType::f32) return &sum_strip<Sum<float>, float>;
#if CENOTE_VECTOR_BYTES < 64  // wider vectors pay for float32 only
    const bool average = job.epilogue == Epilogue::average;
    switch (job.work) {
        case DType::f64: return &sum_strip<Sum<double>, double>;
        case DType::i64: return &sum_strip<Sum<uint64_t>, uint64_t>;
        case DType::i32: return average ? &sum_strip<Sum<int32_t>, double> : &sum_strip<Sum<int32_t>, int64_t>;
        case DType::i16: return average ? &sum_strip<Sum<int16_t>, double> : &sum_strip<Sum<int16_t>, int64_t>;
        default: return nullptr;
    }
#endif
    return nullptr;
}

}  // namespace cenote::CENOTE_LEVEL

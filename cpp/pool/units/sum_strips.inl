// Sums and averages of large windows, down strips of columns.

#include "pool/units/unit.inl"

namespace cenote::CENOTE_LEVEL {

// Local to this unit: what is called once only is then inlined there.
namespace {

constexpr int kVectorBytes = CENOTE_VECTOR_BYTES;

// In the order in which they need each other.
#include "simd/vector.inl"

#include "simd/math.inl"

#include "simd/reducers.inl"

#include "simd/convert.inl"

#include "pool/kernels/row_reduce.inl"

#include "pool/kernels/log_step.inl"

#include "pool/kernels/van_herk.inl"

#include "pool/kernels/strided_pixels.inl"

#include "pool/kernels/row_kernels.inl"

#include "pool/kernels/prologue.inl"

#include "pool/kernels/separable_tile.inl"

#include "simd/divide.inl"

#include "pool/kernels/sum_tile.inl"

#include "pool/kernels/column_strips_max.inl"

#include "pool/kernels/column_strips_row.inl"

#include "pool/kernels/column_strips_sum.inl"

}  // namespace

TaskFn column_strips_sum(const PoolSchedule& job) {
    if (job.work == DType::f32) return &sum_strip<Sum<float>, float>;
#if CENOTE_VECTOR_BYTES < 64  // wider vectors gain nothing but for float32
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

// Sums and averages of large windows, down strips of columns.

#include "prologue.inl"

namespace cenote::CENOTE_LEVEL {

// Local to this unit: what is called once only is then inlined there.
namespace {

constexpr int kVectorBytes = CENOTE_VECTOR_BYTES;

// In the order in which they need each other.
#include "../vec.inl"

#include "../math.inl"

#include "../cells.inl"

#include "../convert.inl"

#include "../rows.inl"

#include "../log_step.inl"

#include "../van_herk.inl"

#include "../strided_pixels.inl"

#include "../row_kernels.inl"

#include "../prepare.inl"

#include "../tile.inl"

#include "../divide.inl"

#include "../total.inl"

#include "../walk.inl"

#include "../walk_along.inl"

#include "../walk_sums.inl"

}  // namespace

TaskFn column_strips_sum(const Job& job) {
    if (job.work == DType::f32) return &sum_strip<Sum<float>, float>;
#if CENOTE_VECTOR_BYTES < 64  // wider vectors gain nothing but for float32
    const bool average = job.finish == Finish::average;
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

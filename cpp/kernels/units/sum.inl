// Sums and averages, pass by pass.

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

}  // namespace

TaskFn separable_sum(const Job& job) {
    const bool average = job.finish == Finish::average;
    switch (job.work) {
        case DType::f32: return job.omit ? &sum_tile<SumValid<float>, float> : &sum_tile<Sum<float>, float>;
        case DType::f64: return job.omit ? &sum_tile<SumValid<double>, double> : &sum_tile<Sum<double>, double>;
        case DType::i64: return &sum_tile<Sum<uint64_t>, uint64_t>;  // integers wrap: in C++ only unsigned ones may
        case DType::i32: return average ? &sum_tile<Sum<int32_t>, double> : &sum_tile<Sum<int32_t>, int64_t>;
        case DType::i16: return average ? &sum_tile<Sum<int16_t>, double> : &sum_tile<Sum<int16_t>, int64_t>;
        default: return nullptr;
    }
}

const RowKernels* sum_rows(DType work) {
    return work == DType::f32 ? &row_kernels<Sum<float>> : &row_kernels<Sum<double>>;
}

}  // namespace cenote::CENOTE_LEVEL

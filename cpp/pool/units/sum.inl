// Sums and averages, pass by pass.

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

}  // namespace

TaskFn separable_sum(const PoolSchedule& job) {
    const bool average = job.epilogue == Epilogue::average;
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

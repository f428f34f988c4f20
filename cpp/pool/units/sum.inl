// Sums and averages, by separable passes.

#include "pool/units/unit.inl"

namespace cenote::CENOTE_LEVEL {

namespace {

#include "pool/kernels/common.inl"

#include "simd/divide.inl"

#include "pool/kernels/sum_tile.inl"

}  // namespace

TaskFn separable_sum(const PoolSchedule& job) {
    const bool average = job.epilogue == Epilogue::average;
    switch (job.work) {
        case DType::f32: return job.omit ? &sum_tile<SumValid<float>, float> : &sum_tile<Sum<float>, float>;
#if CENOTE_VECTOR_BYTES < 64  // AVX-512 takes AVX2's
        case DType::f64: return job.omit ? &sum_tile<SumValid<double>, double> : &sum_tile<Sum<double>, double>;
        case DType::i64:
            return &sum_tile<Sum<uint64_t>, uint64_t>;  // integers wrap, which C++ allows for unsigned ones only
#else
        case DType::f64: return job.omit ? nullptr : &sum_tile<Sum<double>, double>;
#endif
        case DType::i32: return average ? &sum_tile<Sum<int32_t>, double> : &sum_tile<Sum<int32_t>, int64_t>;
        case DType::i16: return average ? &sum_tile<Sum<int16_t>, double> : &sum_tile<Sum<int16_t>, int64_t>;
        default: return nullptr;
    }
}

const RowKernels* sum_rows(DType work) {
    return work == DType::f32 ? &row_kernels<Sum<float>> : &row_kernels<Sum<double>>;
}

}  // namespace cenote::CENOTE_LEVEL

// Max and min, by separable passes.

#include "pool/units/unit.inl"

namespace cenote::CENOTE_LEVEL {

namespace {

#include "pool/kernels/common.inl"

#include "pool/kernels/ordered_keys.inl"

template <bool Largest>
TaskFn max_of_floats(const PoolSchedule& job) {
    if (job.work == DType::f32)
        return job.omit ? &max_tile<MaxReducer<float, Largest, true>> : &max_tile<MaxReducer<float, Largest, false>>;
    return job.omit ? &max_tile<MaxReducer<double, Largest, true>> : &max_tile<MaxReducer<double, Largest, false>>;
}

}  // namespace

TaskFn separable_max(const PoolSchedule& job) {
    const bool half = job.in == DType::f16 || job.in == DType::bf16;
    switch (job.work) {  // integers are ordered keys, and a minimum is a maximum (Operation::key)
        case DType::u8: return &max_tile<MaxReducer<uint8_t, true, false>>;
        case DType::u16: return &max_tile<MaxReducer<uint16_t, true, false>>;
        case DType::i16: return half ? &max_of_halves : &max_tile<MaxReducer<int16_t, true, false>>;
        case DType::i32: return &max_tile<MaxReducer<int32_t, true, false>>;
        case DType::i64: return &max_tile<MaxReducer<int64_t, true, false>>;
        case DType::f32:
        case DType::f64: return job.reduce == Reduce::max ? max_of_floats<true>(job) : max_of_floats<false>(job);
        default: return nullptr;
    }
}

const RowKernels* max_rows(DType work, bool largest) {
    if (work == DType::f32)
        return largest ? &row_kernels<MaxReducer<float, true, false>> : &row_kernels<MaxReducer<float, false, false>>;
    return largest ? &row_kernels<MaxReducer<double, true, false>> : &row_kernels<MaxReducer<double, false, false>>;
}

}  // namespace cenote::CENOTE_LEVEL

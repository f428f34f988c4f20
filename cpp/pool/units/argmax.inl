// Max and min with argmax, by separable passes.

#include "pool/units/unit.inl"

namespace cenote::CENOTE_LEVEL {

namespace {

#include "pool/kernels/common.inl"

#include "pool/kernels/argmax.inl"

}  // namespace

TaskFn separable_argmax(const PoolSchedule& job) {
    switch (job.work) {  // as in separable_max; narrower integers are widened to 32 bits
        case DType::i32: return &argmax_tile<ArgMaxReducer<int32_t, true, false>>;
        case DType::i64: return &argmax_tile<ArgMaxReducer<int64_t, true, false>>;
        case DType::f32:
            return job.omit ? &argmax_tile<ArgMaxReducer<float, true, true>>
                            : &argmax_tile<ArgMaxReducer<float, true, false>>;
        case DType::f64:
            return job.omit ? &argmax_tile<ArgMaxReducer<double, true, true>>
                            : &argmax_tile<ArgMaxReducer<double, true, false>>;
        default: return nullptr;
    }
}

}  // namespace cenote::CENOTE_LEVEL

// Max and min with the places of their elements, pass by pass.

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

#include "pool/kernels/argmax.inl"

}  // namespace

TaskFn separable_argmax(const PoolSchedule& job) {
    switch (job.work) {  // as in separable_max; integers of less than 32 bits are widened
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

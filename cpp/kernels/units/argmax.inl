// Max and min with the places of their elements, pass by pass.

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

#include "../winners.inl"

}  // namespace

TaskFn separable_argmax(const Job& job) {
    switch (job.work) {  // as in separable_max; integers of less than 32 bits are widened
        case DType::i32: return &pick_at_tile<PickAt<int32_t, true, false>>;
        case DType::i64: return &pick_at_tile<PickAt<int64_t, true, false>>;
        case DType::f32:
            return job.omit ? &pick_at_tile<PickAt<float, true, true>> : &pick_at_tile<PickAt<float, true, false>>;
        case DType::f64:
            return job.omit ? &pick_at_tile<PickAt<double, true, true>> : &pick_at_tile<PickAt<double, true, false>>;
        default: return nullptr;
    }
}

}  // namespace cenote::CENOTE_LEVEL

// Max and min of large windows, down strips of columns.

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

#include "../walk.inl"

}  // namespace

TaskFn column_strips_max(const Job& job) {
    const bool largest = job.reduce == Reduce::max;
    switch (job.work) {
        case DType::u8: return &pick_strip<uint8_t, true>;
        case DType::u16: return &pick_strip<uint16_t, true>;
        case DType::i16: return &pick_strip<int16_t, true>;
        case DType::i32: return &pick_strip<int32_t, true>;
        case DType::i64: return &pick_strip<int64_t, true>;
        case DType::f32: return largest ? &pick_strip<float, true> : &pick_strip<float, false>;
        case DType::f64: return largest ? &pick_strip<double, true> : &pick_strip<double, false>;
        default: return nullptr;
    }
}

}  // namespace cenote::CENOTE_LEVEL

// Max and min, pass by pass.

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

#include "../halves.inl"

template <bool Largest>
TaskFn pick_floats(const Job& job) {
    if (job.work == DType::f32)
        return job.omit ? &pick_tile<Pick<float, Largest, true>> : &pick_tile<Pick<float, Largest, false>>;
    return job.omit ? &pick_tile<Pick<double, Largest, true>> : &pick_tile<Pick<double, Largest, false>>;
}

}  // namespace

TaskFn separable_max(const Job& job) {
    const bool half = job.in == DType::f16 || job.in == DType::bf16;
    switch (job.work) {  // integers are canonical, and their minimum is a maximum (Job::key)
        case DType::u8: return &pick_tile<Pick<uint8_t, true, false>>;
        case DType::u16: return &pick_tile<Pick<uint16_t, true, false>>;
        case DType::i16: return half ? &pick_halves : &pick_tile<Pick<int16_t, true, false>>;
        case DType::i32: return &pick_tile<Pick<int32_t, true, false>>;
        case DType::i64: return &pick_tile<Pick<int64_t, true, false>>;
        case DType::f32:
        case DType::f64: return job.reduce == Reduce::max ? pick_floats<true>(job) : pick_floats<false>(job);
        default: return nullptr;
    }
}

const RowKernels* max_rows(DType work, bool largest) {
    if (work == DType::f32)
        return largest ? &row_kernels<Pick<float, true, false>> : &row_kernels<Pick<float, false, false>>;
    return largest ? &row_kernels<Pick<double, true, false>> : &row_kernels<Pick<double, false, false>>;
}

}  // namespace cenote::CENOTE_LEVEL

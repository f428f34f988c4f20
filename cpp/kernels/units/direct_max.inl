// Max and min of small windows, register-tiled.

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

#include "../nest.inl"

#include "../nest_rows.inl"

#include "../past.inl"

#include "../told.inl"

#include "../at_once.inl"

#include "../at_once_max.inl"

template <class T, class S, bool Largest, bool Omit>
TaskFn pick_nests(const Job& job) {
    if (!job.winners) return &pick_at_once<Pick<T, Largest, Omit>, S>;
    if constexpr (!Omit) {
        int64_t cells = 1;  // indices must have room in lanes as wide as the values
        for (int q = 0; q < job.rank; ++q) cells *= job.axis[q].n;
        if (job.report == Report::offset8) return &pick_where_at_once<PickAt<T, Largest, Omit>, S, uint8_t>;
        if constexpr (sizeof(S) >= 4)
            if (job.report == Report::index && (sizeof(T) == 8 || cells <= INT32_MAX))
                return &pick_where_at_once<PickAt<T, Largest, Omit>, S, int64_t>;
    }
    return nullptr;
}

template <bool Largest>
TaskFn pick_float_nests(const Job& job) {
    switch (job.in) {
        case DType::f16: return job.omit ? nullptr : pick_nests<float, Half, Largest, false>(job);
        case DType::bf16: return job.omit ? nullptr : pick_nests<float, Brain, Largest, false>(job);
        case DType::f32: return job.omit ? pick_nests<float, float, Largest, true>(job) : pick_nests<float, float, Largest, false>(job);
        case DType::f64: return job.omit ? pick_nests<double, double, Largest, true>(job) : pick_nests<double, double, Largest, false>(job);
        default: return nullptr;
    }
}

}  // namespace

TaskFn direct_max(const Job& job) {
    if (job.out != job.in) return nullptr;
    const bool none = !job.winners;
    switch (job.in) {
        case DType::u8: return none ? &pick_at_once<Pick<uint8_t, true, false>, uint8_t> : nullptr;
        case DType::i16: return none ? &pick_at_once<Pick<int16_t, true, false>, int16_t> : nullptr;
        case DType::u16: return none ? &pick_at_once<Pick<uint16_t, true, false>, uint16_t> : nullptr;
        case DType::i32: return none ? &pick_at_once<Pick<int32_t, true, false>, int32_t> : nullptr;
        case DType::i64: return none ? &pick_at_once<Pick<int64_t, true, false>, int64_t> : nullptr;
        default: return job.reduce == Reduce::max ? pick_float_nests<true>(job) : pick_float_nests<false>(job);
    }
}

}  // namespace cenote::CENOTE_LEVEL

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

template <class Value, class At, class S>
TaskFn pick_nests(const Job& job) {
    if (!job.winners) return &pick_at_once<Value, S>;
    int64_t cells = 1;  // indices must have room in lanes as wide as the values
    for (int q = 0; q < job.rank; ++q) cells *= job.axis[q].n;
    if (job.report == Report::offset8) return &pick_where_at_once<At, S, uint8_t>;
    if constexpr (sizeof(S) >= 4)
        if (job.report == Report::index && (sizeof(S) == 8 || cells <= INT32_MAX))
            return &pick_where_at_once<At, S, int64_t>;
    return nullptr;
}

template <class T>
TaskFn pick_keys(const Job& job) {
    return job.winners ? nullptr : &pick_at_once<Keyed<Pick<T, true, false>>, T>;
}

TaskFn pick_valid(const Job& job) {
    if (job.winners || (job.in != DType::f32 && job.in != DType::f64)) return nullptr;
    if (job.in == DType::f64) return &pick_at_once<Keyed<Pick<double, true, true>>, double>;
    return job.reduce == Reduce::max ? &pick_at_once<Pick<float, true, true>, float>
                                     : &pick_at_once<Pick<float, false, true>, float>;
}

}  // namespace

TaskFn direct_max(const Job& job) {
    using Single = Pick<float, true, false>;
    using SingleKeys = Keyed<Single>;
    using SingleAt = Keyed<PickAt<float, true, false>>;
    if (job.out != job.in) return nullptr;
    const bool largest = job.reduce == Reduce::max;
    if (job.omit) return pick_valid(job);
    switch (job.in) {
        case DType::u8: return pick_keys<uint8_t>(job);
        case DType::i16: return pick_keys<int16_t>(job);
        case DType::u16: return pick_keys<uint16_t>(job);
        case DType::i32: return pick_keys<int32_t>(job);
        case DType::i64: return pick_keys<int64_t>(job);
        case DType::f16:
            return largest ? pick_nests<Single, SingleAt, Half>(job) : pick_nests<SingleKeys, SingleAt, Half>(job);
        case DType::bf16:
            return largest ? pick_nests<Single, SingleAt, Brain>(job) : pick_nests<SingleKeys, SingleAt, Brain>(job);
        case DType::f64:
            return pick_nests<Keyed<Pick<double, true, false>>, Keyed<PickAt<double, true, false>>, double>(job);
        case DType::f32:
            return largest ? pick_nests<Pick<float, true, false>, PickAt<float, true, false>, float>(job)
                           : pick_nests<Pick<float, false, false>, PickAt<float, false, false>, float>(job);
        default: return nullptr;
    }
}

}  // namespace cenote::CENOTE_LEVEL

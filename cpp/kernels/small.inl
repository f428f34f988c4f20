// The kernels of small windows for one SIMD level: as all.inl, in a unit of their own, so that both are built at once.

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "../geometry.hpp"
#include "../levels.hpp"

#define CENOTE_NS cenote::CENOTE_LEVEL
#define CENOTE_ONCE __attribute__((noinline))

namespace CENOTE_NS {

namespace {

constexpr int kVectorBytes = CENOTE_VECTOR_BYTES;

#include "vec.inl"

#include "math.inl"

#include "cells.inl"

#include "convert.inl"

#include "rows.inl"

#include "lines.inl"

#include "doubling.inl"

#include "short_lines.inl"
#include "sweeps.inl"

#include "groups.inl"

#include "pass.inl"

#include "tile.inl"

#include "divide.inl"

#include "moderate.inl"

#include "nest.inl"
#include "nest_rows.inl"

#include "past.inl"

#include "told.inl"

#include "at_once.inl"

#include "norms.inl"

#include "strips.inl"

// A level may have another one's kernels for all but norms and smooth maxima.
#if !defined(CENOTE_OTHERS)

#include "slide_numbers.inl"

#include "slide.inl"

#include "slide_sums.inl"

#include "give_back.inl"

#include "repeat.inl"

TaskFn find_others(const Job& job) {
    if (job.scatters) {
        if (!can_give_back(job)) return nullptr;
        return job.work == DType::f32 ? &give_back<float> : &give_back<double>;
    }
    if (job.reduce == Reduce::sum && can_repeat(job)) {
        if (job.in == DType::f32) return &repeat_values<float>;
        if (job.in == DType::f64) return &repeat_values<double>;
    }
    const TaskFn row_by_row = job.reduce == Reduce::max   ? sliding<true>(job)
                              : job.reduce == Reduce::min ? sliding<false>(job)
                                                          : sliding_sums(job);
    if (row_by_row) return row_by_row;
    if (job.prepare != Prepare::none || !can_be_nested(job)) return nullptr;
    switch (job.reduce) {
        case Reduce::max: return pick_nests<true>(job);
        case Reduce::min: return pick_nests<false>(job);
        default: return sum_nests(job);
    }
}

#endif

}  // namespace

TaskFn find_small(const Job& job) {
    if (!job.scatters && (job.prepare == Prepare::power || job.prepare == Prepare::exponential)) {
        if (const TaskFn strips = norm_in_strips(job)) return strips;
        return can_be_nested(job) ? norm_nests(job) : nullptr;
    }
#if defined(CENOTE_OTHERS)
    return CENOTE_OTHERS::find_small(job);
#else
    return find_others(job);
#endif
}

}  // namespace CENOTE_NS

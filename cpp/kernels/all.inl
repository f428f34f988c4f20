// Every kernel for one SIMD level, in that level's namespace. Included by isa/*.cpp, which define
// CENOTE_LEVEL (the namespace) and CENOTE_VECTOR_BYTES and are compiled with that level's flags.
//
// Nothing from the standard library may be instantiated here: see geometry.hpp.

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "../geometry.hpp"
#include "../levels.hpp"

#define CENOTE_NS cenote::CENOTE_LEVEL

// For functions that work on whole rows: a call costs nothing there, a copy at each call costs build time.
#define CENOTE_ONCE __attribute__((noinline))

namespace CENOTE_NS {

// Local to this unit: what is called once only is then put where it is called.
namespace {

constexpr int kVectorBytes = CENOTE_VECTOR_BYTES;

// In the order in which they need each other.
#include "vec.inl"

#include "math.inl"

#include "cells.inl"

#include "convert.inl"

#include "prepare.inl"

#include "rows.inl"

#include "lines.inl"

#include "doubling.inl"

#include "short_lines.inl"
#include "sweeps.inl"

#include "groups.inl"

#include "pass.inl"

#include "tile.inl"

#include "winners.inl"

#include "halves.inl"

#include "scatter.inl"

#include "moderate.inl"

#include "single.inl"

#include "divide.inl"

#include "total.inl"

#include "walk.inl"

#include "walk_along.inl"
#include "walk_sums.inl"

#include "walk_norms.inl"

template <class T, bool Largest, bool Omit>
TaskFn pick_kernel_of(const Job& job) {
    if constexpr (!Omit)
        if (job.walks) return &pick_strip<T, Largest>;
    return job.winners ? &pick_at_tile<PickAt<T, Largest, Omit>> : &pick_tile<Pick<T, Largest, Omit>>;
}

template <bool Largest>
TaskFn pick_kernel(const Job& job) {
    if (job.in == DType::f16 || job.in == DType::bf16)
        if (job.work == DType::i16) return &pick_halves<Largest>;
    if (job.omit && job.work == DType::f32) return pick_kernel_of<float, Largest, true>(job);
    if (job.omit && job.work == DType::f64) return pick_kernel_of<double, Largest, true>(job);
    switch (job.work) {
#define CENOTE_CASE(name, T) \
    case DType::name: return pick_kernel_of<T, Largest, false>(job);
        CENOTE_WORK_TYPES(CENOTE_CASE)
#undef CENOTE_CASE
        default: return nullptr;
    }
}

TaskFn sum_strip_kernel(DType work, bool average) {
    switch (work) {
        case DType::f32: return &sum_strip<Sum<float>, float>;
        case DType::f64: return &sum_strip<Sum<double>, double>;
        case DType::i64: return &sum_strip<Sum<uint64_t>, uint64_t>;
        case DType::i32: return average ? &sum_strip<Sum<int32_t>, double> : &sum_strip<Sum<int32_t>, int64_t>;
        case DType::i16: return average ? &sum_strip<Sum<int16_t>, double> : &sum_strip<Sum<int16_t>, int64_t>;
        default: return nullptr;
    }
}

}  // namespace

void wide_sum(const Job& job, int64_t task, Arena* arena) { wide_sum_tile(job, task, arena); }

TaskFn find_kernel(const Job& job) {
    if (job.scatters) return job.work == DType::f32 ? scatter_kernel<float>(job) : scatter_kernel<double>(job);
    if (job.reduce == Reduce::max) return pick_kernel<true>(job);
    if (job.reduce == Reduce::min) return pick_kernel<false>(job);
    if (job.prepare == Prepare::exponential || job.prepare == Prepare::power)
        return job.walks ? &norm_strip : &wide_sum;
    const bool average = job.finish == Finish::average;
    if (job.walks) return sum_strip_kernel(job.work, average);
    switch (job.work) {
        case DType::f32: return job.omit ? &sum_tile<SumValid<float>, float> : &sum_tile<Sum<float>, float>;
        case DType::f64: return job.omit ? &sum_tile<SumValid<double>, double> : &sum_tile<Sum<double>, double>;
        case DType::i64: return &sum_tile<Sum<uint64_t>, uint64_t>;  // integers wrap: in C++ only unsigned ones may
        case DType::i32: return average ? &sum_tile<Sum<int32_t>, double> : &sum_tile<Sum<int32_t>, int64_t>;
        case DType::i16: return average ? &sum_tile<Sum<int16_t>, double> : &sum_tile<Sum<int16_t>, int64_t>;
        default: return nullptr;
    }
}

}  // namespace CENOTE_NS

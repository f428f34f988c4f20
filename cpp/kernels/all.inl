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

constexpr int kVectorBytes = CENOTE_VECTOR_BYTES;

#include "vec.inl"

#include "math.inl"

#include "cells.inl"
#include "convert.inl"
#include "prepare.inl"
#include "rows.inl"

#include "pass.inl"

#include "tile.inl"
#include "total.inl"

template <class T, bool Largest, bool Omit>
TaskFn pick_kernel_of(bool indices) {
    return indices ? &pick_at_tile<PickAt<T, Largest, Omit>> : &pick_tile<Pick<T, Largest, Omit>>;
}

template <bool Largest>
TaskFn pick_kernel(const Job& job) {
    const bool indices = job.winners != nullptr;
    if (job.omit && job.work == DType::f32) return pick_kernel_of<float, Largest, true>(indices);
    if (job.omit && job.work == DType::f64) return pick_kernel_of<double, Largest, true>(indices);
    switch (job.work) {
#define CENOTE_CASE(name, T) \
    case DType::name: return pick_kernel_of<T, Largest, false>(indices);
        CENOTE_WORK_TYPES(CENOTE_CASE)
#undef CENOTE_CASE
        default: return nullptr;
    }
}

TaskFn find_kernel(const Job& job) {
    if (job.reduce == Reduce::max) return pick_kernel<true>(job);
    if (job.reduce == Reduce::min) return pick_kernel<false>(job);
    if (job.prepare == Prepare::exponential || job.prepare == Prepare::power) return &wide_sum_tile;
    switch (job.work) {
        case DType::f32: return &sum_tile<float>;
        case DType::f64: return &sum_tile<double>;
        case DType::i64: return &sum_tile<uint64_t>;  // integers wrap: in C++ only unsigned ones may
        default: return nullptr;
    }
}

}  // namespace CENOTE_NS

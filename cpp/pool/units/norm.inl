// Smooth max and Lp norms, by separable passes, and their derivatives.

#include "pool/units/unit.inl"
#include "pool/weighted.hpp"

namespace cenote::CENOTE_LEVEL {

namespace {

#include "pool/kernels/common.inl"

#include "pool/kernels/fp32_range.inl"

#include "pool/kernels/fp32_norms.inl"

#include "pool/kernels/norm_tile.inl"

#include "simd/exp_pow.inl"

#include "pool/kernels/weights.inl"

#include "pool/kernels/weighted_rows.inl"

#if defined(__AVX2__) || defined(__ARM_NEON)
#include "simd/streaming.inl"

#include "pool/kernels/weighted_disjoint.inl"
#else  // a CPU without AVX2 is more than ten years old
constexpr bool (*spread_disjoint)(const Factors&, const DisjointWindows&) = nullptr;
#endif

}  // namespace

void separable_norm_tile(const PoolSchedule& job, int64_t task, Arena* arena) { norm_tile(job, task, arena); }

TaskFn separable_norm(const PoolSchedule&) { return &separable_norm_tile; }

const WeightedRows weighted_rows = {
    &CENOTE_ROWS::sum_rows, &factors_of, &load_row,       &store_rounded,   &row_terms,  &mark_shifted,
    &normalize_row,         &spread_row, spread_disjoint, &shifted_weights, &power_once,
};

}  // namespace cenote::CENOTE_LEVEL

// Smooth max and Lp norms of large windows, in column strips.

#include "pool/units/unit.inl"

namespace cenote::CENOTE_LEVEL {

namespace {

#include "pool/kernels/common.inl"

#include "simd/divide.inl"

#include "pool/kernels/sum_tile.inl"

#include "pool/kernels/fp32_range.inl"

#include "pool/kernels/fp32_norms.inl"

#include "pool/kernels/column_strips_max.inl"

#include "pool/kernels/column_strips_row.inl"

#include "pool/kernels/column_strips_sum.inl"

#include "pool/kernels/column_strips_norm.inl"

}  // namespace

TaskFn column_strips_norm(const PoolSchedule&) { return &norm_strip; }

}  // namespace cenote::CENOTE_LEVEL

// Smooth maxima and norms of large windows, down strips of columns.

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

#include "../divide.inl"

#include "../total.inl"

#include "../moderate.inl"

#include "../single.inl"

#include "../walk.inl"

#include "../walk_along.inl"

#include "../walk_sums.inl"

#include "../walk_norms.inl"

}  // namespace

TaskFn column_strips_norm(const Job&) { return &norm_strip; }

}  // namespace cenote::CENOTE_LEVEL

// Smooth maxima and norms, pass by pass.

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

#include "../moderate.inl"

#include "../single.inl"

#include "../norm_tile.inl"

}  // namespace

void separable_norm_tile(const Job& job, int64_t task, Arena* arena) { norm_tile(job, task, arena); }

TaskFn separable_norm(const Job&) { return &separable_norm_tile; }

}  // namespace cenote::CENOTE_LEVEL

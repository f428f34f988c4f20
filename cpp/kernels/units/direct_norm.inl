// Smooth maxima and norms of small windows, register-tiled or with a buffer of the last rows.

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

#include "../nest.inl"

#include "../nest_rows.inl"

#include "../past.inl"

#include "../at_once.inl"

#include "../norms.inl"

#include "../strips.inl"

}  // namespace

TaskFn direct_norm(const Job& job) {
    if (job.prepare == Prepare::power) {
        if (job.power == 2.0) return &norm_at_once<PowerSum<2>>;
        return job.power == 3.0 ? &norm_at_once<ToppedSum<3>> : nullptr;
    }
    return job.beta == 1.0 ? &norm_at_once<ToppedSum<0>> : nullptr;
}

TaskFn line_buffer_norm(const Job& job) {
    if (job.prepare == Prepare::exponential)
        return job.beta < 0 ? &norm_strips<Terms::negative> : &norm_strips<Terms::exponential>;
    return job.power > 2.0 ? &norm_strips<Terms::topped> : &norm_strips<Terms::power>;
}

}  // namespace cenote::CENOTE_LEVEL

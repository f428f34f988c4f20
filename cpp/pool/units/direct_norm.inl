// Smooth maxima and norms of small windows, register-tiled or with a buffer of the last rows.

#include "pool/units/unit.inl"

namespace cenote::CENOTE_LEVEL {

// Local to this unit: what is called once only is then inlined there.
namespace {

constexpr int kVectorBytes = CENOTE_VECTOR_BYTES;

// In the order in which they need each other.
#include "simd/vector.inl"

#include "simd/math.inl"

#include "simd/reducers.inl"

#include "simd/convert.inl"

#include "pool/kernels/row_reduce.inl"

#include "pool/kernels/log_step.inl"

#include "pool/kernels/van_herk.inl"

#include "pool/kernels/strided_pixels.inl"

#include "pool/kernels/row_kernels.inl"

#include "pool/kernels/prologue.inl"

#include "pool/kernels/separable_tile.inl"

#include "pool/kernels/fp32_range.inl"

#include "pool/kernels/keyed.inl"

#include "pool/kernels/direct_window.inl"

#include "pool/kernels/direct_rows.inl"

#include "simd/streaming.inl"

#include "pool/kernels/direct_tile.inl"

#include "pool/kernels/direct_norm.inl"

#include "pool/kernels/line_buffer_norm.inl"

}  // namespace

TaskFn direct_norm(const PoolSchedule& job) {
    if (job.prologue == Prologue::power) {
        if (job.power == 2.0) return &norm_direct<PowerSum<2>>;
        return job.power == 3.0 ? &norm_direct<ToppedSum<3>> : nullptr;
    }
    return job.beta == 1.0 ? &norm_direct<ToppedSum<0>> : nullptr;
}

TaskFn line_buffer_norm(const PoolSchedule& job) {
    if (job.prologue == Prologue::exponential)
        return job.beta < 0 ? &line_buffer_norms<Terms::negative> : &line_buffer_norms<Terms::exponential>;
    return job.power > 2.0 ? &line_buffer_norms<Terms::topped> : &line_buffer_norms<Terms::power>;
}

}  // namespace cenote::CENOTE_LEVEL

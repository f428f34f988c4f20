// Smooth max and Lp norms of small windows, register-tiled or with a line buffer.

#include "pool/units/unit.inl"

namespace cenote::CENOTE_LEVEL {

namespace {

#include "pool/kernels/common.inl"

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
        return job.power == 3.0 ? &norm_direct<SumWithMax<3>> : nullptr;
    }
    return job.beta == 1.0 ? &norm_direct<SumWithMax<0>> : nullptr;
}

TaskFn line_buffer_norm(const PoolSchedule& job) {
    if (job.prologue == Prologue::exponential)
        return job.beta < 0 ? &line_buffer_norms<Terms::negative> : &line_buffer_norms<Terms::exponential>;
    return job.power > 2.0 ? &line_buffer_norms<Terms::bounded> : &line_buffer_norms<Terms::power>;
}

}  // namespace cenote::CENOTE_LEVEL

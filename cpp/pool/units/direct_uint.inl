// Averages of small integers over windows that do not overlap, rounded to the same dtype or to float32.

#include "pool/units/unit.inl"

namespace cenote::CENOTE_LEVEL {

namespace {

#include "pool/kernels/common.inl"

#include "pool/kernels/keyed.inl"

#include "pool/kernels/direct_window.inl"

#include "pool/kernels/direct_rows.inl"

#include "simd/streaming.inl"

#include "pool/kernels/direct_uint.inl"

}  // namespace

TaskFn direct_uint(const PoolSchedule& job) {
    if (job.out != job.in && job.out != DType::f32) return nullptr;
    const bool small = job.in == DType::i8 || job.in == DType::u8 || job.in == DType::i16 || job.in == DType::u16;
    return small ? &uint_direct : nullptr;
}

}  // namespace cenote::CENOTE_LEVEL

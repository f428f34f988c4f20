// Averages of small integers over windows that tile, rounded to the same dtype or to float32.

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

// Sums and averages of small windows, register-tiled.

#include "pool/units/unit.inl"

namespace cenote::CENOTE_LEVEL {

namespace {

#include "pool/kernels/common.inl"

#include "simd/divide.inl"

#include "pool/kernels/keyed.inl"

#include "pool/kernels/direct_window.inl"

#include "pool/kernels/direct_rows.inl"

#include "simd/streaming.inl"

#include "pool/kernels/direct_tile.inl"

#include "pool/kernels/epilogue.inl"

#include "pool/kernels/direct_sum.inl"

}  // namespace

TaskFn direct_sum(const PoolSchedule& job) {
    if (job.by_divisor && job.work == DType::f32 && !divides_in<float>(job.divisor)) return nullptr;
    const bool same_dtype = job.out == job.in;
    const bool narrow = job.out == DType::f64 && job.work == (size_of(job.in) == 1 ? DType::i16 : DType::i32);
    if (job.omit) {
        if (same_dtype && job.in == DType::f32) return &valid_sum_direct<float>;
        return same_dtype && job.in == DType::f64 ? &valid_sum_direct<double> : nullptr;
    }
    switch (job.in) {
        case DType::f16: return same_dtype ? &sum_direct<Sum<float>, Half, float> : nullptr;
        case DType::bf16: return same_dtype ? &sum_direct<Sum<float>, BFloat16, float> : nullptr;
        case DType::f32: return same_dtype ? &sum_direct<Sum<float>, float, float> : nullptr;
        case DType::f64: return same_dtype ? &sum_direct<Sum<double>, double, double> : nullptr;
        case DType::i32: return job.work == DType::f64 ? &sum_direct<Sum<double>, int32_t, double> : nullptr;
        case DType::u32: return job.work == DType::f64 ? &sum_direct<Sum<double>, uint32_t, double> : nullptr;
        case DType::i64: return job.work == DType::f64 ? &sum_direct<Sum<double>, int64_t, double> : nullptr;
        case DType::u64: return job.work == DType::f64 ? &sum_direct<Sum<double>, uint64_t, double> : nullptr;
        case DType::i8: return narrow ? &sum_direct<Sum<int16_t>, int8_t, double> : nullptr;
        case DType::u8: return narrow ? &sum_direct<Sum<int16_t>, uint8_t, double> : nullptr;
        case DType::i16: return narrow ? &sum_direct<Sum<int32_t>, int16_t, double> : nullptr;
        case DType::u16: return narrow ? &sum_direct<Sum<int32_t>, uint16_t, double> : nullptr;
        default: return nullptr;
    }
}

}  // namespace cenote::CENOTE_LEVEL

// Sums and averages of small windows, register-tiled.

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

#include "../nest.inl"

#include "../nest_rows.inl"

#include "../past.inl"

#include "../at_once.inl"

#include "../epilogue.inl"

#include "../at_once_sum.inl"

}  // namespace

TaskFn direct_sum(const Job& job) {
    if (job.by_divisor && job.work == DType::f32 && !divides_in<float>(job.divisor)) return nullptr;
    const bool as_it_is = job.out == job.in;
    const bool narrow = job.out == DType::f64 && job.work == (size_of(job.in) == 1 ? DType::i16 : DType::i32);
    if (job.omit) {
        if (as_it_is && job.in == DType::f32) return &valid_sum_at_once<float>;
        return as_it_is && job.in == DType::f64 ? &valid_sum_at_once<double> : nullptr;
    }
    switch (job.in) {
        case DType::f16: return as_it_is ? &sum_at_once<Sum<float>, Half, float> : nullptr;
        case DType::bf16: return as_it_is ? &sum_at_once<Sum<float>, Brain, float> : nullptr;
        case DType::f32: return as_it_is ? &sum_at_once<Sum<float>, float, float> : nullptr;
        case DType::f64: return as_it_is ? &sum_at_once<Sum<double>, double, double> : nullptr;
        case DType::i32: return job.work == DType::f64 ? &sum_at_once<Sum<double>, int32_t, double> : nullptr;
        case DType::u32: return job.work == DType::f64 ? &sum_at_once<Sum<double>, uint32_t, double> : nullptr;
        case DType::i64: return job.work == DType::f64 ? &sum_at_once<Sum<double>, int64_t, double> : nullptr;
        case DType::u64: return job.work == DType::f64 ? &sum_at_once<Sum<double>, uint64_t, double> : nullptr;
        case DType::i8: return narrow ? &sum_at_once<Sum<int16_t>, int8_t, double> : nullptr;
        case DType::u8: return narrow ? &sum_at_once<Sum<int16_t>, uint8_t, double> : nullptr;
        case DType::i16: return narrow ? &sum_at_once<Sum<int32_t>, int16_t, double> : nullptr;
        case DType::u16: return narrow ? &sum_at_once<Sum<int32_t>, uint16_t, double> : nullptr;
        default: return nullptr;
    }
}

}  // namespace cenote::CENOTE_LEVEL

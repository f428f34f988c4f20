// Max, min, sums and averages of small overlapping windows, with a line buffer.

#include "pool/units/unit.inl"

namespace cenote::CENOTE_LEVEL {

namespace {

#include "pool/kernels/common.inl"

#include "simd/divide.inl"

#include "simd/streaming.inl"

#include "pool/kernels/argmax_store.inl"

#include "pool/kernels/line_buffer_elements.inl"

#include "pool/kernels/line_buffer_max.inl"

#include "pool/kernels/epilogue.inl"

#include "pool/kernels/line_buffer_sum.inl"

template <class T, bool Largest>
TaskFn line_buffer_floats(const PoolSchedule& job) {
    if (!job.argmax)
        return job.omit ? &line_buffer_tile<PlainValues<T, Largest, true>> : &line_buffer_tile<PlainValues<T, Largest>>;
    return job.omit ? &line_buffer_tile<PlainValues<T, Largest, true, true>>
                    : &line_buffer_tile<PlainValues<T, Largest, false, true>>;
}

}  // namespace

TaskFn line_buffer_max(const PoolSchedule& job) {
    const bool largest = job.reduce == Reduce::max;
    if (job.out != job.in || (job.argmax && job.in != DType::f32 && job.in != DType::f64)) return nullptr;
    switch (job.in) {
        case DType::f32: return largest ? line_buffer_floats<float, true>(job) : line_buffer_floats<float, false>(job);
        case DType::f64:
            return largest ? line_buffer_floats<double, true>(job) : line_buffer_floats<double, false>(job);
        case DType::u8: return &line_buffer_tile<IntegerKeys<uint8_t>>;
        case DType::i16: return &line_buffer_tile<IntegerKeys<int16_t>>;
        case DType::u16: return &line_buffer_tile<IntegerKeys<uint16_t>>;
        case DType::i32: return &line_buffer_tile<IntegerKeys<int32_t>>;
        case DType::i64: return &line_buffer_tile<IntegerKeys<int64_t>>;
        case DType::f16:
        case DType::bf16: return job.omit ? nullptr : &line_buffer_tile<HalfPrecisionKeys>;
        default: return nullptr;
    }
}

TaskFn line_buffer_sum(const PoolSchedule& job) {
    const int64_t width = size_of(job.in), row = job.axis[job.rank - 1].o * job.lanes * width;
    const bool same_dtype = job.out == job.in && job.work == job.in, floats = same_dtype && row >= kBufferRow;
    const bool narrow = job.out == DType::f64 && job.work == (width == 1 ? DType::i16 : DType::i32);
    const bool half_precision = job.out == job.in && job.work == DType::f32;
    const bool in_float = job.epilogue != Epilogue::average || !job.by_divisor || divides_in<float>(job.divisor);
    if (job.omit) {
        if (job.axis[job.rank - 1].k < 2 || row > kValidBytes || !same_dtype) return nullptr;
        if (job.in == DType::f64) return &line_buffer_sums<SumValid<double>, double, double>;
        return job.in == DType::f32 && in_float ? &line_buffer_sums<SumValid<float>, float, float> : nullptr;
    }
    switch (job.in) {
        case DType::f16: return half_precision && in_float ? &line_buffer_sums<Sum<float>, Half, float> : nullptr;
        case DType::bf16: return half_precision && in_float ? &line_buffer_sums<Sum<float>, BFloat16, float> : nullptr;
        case DType::f32: return floats && in_float ? &line_buffer_sums<Sum<float>, float, float> : nullptr;
        case DType::f64: return floats ? &line_buffer_sums<Sum<double>, double, double> : nullptr;
        case DType::i8: return narrow ? &line_buffer_sums<Sum<int16_t>, int8_t, double> : nullptr;
        case DType::u8: return narrow ? &line_buffer_sums<Sum<int16_t>, uint8_t, double> : nullptr;
        case DType::i16: return narrow ? &line_buffer_sums<Sum<int32_t>, int16_t, double> : nullptr;
        case DType::u16: return narrow ? &line_buffer_sums<Sum<int32_t>, uint16_t, double> : nullptr;
        default: return nullptr;
    }
}

}  // namespace cenote::CENOTE_LEVEL

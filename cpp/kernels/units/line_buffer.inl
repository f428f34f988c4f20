// Max, min, sums and averages of small windows that overlap, with a buffer of the last rows.

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

#include "../past.inl"

#include "../told.inl"

#include "../slide_numbers.inl"

#include "../slide.inl"

#include "../epilogue.inl"

#include "../slide_sums.inl"

template <class T, bool Largest>
TaskFn slide_floats(const Job& job) {
    if (!job.winners) return job.omit ? &slide_tile<Numbers<T, Largest, true>> : &slide_tile<Numbers<T, Largest>>;
    return job.omit ? &slide_tile<Numbers<T, Largest, true, true>> : &slide_tile<Numbers<T, Largest, false, true>>;
}

}  // namespace

TaskFn line_buffer_max(const Job& job) {
    const bool largest = job.reduce == Reduce::max;
    if (job.out != job.in || (job.winners && job.in != DType::f32 && job.in != DType::f64)) return nullptr;
    switch (job.in) {
        case DType::f32: return largest ? slide_floats<float, true>(job) : slide_floats<float, false>(job);
        case DType::f64: return largest ? slide_floats<double, true>(job) : slide_floats<double, false>(job);
        case DType::u8: return &slide_tile<Keys<uint8_t>>;
        case DType::i16: return &slide_tile<Keys<int16_t>>;
        case DType::u16: return &slide_tile<Keys<uint16_t>>;
        case DType::i32: return &slide_tile<Keys<int32_t>>;
        case DType::i64: return &slide_tile<Keys<int64_t>>;
        case DType::f16:
        case DType::bf16: return job.omit ? nullptr : &slide_tile<Halves>;
        default: return nullptr;
    }
}

TaskFn line_buffer_sum(const Job& job) {
    const int64_t width = size_of(job.in), row = job.axis[job.rank - 1].o * job.lanes * width;
    const bool as_it_is = job.out == job.in && job.work == job.in, floats = as_it_is && row >= kSlideRow;
    const bool narrow = job.out == DType::f64 && job.work == (width == 1 ? DType::i16 : DType::i32);
    const bool halves = job.out == job.in && job.work == DType::f32;
    const bool in_float = job.finish != Finish::average || !job.by_divisor || divides_in<float>(job.divisor);
    if (job.omit) {
        if (job.axis[job.rank - 1].k < 2 || row > kValidBytes || !as_it_is) return nullptr;
        if (job.in == DType::f64) return &slide_sums<SumValid<double>, double, double>;
        return job.in == DType::f32 && in_float ? &slide_sums<SumValid<float>, float, float> : nullptr;
    }
    switch (job.in) {
        case DType::f16: return halves && in_float ? &slide_sums<Sum<float>, Half, float> : nullptr;
        case DType::bf16: return halves && in_float ? &slide_sums<Sum<float>, Brain, float> : nullptr;
        case DType::f32: return floats && in_float ? &slide_sums<Sum<float>, float, float> : nullptr;
        case DType::f64: return floats ? &slide_sums<Sum<double>, double, double> : nullptr;
        case DType::i8: return narrow ? &slide_sums<Sum<int16_t>, int8_t, double> : nullptr;
        case DType::u8: return narrow ? &slide_sums<Sum<int16_t>, uint8_t, double> : nullptr;
        case DType::i16: return narrow ? &slide_sums<Sum<int32_t>, int16_t, double> : nullptr;
        case DType::u16: return narrow ? &slide_sums<Sum<int32_t>, uint16_t, double> : nullptr;
        default: return nullptr;
    }
}

}  // namespace cenote::CENOTE_LEVEL

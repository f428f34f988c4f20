// Max and min of small windows, register-tiled.

#include "pool/units/unit.inl"

namespace cenote::CENOTE_LEVEL {

namespace {

#include "pool/kernels/common.inl"

#include "pool/kernels/keyed.inl"

#include "pool/kernels/direct_window.inl"

#include "pool/kernels/direct_rows.inl"

#include "simd/streaming.inl"

#include "pool/kernels/argmax_store.inl"

#include "pool/kernels/direct_tile.inl"

#include "pool/kernels/direct_max.inl"

template <class Value, class At, class S>
TaskFn max_kernel(const PoolSchedule& job) {
    if (!job.argmax) return &max_direct<Value, S>;
    int64_t elements = 1;  // indices must fit into lanes as wide as the values
    for (int q = 0; q < job.rank; ++q) elements *= job.axis[q].n;
    if (job.argmax_format == ArgmaxFormat::offset8) return &argmax_direct<At, S, uint8_t>;
    if constexpr (sizeof(S) >= 4)
        if (job.argmax_format == ArgmaxFormat::index && (sizeof(S) == 8 || elements <= INT32_MAX))
            return &argmax_direct<At, S, int64_t>;
    return nullptr;
}

template <class T>
TaskFn max_of_keys(const PoolSchedule& job) {
    return job.argmax ? nullptr : &max_direct<Keyed<MaxReducer<T, true, false>>, T>;
}

TaskFn max_of_valid(const PoolSchedule& job) {
    if (job.argmax || (job.in != DType::f32 && job.in != DType::f64)) return nullptr;
    if (job.in == DType::f64) return &max_direct<Keyed<MaxReducer<double, true, true>>, double>;
    return job.reduce == Reduce::max ? &max_direct<MaxReducer<float, true, true>, float>
                                     : &max_direct<MaxReducer<float, false, true>, float>;
}

}  // namespace

TaskFn direct_max(const PoolSchedule& job) {
    using Fp32 = MaxReducer<float, true, false>;
    using Fp32Keys = Keyed<Fp32>;
    using Fp32ArgMax = Keyed<ArgMaxReducer<float, true, false>>;
    if (job.out != job.in) return nullptr;
    const bool largest = job.reduce == Reduce::max;
    if (job.omit) return max_of_valid(job);
    switch (job.in) {
        case DType::u8: return max_of_keys<uint8_t>(job);
        case DType::i16: return max_of_keys<int16_t>(job);
        case DType::u16: return max_of_keys<uint16_t>(job);
        case DType::i32: return max_of_keys<int32_t>(job);
        case DType::i64: return max_of_keys<int64_t>(job);
        case DType::f16:
            return largest ? max_kernel<Fp32, Fp32ArgMax, Half>(job) : max_kernel<Fp32Keys, Fp32ArgMax, Half>(job);
        case DType::bf16:
            return largest ? max_kernel<Fp32, Fp32ArgMax, BFloat16>(job)
                           : max_kernel<Fp32Keys, Fp32ArgMax, BFloat16>(job);
        case DType::f64:
            return max_kernel<Keyed<MaxReducer<double, true, false>>, Keyed<ArgMaxReducer<double, true, false>>,
                              double>(job);
        case DType::f32:
            return largest
                       ? max_kernel<MaxReducer<float, true, false>, ArgMaxReducer<float, true, false>, float>(job)
                       : max_kernel<MaxReducer<float, false, false>, ArgMaxReducer<float, false, false>, float>(job);
        default: return nullptr;
    }
}

}  // namespace cenote::CENOTE_LEVEL

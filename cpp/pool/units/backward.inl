// Backward passes of max and min, and of averages over windows that do not overlap.

#include "pool/units/unit.inl"

namespace cenote::CENOTE_LEVEL {

namespace {

#include "pool/kernels/common.inl"

#include "simd/divide.inl"

#include "simd/streaming.inl"

#include "pool/kernels/backward_scatter.inl"

#include "pool/kernels/backward_gather.inl"

#include "pool/kernels/backward_avg.inl"

template <class T>
TaskFn scatter_kernel(const PoolSchedule& job) {
    switch (job.argmax_format) {
        case ArgmaxFormat::offset8: return &scatter_slab<T, uint8_t>;
        case ArgmaxFormat::offset16: return &scatter_slab<T, uint16_t>;
        default: return &scatter_slab<T, uint32_t>;
    }
}

}  // namespace

TaskFn backward_scatter(const PoolSchedule& job) {
    return job.work == DType::f32 ? scatter_kernel<float>(job) : scatter_kernel<double>(job);
}

TaskFn backward_gather(const PoolSchedule& job) {
    return job.work == DType::f32 ? &gather_gradient<float> : &gather_gradient<double>;
}

TaskFn backward_avg(const PoolSchedule& job) {
    return job.in == DType::f32 ? &spread_average<float> : job.in == DType::f64 ? &spread_average<double> : nullptr;
}

}  // namespace cenote::CENOTE_LEVEL

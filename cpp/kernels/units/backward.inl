// Derivatives of max and min, and of averages over windows that tile.

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

#include "../scatter.inl"

#include "../give_back.inl"

#include "../repeat.inl"

template <class T>
TaskFn scatter_kernel(const Job& job) {
    switch (job.report) {
        case Report::offset8: return &scatter_slab<T, uint8_t>;
        case Report::offset16: return &scatter_slab<T, uint16_t>;
        default: return &scatter_slab<T, uint32_t>;
    }
}

}  // namespace

TaskFn backward_scatter(const Job& job) {
    return job.work == DType::f32 ? scatter_kernel<float>(job) : scatter_kernel<double>(job);
}

TaskFn backward_gather(const Job& job) { return job.work == DType::f32 ? &give_back<float> : &give_back<double>; }

TaskFn backward_avg(const Job& job) {
    return job.in == DType::f32 ? &repeat_values<float> : job.in == DType::f64 ? &repeat_values<double> : nullptr;
}

}  // namespace cenote::CENOTE_LEVEL

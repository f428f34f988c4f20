// The SIMD levels and what each of them offers: plain data and function pointers only.
#pragma once

#include "conv_kernels.hpp"
#include "geometry.hpp"

// The dtypes that the kernels compute in, with their C++ type. Dispatch is made from this list.
#define CENOTE_WORK_TYPES(X) \
    X(boolean, uint8_t)      \
    X(i8, int8_t)            \
    X(u8, uint8_t)           \
    X(i16, int16_t)          \
    X(u16, uint16_t)         \
    X(i32, int32_t)          \
    X(u32, uint32_t)         \
    X(i64, int64_t)          \
    X(u64, uint64_t)         \
    X(f32, float)            \
    X(f64, double)

namespace cenote {

namespace baseline {
TaskFn find_kernel(const Job& job);
void wide_sum(const Job& job, int64_t task, Arena* arena);
}  // namespace baseline
namespace small_baseline {
TaskFn find_small(const Job& job);
}
namespace conv_baseline {
const ConvKernels* find_conv(DType work);
}
#if defined(CENOTE_HAS_AVX2)
namespace avx2 {
TaskFn find_kernel(const Job& job);
void wide_sum(const Job& job, int64_t task, Arena* arena);
}  // namespace avx2
namespace small_avx2 {
TaskFn find_small(const Job& job);
}
namespace conv_avx2 {
const ConvKernels* find_conv(DType work);
}
#endif
#if defined(CENOTE_HAS_AVX512)
namespace avx512 {
TaskFn find_kernel(const Job& job);
void wide_sum(const Job& job, int64_t task, Arena* arena);
}  // namespace avx512
namespace small_avx512 {
TaskFn find_small(const Job& job);
}
namespace conv_avx512 {
const ConvKernels* find_conv(DType work);
}
#endif
#if defined(CENOTE_HAS_NEON)
namespace neon {
TaskFn find_kernel(const Job& job);
void wide_sum(const Job& job, int64_t task, Arena* arena);
}  // namespace neon
namespace small_neon {
TaskFn find_small(const Job& job);
}
namespace conv_neon {
const ConvKernels* find_conv(DType work);
}
#endif

}  // namespace cenote

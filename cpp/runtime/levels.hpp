// The SIMD levels and what each of them offers: plain data and function pointers only (see geometry.hpp).
#pragma once

#include "conv/fft_kernels.hpp"
#include "conv/kernels.hpp"
#include "core/geometry.hpp"
#include "pool/drivers/separable.hpp"

namespace cenote {

// What kernels have room for, and registry.cpp lets through.
constexpr int64_t kGatheredRows = 8;      // rows of windows that see one row of elements, in backward_gather
constexpr int64_t kBufferTaps = 3;        // of a window along an axis, in line_buffer: a tree of up to three is a chain
constexpr int64_t kNormBufferRows = 16;   // rows that line_buffer_norm holds
constexpr int64_t kNormBufferReach = 64;  // elements from the first tap of a window to its last, along a row of it
constexpr int64_t kUintElements = 256;    // bytes of a window's elements in direct_uint: their total fits its lanes
constexpr int64_t kDirectTaps = 16;       // of a window, but for those along its row, in direct

// The kernels of pooling, by algorithm and by what is computed. Each function gives the kernel for a job's dtypes and
// options, or null where there is none; registry.cpp says which algorithm a job gets.
using FindKernel = TaskFn (*)(const PoolSchedule&);

struct WeightedRows;  // weighted.hpp
TaskFn find_wide(const PoolSchedule& job);

struct PoolKernels {
    int64_t vector_bytes, norm_vector_bytes;
    FindKernel separable_max, separable_argmax, separable_sum, separable_norm;
    FindKernel column_strips_max, column_strips_sum, column_strips_norm;
    FindKernel line_buffer_max, line_buffer_sum, line_buffer_norm;
    FindKernel direct_max, direct_sum, direct_uint, direct_norm;
    FindKernel backward_gather, backward_scatter, backward_avg;
    const WeightedRows* weighted;
    FindKernel wide = &find_wide;  // scalar code, the same on every level
};

// What the units of a level define (kernels/units).
#define CENOTE_POOL_LEVEL(level)                                                   \
    namespace level {                                                              \
    const RowKernels* max_rows(DType work, bool largest);                          \
    const RowKernels* sum_rows(DType work);                                        \
    void separable_norm_tile(const PoolSchedule& job, int64_t task, Arena* arena); \
    TaskFn separable_max(const PoolSchedule& job);                                 \
    TaskFn separable_argmax(const PoolSchedule& job);                              \
    TaskFn separable_sum(const PoolSchedule& job);                                 \
    TaskFn separable_norm(const PoolSchedule& job);                                \
    TaskFn column_strips_max(const PoolSchedule& job);                             \
    TaskFn column_strips_sum(const PoolSchedule& job);                             \
    TaskFn column_strips_norm(const PoolSchedule& job);                            \
    TaskFn line_buffer_max(const PoolSchedule& job);                               \
    TaskFn line_buffer_sum(const PoolSchedule& job);                               \
    TaskFn line_buffer_norm(const PoolSchedule& job);                              \
    TaskFn direct_max(const PoolSchedule& job);                                    \
    TaskFn direct_sum(const PoolSchedule& job);                                    \
    TaskFn direct_uint(const PoolSchedule& job);                                   \
    TaskFn direct_norm(const PoolSchedule& job);                                   \
    TaskFn backward_gather(const PoolSchedule& job);                               \
    TaskFn backward_scatter(const PoolSchedule& job);                              \
    TaskFn backward_avg(const PoolSchedule& job);                                  \
    extern const WeightedRows weighted_rows;                                       \
    }                                                                              \
    namespace conv_##level {                                                       \
        const ConvKernels* conv_f32();                                             \
        const ConvKernels* conv_rest(DType work);                                  \
        extern const FftKernels fft_kernels;                                       \
    }

CENOTE_POOL_LEVEL(baseline)
CENOTE_POOL_LEVEL(avx2)
CENOTE_POOL_LEVEL(avx512)
CENOTE_POOL_LEVEL(neon)
#undef CENOTE_POOL_LEVEL

}  // namespace cenote

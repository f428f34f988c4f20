// The SIMD levels and the kernels of each: plain data and function pointers only (see core/geometry.hpp).
#pragma once

#include "conv/fft_kernels.hpp"
#include "conv/kernels.hpp"
#include "core/geometry.hpp"
#include "pool/drivers/separable.hpp"

namespace cenote {

// Limits of the kernels' fixed-size buffers, checked in registry.cpp.
constexpr int64_t kGatheredRows = 8;      // backward_gather: rows of windows that overlap one row of elements
constexpr int64_t kBufferTaps = 3;        // line_buffer: taps along an axis; a summation tree of up to 3 is a chain
constexpr int64_t kNormBufferRows = 16;   // line_buffer_norm: rows in the ring
constexpr int64_t kNormBufferReach = 64;  // line_buffer_norm: elements from a window's first tap to its last in a row
constexpr int64_t kUintElements = 256;    // direct_uint: bytes of a window, so that its total fits the widened lanes
constexpr int64_t kDirectTaps = 16;       // direct: taps of a window, not counting those along its row

// The pooling kernels by algorithm and reduction. Each function returns the kernel for the schedule's dtypes and
// options, or null if there is none; registry.cpp decides which algorithm serves a schedule.
using FindKernel = TaskFn (*)(const PoolSchedule&);

struct WeightedRows;  // weighted.hpp
TaskFn find_wide(const PoolSchedule& job);
struct OrderRows;  // pool/order_rows.hpp
TaskFn find_window_sort(const PoolSchedule& job);
TaskFn find_sorting_network(const PoolSchedule& job);
TaskFn find_direct_mode(const PoolSchedule& job);
TaskFn find_threshold_counts(const PoolSchedule& job);
TaskFn find_sliding_ranks(const PoolSchedule& job);

struct PoolKernels {
    int64_t vector_bytes, norm_vector_bytes;
    FindKernel separable_max, separable_argmax, separable_sum, separable_norm;
    FindKernel column_strips_max, column_strips_sum, column_strips_norm;
    FindKernel line_buffer_max, line_buffer_sum, line_buffer_norm;
    FindKernel direct_max, direct_sum, direct_uint, direct_norm;
    FindKernel backward_gather, backward_scatter, backward_avg;
    const WeightedRows* weighted;
    const OrderRows* order;
    // Scalar code, shared by all levels; the algorithms of `order` call its rows.
    FindKernel direct_mode = &find_direct_mode, sorting_network = &find_sorting_network;
    FindKernel threshold_counts = &find_threshold_counts, sliding_ranks = &find_sliding_ranks;
    FindKernel window_sort = &find_window_sort, wide = &find_wide;
};

// The types of elements that kernels compute with.
#define CENOTE_EACH_WORK(f) f(uint8_t) f(uint16_t) f(int16_t) f(int32_t) f(int64_t) f(uint64_t) f(float) f(double)
// Rows from memory, `stride` bytes apart, and results back to their dtype, once per level: a copy of these in every
// unit would be 3 % of the module.
#define CENOTE_ROWS_OF(T)                                                                    \
    void load_row(DType from, T* out, const char* in, int64_t stride, int64_t n, bool swap); \
    void store_row(DType to, char* out, const T* in, int64_t n);

// What the units of a level define (pool/units, conv/units).
#define CENOTE_POOL_LEVEL(level)                                                   \
    namespace level {                                                              \
    CENOTE_EACH_WORK(CENOTE_ROWS_OF)                                               \
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
    extern const OrderRows order_rows;                                             \
    }                                                                              \
    namespace conv_##level {                                                       \
        const ConvKernels* conv_f32();                                             \
        const ConvKernels* conv_f64();                                             \
        const ConvKernels* conv_int(DType work);                                   \
        extern const FftKernels fft_kernels;                                       \
    }

CENOTE_POOL_LEVEL(baseline)
CENOTE_POOL_LEVEL(avx2)
CENOTE_POOL_LEVEL(avx512)
CENOTE_POOL_LEVEL(neon)
#undef CENOTE_POOL_LEVEL
#undef CENOTE_ROWS_OF

}  // namespace cenote

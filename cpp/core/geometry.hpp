// Axes, the schedule of a pooling call, and index arithmetic: plain data, no SIMD, no threads, no Python.
//
// This header is compiled into translation units with different instruction sets, so it must not define anything with
// external linkage: functions are `static inline`, and only plain data is shared between units. The linker keeps one
// copy of an inline function with external linkage, and that could be the AVX-512 one, which crashes an older CPU.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cenote {

constexpr int kMaxDims = 64;  // NumPy's limit

enum class DType : uint8_t { boolean, i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64, c64, c128 };

static inline int64_t size_of(DType t) {
    switch (t) {
        case DType::boolean:
        case DType::i8:
        case DType::u8: return 1;
        case DType::i16:
        case DType::u16:
        case DType::f16:
        case DType::bf16: return 2;
        case DType::i32:
        case DType::u32:
        case DType::f32: return 4;
        case DType::c128: return 16;
        default: return 8;
    }
}

static inline bool is_integer(DType t) { return t <= DType::u64; }  // including bool
static inline bool is_unsigned(DType t) {
    return t == DType::u8 || t == DType::u16 || t == DType::u32 || t == DType::u64;
}

// One pooled axis. Window j covers the elements j*s - low + t*d for the taps t = 0 … k-1; those outside 0 … n-1 are
// padding. Windows without a common stride (the bins of adaptive pooling, transposes) are listed instead: window j
// covers lengths[j] elements from starts[j] on, d apart, and k is the largest length.
struct Axis {
    int64_t n, o, k, s, d, low, high;
    const int64_t* starts;
    const int64_t* lengths;
    // For the transpose of strided windows (otherwise 0): element c receives from the windows j with
    // 0 <= c + spread_low - j*spread_stride < spread_taps, the same as the listed ones.
    int64_t spread_stride, spread_taps, spread_low;
};

struct Span {
    int64_t begin, end;
};

static inline int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
static inline int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }
static inline int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }

// The index of tap 0 of window j; negative in the padding.
static inline int64_t window_start(const Axis& a, int64_t j) { return a.starts ? a.starts[j] : j * a.s - a.low; }

static inline int64_t taps_of(const Axis& a, int64_t j) { return a.lengths ? a.lengths[j] : a.k; }

// The taps of window j that fall on elements from … to-1.
static inline Span taps_within(const Axis& a, int64_t j, int64_t from, int64_t to) {
    const int64_t first = window_start(a, j), k = taps_of(a, j);
    if (a.d == 1) {  // avoids the divisions, which cost as much as a small window
        const int64_t begin = max(0, from - first);
        return {begin, max(begin, min(k, to - first))};
    }
    const int64_t begin = max(0, ceil_div(from - first, a.d));
    const int64_t end = min(k, floor_div(to - 1 - first, a.d) + 1);
    return {begin, max(begin, end)};
}

static inline Span real_taps(const Axis& a, int64_t j) {
    return a.lengths ? Span{0, a.lengths[j]} : taps_within(a, j, 0, a.n);  // listed windows contain no padding
}
static inline Span padded_taps(const Axis& a, int64_t j) {
    return a.starts ? real_taps(a, j) : taps_within(a, j, -a.low, a.n + a.high);
}

// The range of elements that windows j0 … j0+count-1 cover, clipped to the array; empty if they cover padding only.
static inline Span span_of_windows(const Axis& a, int64_t j0, int64_t count) {
    if (a.starts) {  // in no particular order
        int64_t low = a.n, high = 0;
        for (int64_t j = j0; j < j0 + count; ++j) {
            if (a.lengths[j] == 0) continue;
            low = min(low, a.starts[j]);
            high = max(high, a.starts[j] + (a.lengths[j] - 1) * a.d + 1);
        }
        return {low, max(low, high)};
    }
    int64_t begin = window_start(a, j0);
    int64_t end = window_start(a, j0 + count - 1) + (taps_of(a, j0 + count - 1) - 1) * a.d + 1;
    begin = max(0, begin);
    end = min(a.n, end);
    return {begin, max(begin, end)};
}

static inline bool is_identity(const Axis& a) { return a.k == 1 && a.s == 1 && a.low == 0 && !a.starts && a.o == a.n; }

// --------------------------------------------------------------------------------------------------- schedules

enum class Reduce : uint8_t { max, min, sum, median, mode };

// Medians and modes, which need all elements of a window at once (pool/order.hpp).
static inline bool is_order(Reduce reduce) { return reduce == Reduce::median || reduce == Reduce::mode; }

// Applied to each element after it is loaded, before the reduction.
enum class Prologue : uint8_t { none, absolute, exponential, power };

// Applied to each window's total before it is stored.
enum class Epilogue : uint8_t { none, sum, average, logarithm, root };

// How a total is converted to a result dtype other than its own (pool/convert_rows.hpp). `rounded`: once, and clipped
// to the range of an integer dtype. `exact`: the total of integers is exact, and the exact quotient is rounded once.
enum class Conversion : uint8_t { none, rounded, exact };

// The format of argmax results: flat indices over the pooled axes (-1 for an empty window), or offsets in the window,
// in the smallest unsigned type that holds them (its largest value for an empty window).
enum class ArgmaxFormat : uint8_t { index, offset8, offset16, offset32 };

// What to compute, without the geometry.
struct Operation {
    const char* x;
    char* y;
    void* argmax;  // null unless requested; of medians the lower middle elements, then the upper ones
    ArgmaxFormat argmax_format;
    DType in, work, out;
    Reduce reduce;
    Prologue prologue;
    Epilogue epilogue;
    Conversion convert;
    bool swap;              // x has the other byte order
    bool omit;              // NaN elements are skipped
    bool include_pad;       // padding counts in the divisor of an average
    bool physical_padding;  // padding takes part in the reduction as elements of value pad_value
    bool by_divisor;        // an average divides by `divisor`
    // Max and min of integers compare ordered keys: each element XORed with `key`. This maps signed to unsigned order
    // (or back) and a minimum to a maximum, so that one reducer serves all four.
    uint64_t key;
    double divisor, beta, power, pad_value;
};

// An operation with its memory layout, divided into tiles.
struct PoolSchedule : Operation {
    bool direct;     // x can be read in place: it has the work dtype and is aligned and contiguous along rows
    bool scatters;   // the transpose: values of y are added to the elements of x that `argmax` names
    bool planar;     // the pooled axes are innermost in memory: all others are outer axes
    bool streaming;  // the result is large enough for streaming stores (simd/streaming.inl)

    // Pooled axes, outermost in memory first. x_stride is in bytes, y_stride in elements.
    int rank;
    Axis axis[kMaxDims];
    int64_t x_stride[kMaxDims], y_stride[kMaxDims];
    int64_t pad_low[kMaxDims], real_n[kMaxDims];  // the array within `axis`, with physical padding
    int pass[kMaxDims];                           // the order of the passes, as positions in `axis`
    int64_t results;                              // of the whole job
    int64_t window_elements;
    int64_t weight[kMaxDims];  // stride of a tap in the window's flat offset
    int64_t plane[kMaxDims];   // stride of an element in the flat index over the pooled axes
    int64_t tile[kMaxDims], tiles[kMaxDims];

    // The innermost axes in memory, if not pooled: each row has `lanes` independent windows.
    int64_t lanes, lane_stride, lane_tile, lane_tiles;

    // All other axes.
    int outer;
    int64_t outer_size[kMaxDims], outer_x[kMaxDims], outer_y[kMaxDims];

    int64_t tasks;
};

// Smooth max and Lp pooling.
static inline bool is_norm(const PoolSchedule& job) {
    return job.prologue == Prologue::exponential || job.prologue == Prologue::power;
}

// Whether dividing in single precision gives the correctly rounded quotient: it does if the divisor is a float.
static inline bool is_float(double by) { return static_cast<double>(static_cast<float>(by)) == by; }

// Whether totals of an exact average may reach 2^52, above which a double cannot represent their halves.
static inline bool needs_wide_totals(const Operation& r, int64_t elements) {
    if (r.convert != Conversion::exact || !is_integer(r.in)) return false;
    const int64_t bits = r.in == DType::boolean ? 1 : 8 * size_of(r.in);
    return bits > 52 || elements >= int64_t{1} << (52 - bits);
}

constexpr int64_t kFp32WindowSize = int64_t{1} << 20;

// Whether smooth max and Lp norms are computed in single precision for windows whose elements are all in range
// (fp32_range.inl).
static inline bool fp32_suffices(const PoolSchedule& job) {
    if (job.out == DType::f64 || (job.in != DType::f32 && job.in != DType::f16 && job.in != DType::bf16)) return false;
    if (job.window_elements > kFp32WindowSize) return false;
    if (job.prologue == Prologue::power)
        return job.power == 1.0 || job.power == 2.0 || job.power == 3.0 || job.power == 4.0;
    // For a smaller β, rounding exp(βx) = 1 + βx + … to single precision loses too much of βx.
    const double magnitude = job.beta < 0 ? -job.beta : job.beta;
    return magnitude >= 0.25 && magnitude <= 1e6;
}

constexpr int64_t kStepRows = 16;  // rows of a strip that are summed per step (column_strips_sum.inl)

// A thread's working memory. Blocks are valid until the task ends.
struct Arena;
void* arena_take(Arena* arena, int64_t bytes);
void arena_rewind(Arena* arena);  // releases all blocks early

// For tasks that may take longer than 100 ms or so: throws if the job has failed on another thread, and polls for
// signals (runtime/parallel.hpp).
void checkpoint();

// Elements between two checkpoints: more than a tile has, unless a window is larger than a tile.
constexpr int64_t kCheckpointElements = int64_t{1} << 18;

// Counts n more elements as done, with a checkpoint where it is time for one.
static inline void count_done(int64_t& done, int64_t n) {
    done += n;
    if (done < kCheckpointElements) return;
    done = 0;
    checkpoint();
}

// Zeroes memory with checkpoints in between: the system may have to find each page first.
static inline void zero_bytes(char* to, int64_t bytes, int64_t& done) {
    for (int64_t from = 0; from < bytes; from += kCheckpointElements) {
        const int64_t n = min(kCheckpointElements, bytes - from);
        __builtin_memset(to + from, 0, static_cast<size_t>(n));
        count_done(done, n);
    }
}

using TaskFn = void (*)(const PoolSchedule&, int64_t task, Arena* arena);

}  // namespace cenote

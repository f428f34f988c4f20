// Axes, views and index arithmetic: plain data, no SIMD, threads or Python.
//
// This header is compiled into translation units with different instruction sets, so it must not define
// anything with external linkage: functions are `static inline`, and only plain data crosses from one unit
// to another. An inline function of external linkage could be emitted by the AVX-512 unit and be the one
// that the linker keeps for an old CPU.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cenote {

constexpr int kMaxDims = 64;  // as many as NumPy has

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

static inline bool is_integer(DType t) { return t <= DType::u64; }  // bool too
static inline bool is_unsigned(DType t) {
    return t == DType::u8 || t == DType::u16 || t == DType::u32 || t == DType::u64;
}

// One pooled axis: window j sees the elements j*s - low + t*d, t = 0 … k-1, of which those in 0 … n-1 are real.
// Windows without a common stride (the bins of adaptive pooling, transposes) are listed instead: window j sees
// lengths[j] elements from starts[j] on, d apart; k is the largest length.
struct Axis {
    int64_t n, o, k, s, d, low, high;
    const int64_t* starts;
    const int64_t* lengths;
    // Of the transpose of windows with a stride (0: of no such): window c sees the outputs j with
    // 0 <= c + spread_low - j*spread_stride < spread_taps, which are the listed ones.
    int64_t spread_stride, spread_taps, spread_low;
};

struct Span {
    int64_t begin, end;
};

static inline int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
static inline int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }
static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

// The element that tap 0 of window j would see.
static inline int64_t window_start(const Axis& a, int64_t j) { return a.starts ? a.starts[j] : j * a.s - a.low; }

static inline int64_t taps_of(const Axis& a, int64_t j) { return a.lengths ? a.lengths[j] : a.k; }

// The taps of window j that fall on elements from … to-1.
static inline Span taps_within(const Axis& a, int64_t j, int64_t from, int64_t to) {
    const int64_t first = window_start(a, j), k = taps_of(a, j);
    if (a.d == 1) {  // without divisions, which cost as much as a small window
        const int64_t begin = most(0, from - first);
        return {begin, most(begin, least(k, to - first))};
    }
    const int64_t begin = most(0, ceil_div(from - first, a.d));
    const int64_t end = least(k, floor_div(to - 1 - first, a.d) + 1);
    return {begin, most(begin, end)};
}

static inline Span real_taps(const Axis& a, int64_t j) {
    return a.lengths ? Span{0, a.lengths[j]} : taps_within(a, j, 0, a.n);  // listed elements are real
}
static inline Span padded_taps(const Axis& a, int64_t j) {
    return a.starts ? real_taps(a, j) : taps_within(a, j, -a.low, a.n + a.high);
}

// The elements, clipped to the real ones, that windows j0 … j0+count-1 touch; empty when there is none.
static inline Span span_of_windows(const Axis& a, int64_t j0, int64_t count) {
    if (a.starts) {  // in any order
        int64_t low = a.n, high = 0;
        for (int64_t j = j0; j < j0 + count; ++j) {
            if (a.lengths[j] == 0) continue;
            low = least(low, a.starts[j]);
            high = most(high, a.starts[j] + (a.lengths[j] - 1) * a.d + 1);
        }
        return {low, most(low, high)};
    }
    int64_t begin = window_start(a, j0);
    int64_t end = window_start(a, j0 + count - 1) + (taps_of(a, j0 + count - 1) - 1) * a.d + 1;
    begin = most(0, begin);
    end = least(a.n, end);
    return {begin, most(begin, end)};
}

static inline bool is_identity(const Axis& a) { return a.k == 1 && a.s == 1 && a.low == 0 && !a.starts && a.o == a.n; }

// ------------------------------------------------------------------------------------------------------- jobs

enum class Reduce : uint8_t { max, min, sum };

// What happens to an element between memory and the passes.
enum class Prologue : uint8_t { none, absolute, exponential, power };

// What happens to a window's total between the passes and memory.
enum class Epilogue : uint8_t { none, sum, average, logarithm, root };

// How a total becomes a result of another dtype than its own (pool/convert_rows.hpp): not at all; rounded once, and
// clipped if that is an integer; or, where it is the exact total of integers, as the exact quotient, rounded once.
enum class Conversion : uint8_t { none, rounded, exact };

// How argmax are reported: as flat indices over the pooled axes (-1: none), or as offsets in the window in the
// least type that holds them (its largest value: none).
enum class ArgmaxFormat : uint8_t { index, offset8, offset16, offset32 };

// What is asked for, without the geometry.
struct Operation {
    const char* x;
    char* y;
    void* argmax;  // null unless they are asked for
    ArgmaxFormat argmax_format;
    DType in, work, out;
    Reduce reduce;
    Prologue prologue;
    Epilogue epilogue;
    Conversion convert;
    bool swap;              // x is of the other byte order
    bool omit;              // NaN elements are left out
    bool include_pad;       // padded elements count in an average
    bool physical_padding;  // padded elements are elements like any other and hold pad_value
    bool by_divisor;        // an average divides by `divisor`
    // Max and min of integers are taken of ordered keys: an element, every bit of `key` in it flipped. It makes signed
    // numbers unsigned or the other way round, and a minimum a maximum, so that one reducer serves all four.
    uint64_t key;
    double divisor, beta, power, pad_value;
};

// An operation laid on memory and cut into tiles.
struct PoolSchedule : Operation {
    bool direct;     // x can be read where it lies: the work dtype, aligned, contiguous along the rows
    bool scatters;   // the other way round: values of y are added to the argmax' elements of x
    bool planar;     // all other axes lie around the pooled ones in memory
    bool strips;     // a task is a strip of columns (column_strips)
    bool streaming;  // what is written is so much that streaming stores may pay (simd/streaming.inl)

    // Pooled axes from the outermost in memory to the innermost; strides in bytes of x, in elements of y.
    int rank;
    Axis axis[kMaxDims];
    int64_t x_stride[kMaxDims], y_stride[kMaxDims];
    int64_t pad_low[kMaxDims], real_n[kMaxDims];  // with physical padding: where the real elements lie in `axis`
    int pass[kMaxDims];                           // the order of the passes, as positions in `axis`
    int64_t window_elements;
    int64_t weight[kMaxDims];  // of a tap in the window's flat offset
    int64_t plane[kMaxDims];   // of an element in the flat index over the pooled axes
    int64_t tile[kMaxDims], tiles[kMaxDims];

    // The innermost axis in memory when it is not pooled: rows of `lanes` independent windows.
    int64_t lanes, lane_stride, lane_tile, lane_tiles;

    // All other axes.
    int outer;
    int64_t outer_size[kMaxDims], outer_x[kMaxDims], outer_y[kMaxDims];

    int64_t tasks;
};

// Smooth maxima and norms.
static inline bool is_norm(const PoolSchedule& job) {
    return job.prologue == Prologue::exponential || job.prologue == Prologue::power;
}

// Whether a quotient by `by` is the same in single precision as in double, rounded once: wherever the divisor is one.
static inline bool is_float(double by) { return static_cast<double>(static_cast<float>(by)) == by; }

// Whether totals of an exact average may be 2^52 or more in size: too large for doubles and their halves.
static inline bool needs_wide_totals(const Operation& r, int64_t elements) {
    if (r.convert != Conversion::exact || !is_integer(r.in)) return false;
    const int64_t bits = r.in == DType::boolean ? 1 : 8 * size_of(r.in);
    return bits > 52 || elements >= int64_t{1} << (52 - bits);
}

constexpr int64_t kSingleElements = int64_t{1} << 20;

// Whether smooth maxima and norms are computed in single precision where all elements of a window are moderate
// (fp32_range.inl).
static inline bool single_will_do(const PoolSchedule& job) {
    if (job.out == DType::f64 || (job.in != DType::f32 && job.in != DType::f16 && job.in != DType::bf16)) return false;
    if (job.window_elements > kSingleElements) return false;
    if (job.prologue == Prologue::power)
        return job.power == 1.0 || job.power == 2.0 || job.power == 3.0 || job.power == 4.0;
    // A smaller β would lose the elements in the 1 of exp(βx) = 1 + βx + …
    const double size = job.beta < 0 ? -job.beta : job.beta;
    return size >= 0.25 && size <= 1e6;
}

constexpr int64_t kStepRows = 16;  // of a strip that are summed up at a time (column_strips_sum.inl)

// A thread's working memory. Blocks live until the task ends.
struct Arena;
void* arena_take(Arena* arena, int64_t bytes);
void arena_rewind(Arena* arena);  // all blocks are given back before it ends

using TaskFn = void (*)(const PoolSchedule&, int64_t task, Arena* arena);

}  // namespace cenote

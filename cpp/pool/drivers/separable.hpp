// Separable reduction: a box is reduced along one axis after the other.
//
// The driver (separable.cpp) is scalar code, compiled once. A SIMD level provides the row kernels of each reducer.
#pragma once

#include "core/geometry.hpp"
#include "pool/tile.hpp"

namespace cenote {

// Elements in memory: values and, for reducers that carry a second number (an argmax offset, a count, an exponent), a
// second plane of the same width. w is null for one plane, and for elements that come from the array.
struct Elements {
    char* v;
    char* w;
};

struct View {
    Elements base;
    int64_t stride[kMaxDims];  // elements; the lanes are contiguous
};

// Overlapping or adjacent parts of a window: part t starts at tap first[t], and taps are `apart` elements apart.
struct Parts {
    int64_t first[4];
    int64_t apart, weight;
};

// One pass along the lines of a tile. A line is `elements` runs of `run` contiguous elements.
struct LinePass {
    const Axis* axis;
    int64_t j0, count;     // the windows of this tile
    int64_t c0, elements;  // its elements that are not padding
    Span whole;            // the windows, counted from j0, all of whose taps are real
    int64_t run, in_stride, out_stride;
    int64_t weight;  // of a tap in the flat offset that an argmax carries
};

constexpr int64_t kPixelBytes = 16;     // that the strided-pixel kernels read at a time
constexpr int64_t kVanHerkBytes = 256;  // of a run at a time: running totals stay in registers

// A list of rows is `char* const*`, or `const Elements*` with two planes: a second pointer per row would travel through
// memory (max 2×2: 136 µs, and 46 with one).
struct RowKernels {
    int64_t width, lanes;  // bytes of an element, elements of a vector
    bool summed, two_planes;

    // out[i] = rows[0][i] ∘ … ∘ rows[count-1][i]: taps begin … of windows with `taps` taps. Out may be rows[0] of a
    // maximum.
    void (*reduce)(Elements out, const void* rows, int64_t begin, int64_t count, int64_t taps, int64_t n,
                   int64_t weight);
    // The same for one element, with `offset` added to what an argmax carries.
    void (*reduce_one)(Elements out, const void* rows, int64_t begin, int64_t count, int64_t taps, int64_t weight,
                       int64_t offset);
    // out[i] = a[i] ∘ b[i], where b is `offset` further on in the window. Out may be a, if b lies ahead of it, or b.
    void (*reduce_two)(Elements out, Elements a, Elements b, int64_t n, int64_t offset);
    void (*fill_identity)(Elements out, int64_t n);
    void (*fill_padding)(Elements out, int64_t n);  // as elements of the array, which have no second plane yet
    void (*copy)(Elements out, Elements in, int64_t n);
    // Windows of 2, 3 or 4 elements in a row of single elements, two apart.
    void (*stride_2[3])(Elements out, Elements in, int64_t n, int64_t weight);
    // out[i] = 2, 3 or 4 parts, by halves. In place is allowed.
    void (*parts[3])(Elements out, Elements from, const Parts& parts, int64_t n);
    // Sums only: out[i] = 1 … 4 parts that follow each other `step` elements apart, ∘ rest[i] in the second list.
    void (*digit[2][4])(Elements out, Elements from, int64_t step, Elements rest, int64_t n);
    // `count` windows, `step` elements apart, of 2, 3 or any number of taps of `run` elements each.
    void (*pixels[3])(Elements out, Elements in, int64_t count, int64_t step, int64_t apart, int64_t taps, int64_t run,
                      int64_t weight);
    // Max and min without argmax only: all windows of a line. `left` has room for k · kVanHerkBytes, `identity` holds
    // kVanHerkBytes of elements that lose to any other.
    void (*van_herk)(const LinePass& pass, const char* in, char* out, char* left, const char* identity);
    // out[i] = in[i · step], by groups of `group` elements.
    void (*every_nth)(char* out, const char* in, int64_t n, int64_t step, int64_t group);
    void (*interleave)(char* out, const char* even, const char* odd, int64_t n);
    // Lines of `bytes` bytes, from and to where they are listed; a call for each would take longer than a short line.
    void (*copy_lines)(char* out, const int64_t* to, const char* in, const int64_t* from, int64_t lines, int64_t bytes);
};

// All passes of a tile, from `in` to `last` if it is given, otherwise to working memory. `outermost_first`: in memory
// order, whatever order the meaning has.
View run_passes(const RowKernels& op, const PoolSchedule& job, const PoolTile& tile, const View& in, const View* last,
                Arena* arena, bool outermost_first = false);

// One pass along axis q of a tile whose axes have `extent` elements before and windows `count` after it.
void run_pass(const RowKernels& op, const Axis& a, int q, int rank, const int64_t* extent, int64_t lanes, int64_t j0,
              int64_t count, int64_t c0, const View& in, const View& out, int64_t weight, Arena* arena);

}  // namespace cenote

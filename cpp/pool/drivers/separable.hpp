// Separable reduction: a tile is reduced along one axis after the other.
//
// The driver (separable.cpp) is scalar code, compiled once. A SIMD level provides the row kernels of each reducer.
#pragma once

#include "core/geometry.hpp"
#include "pool/tile.hpp"

namespace cenote {

// Accumulators in memory: a plane of values and, for reducers with a second number (an argmax offset, a count, an
// exponent), a second plane of the same width. w is null with one plane, and for elements of the array.
struct Planes {
    char* v;
    char* w;
};

struct View {
    Planes base;
    int64_t stride[kMaxDims];  // in elements; lanes are contiguous
};

// Parts of a window, which may overlap: part t starts at tap first[t], and taps are `apart` elements apart.
struct Parts {
    int64_t first[4];
    int64_t apart, weight;
};

// One pass along the lines of a tile. A line is `elements` runs of `run` contiguous elements.
struct LinePass {
    const Axis* axis;
    int64_t j0, count;     // the windows of this tile
    int64_t c0, elements;  // the elements they cover, without padding
    Span interior;         // the windows without taps on padding, relative to j0
    int64_t run, in_stride, out_stride;
    int64_t weight;  // stride of a tap in the argmax offset
};

constexpr int64_t kPixelBytes = 16;     // the strided-pixel kernels read 16 bytes at a time
constexpr int64_t kVanHerkBytes = 256;  // of a run at a time, so that running maxima stay in registers

// A list of rows is `char* const*`, or `const Planes*` with two planes: a second pointer per row would go through
// memory (max 2×2: 136 µs, 46 with one pointer).
struct RowKernels {
    int64_t width, lanes;  // bytes of an element, elements of a vector
    bool summed, two_planes;

    // out[i] = rows[0][i] ∘ … ∘ rows[count-1][i]: the taps from `begin` on of windows with `taps` taps. For a maximum,
    // out may be rows[0].
    void (*reduce)(Planes out, const void* rows, int64_t begin, int64_t count, int64_t taps, int64_t n, int64_t weight);
    // The same for a single element, with `offset` added to the argmax offset.
    void (*reduce_one)(Planes out, const void* rows, int64_t begin, int64_t count, int64_t taps, int64_t weight,
                       int64_t offset);
    // out[i] = a[i] ∘ b[i], where b is `offset` taps after a. Out may be b, or a if b comes after it in memory.
    void (*reduce_two)(Planes out, Planes a, Planes b, int64_t n, int64_t offset);
    void (*fill_identity)(Planes out, int64_t n);
    void (*fill_padding)(Planes out, int64_t n);  // as array elements, which have no second plane
    void (*copy)(Planes out, Planes in, int64_t n);
    // Windows of 2, 3 or 4 taps with stride 2 in a row of single elements.
    void (*stride_2[3])(Planes out, Planes in, int64_t n, int64_t weight);
    // out[i] = 2, 3 or 4 parts combined pairwise. May be in place.
    void (*parts[3])(Planes out, Planes from, const Parts& parts, int64_t n);
    // Sums only: out[i] = 1 … 4 consecutive parts, `step` elements apart; in the second list ∘ rest[i].
    void (*digit[2][4])(Planes out, Planes from, int64_t step, Planes rest, int64_t n);
    // `count` windows, `step` elements apart, of 2, 3 or any number of taps, each a pixel of `run` elements.
    void (*pixels[3])(Planes out, Planes in, int64_t count, int64_t step, int64_t apart, int64_t taps, int64_t run,
                      int64_t weight);
    // Max and min without argmax only: all windows of a line. `left` is a buffer of k · kVanHerkBytes, `identity` has
    // kVanHerkBytes of the identity.
    void (*van_herk)(const LinePass& pass, const char* in, char* out, char* left, const char* identity);
    // out[i] = in[i · step], in groups of `group` elements.
    void (*every_nth)(char* out, const char* in, int64_t n, int64_t step, int64_t group);
    void (*interleave)(char* out, const char* even, const char* odd, int64_t n);
    // Copies lines of `bytes` bytes between lists of offsets; a call per line would take longer than a short line.
    void (*copy_lines)(char* out, const int64_t* to, const char* in, const int64_t* from, int64_t lines, int64_t bytes);
};

// All passes of a tile, from `in` to `last` if given, otherwise to working memory. `outermost_first`: in memory order
// instead of the order of the reduction.
View run_passes(const RowKernels& op, const PoolSchedule& job, const PoolTile& tile, const View& in, const View* last,
                Arena* arena, bool outermost_first = false);

// One pass along axis q of a tile: `extent` elements along each axis before it, `count` windows along q after it.
void run_pass(const RowKernels& op, const Axis& a, int q, int rank, const int64_t* extent, int64_t lanes, int64_t j0,
              int64_t count, int64_t c0, const View& in, const View& out, int64_t weight, Arena* arena);

}  // namespace cenote

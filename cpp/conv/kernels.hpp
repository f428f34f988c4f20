// What a SIMD level offers to convolution: plain data and function pointers only (see geometry.hpp).
//
// Offsets count elements of the work dtype. All sums run over the runs in their order, so a result does not
// depend on how rows and lanes are cut.
#pragma once

#include "core/geometry.hpp"

namespace cenote {

// One piece of the reduction: `length` products, which start at element `a` of the one and at `b` of the other.
struct Run {
    int64_t a, b, length;
};

// out[row][lane] = init[lane] + Σ a[a_at[row] + run.a + i*step] · b[run.b + i][lane]: the lanes are channels.
struct ChannelsCall {
    const void* a;
    const void* b;  // a panel: as many lanes as `lanes`, filled up to whole vectors, for each i
    void* out;
    const void* init;  // as wide as the panel, or null for zeros
    const int64_t* a_at;
    const int64_t* out_at;
    int64_t rows;
    const Run* runs;
    int64_t run_count, step;
    int lanes;
    bool add;       // to what is in out, instead of init
    int64_t chain;  // the longest chain of products of one sum; 0 for the usual one
    // Elements from a row to one that comes later and is fetched meanwhile, if not 0: of each block of rows, the part
    // `share` of `shares`.
    int64_t ahead;
    int share, shares;
};

// out[m][row][lane] = init[m] + Σ a[run.a + i][m] · x[x_at[row] + run.b + i*step + lane]: the lanes are pixels.
// Up to a block of lanes behind the last one may be read.
struct PixelsCall {
    const void* a;
    const void* x;
    void* out;
    const void* init;
    const int64_t* x_at;
    const int64_t* out_at;
    int64_t rows, lanes, out_stride;  // between one m and the next
    const Run* runs;
    int64_t run_count, step;
    int m;
    bool add;
    bool single;  // all runs are of one product
};

// out[r*out_row + p*out_step + lane] = init[lane] + Σ x[r*x_row + p*x_step + run.a + lane] · w[run.b + lane]: each lane
// on its own. A panel of lanes behind the last one, init and w have the first lanes again.
struct LanesCall {
    const void* x;
    const void* w;
    void* out;
    const void* init;
    int64_t rows, pixels, lanes;
    int64_t x_row, x_step, out_row, out_step;
    const Run* runs;
    int64_t run_count;
    bool add;
};

// w[run.b + lane] += Σ x[r*x_row + p*x_step + run.a + lane] · y[r*y_row + p*y_step + lane]: the derivative of the call
// above.
struct LanesFilterCall {
    const void* x;
    const void* y;
    void* w;
    int64_t rows, pixels, lanes;
    int64_t x_row, x_step, y_row, y_step;
    const Run* runs;
    int64_t run_count;
};

// w[run.b] += Σ x[r*x_row + run.a + i] · y[r*y_row + i], for one channel: the lanes are pixels. Up to a vector behind
// the last element of x may be read.
struct PlanesFilterCall {
    const void* x;
    const void* y;
    void* w;
    int64_t rows, columns, x_row, y_row;
    const Run* runs;
    int64_t run_count;
};

// Planes of rows × columns elements of working memory (strides in elements). Those in [top, bottom) × [left, right) are
// those of an array (strides in bytes) in the same dtype, one next to the other; the others are zero.
struct BorderCall {
    const char* array;  // the first of them
    int64_t s_row, s_channel;
    void* work;
    int64_t d_row, d_channel;
    int64_t channels, rows, columns;
    Span real_rows, real_columns;
};

// A plane of n0 × n1 elements between an array (strides in bytes) and working memory (strides in elements).
struct PlaneCall {
    DType type;  // of the array
    char* array;
    int64_t s0, s1;
    void* work;
    int64_t d0, d1, n0, n1;
};

// The three steps of Winograd's F(m×m, r×r) with m + r = 5, or of F(m, r) along a `line`; strides in elements. Elements
// and results of `tiles` tiles, whose elements or results are `next` apart, and whose points `next_points`; the filter
// of one channel, of r×r taps or r.
struct WinogradElements {
    const void* x;
    void* points;
    int64_t row, column, point, lanes;
    int64_t tiles, next, next_points;
    bool line;
};
struct WinogradFilter {
    const void* const* taps;
    void* points;
    int64_t point, lanes;
    int m;
    bool line;
};
struct WinogradResults {
    const void* points;
    const void* init;
    void* out;
    int64_t point, row, column, lanes;
    Span rows, columns;
    int64_t tiles, next, next_points;
    int m;
    bool line;
};

struct ConvKernels {
    int vector;  // lanes of a vector
    int panel;   // lanes of a whole panel of channels
    int most_m;  // of a PixelsCall
    int slack;   // lanes that a PixelsCall may read behind the last one
    void (*channels)(const ChannelsCall&);
    void (*pixels)(const PixelsCall&);
    void (*lanes)(const LanesCall&);
    void (*lanes_filter)(const LanesFilterCall&);
    void (*planes_filter)(const PlanesFilterCall&);
    void (*border)(const BorderCall&);
    void (*load)(const PlaneCall&);
    void (*store)(const PlaneCall&);
    // Of floats only; null otherwise.
    void (*winograd_elements)(const WinogradElements&);
    void (*winograd_filter)(const WinogradFilter&);
    bool (*winograd_results)(const WinogradResults&);  // false if one of them is not finite
};

}  // namespace cenote

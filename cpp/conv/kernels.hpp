// The convolution kernels of a SIMD level: plain data and function pointers only (see core/geometry.hpp).
//
// Offsets are in elements of the work dtype. Sums follow the order of the runs, so a result does not depend on how rows
// and lanes are divided.
#pragma once

#include "core/geometry.hpp"

namespace cenote {

// A run of the reduction: `length` consecutive products, starting at element `a` of one operand and `b` of the other.
struct Run {
    int64_t a, b, length;
};

// out[row][lane] = init[lane] + Σ a[a_at[row] + run.a + i*step] · b[run.b + i][lane]. Lanes are channels.
struct ChannelsCall {
    const void* a;
    const void* b;  // a panel: `lanes` lanes, filled up to whole vectors, for each i
    void* out;
    const void* init;  // as wide as the panel, or null for zeros
    const int64_t* a_at;
    const int64_t* out_at;
    int64_t rows;
    const Run* runs;
    int64_t run_count, step;
    int lanes;
    bool add;       // accumulate to out instead of starting from init
    int64_t chain;  // the longest chain of additions; 0 for the default
    // If not 0: elements from a row to a later one that is prefetched, of each block of rows the part `share` of
    // `shares`.
    int64_t ahead;
    int share, shares;
};

// out[m][row][lane] = init[m] + Σ a[run.a + i][m] · x[x_at[row] + run.b + i*step + lane]. Lanes are pixels. Up to a
// block of lanes after the last one may be read.
struct PixelsCall {
    const void* a;
    const void* x;
    void* out;
    const void* init;
    const int64_t* x_at;
    const int64_t* out_at;
    int64_t rows, lanes, out_stride;  // out_stride: between one m and the next
    const Run* runs;
    int64_t run_count, step;
    int m;
    bool add;
    bool single;  // all runs have one product
};

// out[r*out_row + p*out_step + lane] = init[lane] + Σ x[r*x_row + p*x_step + run.a + lane] · w[run.b + lane]: each lane
// separately. For a panel of lanes after the last one, init and w repeat the first lanes.
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

// w[run.b + lane] += Σ x[r*x_row + p*x_step + run.a + lane] · y[r*y_row + p*y_step + lane]: the filter gradient of
// LanesCall.
struct LanesFilterCall {
    const void* x;
    const void* y;
    void* w;
    int64_t rows, pixels, lanes;
    int64_t x_row, x_step, y_row, y_step;
    const Run* runs;
    int64_t run_count;
};

// w[run.b] += Σ x[r*x_row + run.a + i] · y[r*y_row + i], for one channel. Lanes are pixels. Up to a vector after the
// last element of x may be read.
struct PlanesFilterCall {
    const void* x;
    const void* y;
    void* w;
    int64_t rows, columns, x_row, y_row;
    const Run* runs;
    int64_t run_count;
};

// Planes of rows × columns elements of working memory (strides in elements). Those in [top, bottom) × [left, right) are
// copied from an array of the same dtype (strides in bytes, rows contiguous); the others are zeroed.
struct BorderCall {
    const char* array;  // the first element that is copied
    int64_t s_row, s_channel;
    void* work;
    int64_t d_row, d_channel;
    int64_t channels, rows, columns;
    Span real_rows, real_columns;
};

// Copies a plane of n0 × n1 elements between an array (strides in bytes) and working memory (strides in elements).
struct PlaneCall {
    DType type;  // of the array
    char* array;
    int64_t s0, s1;
    void* work;
    int64_t d0, d1, n0, n1;
};

// The three transforms of Winograd's F(m×m, r×r) with m + r = 5, or of F(m, r) along a `line`; strides in elements.
// Input and output transforms of `tiles` tiles, `next` apart in the data and `next_points` in the points; the filter
// transform of one channel of r×r taps or r.
struct WinogradInput {
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
struct WinogradOutput {
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
    int vector;  // lanes per vector
    int panel;   // lanes of a full panel of channels
    int most_m;  // largest m of a PixelsCall
    int slack;   // lanes that a PixelsCall may read after the last one
    void (*channels)(const ChannelsCall&);
    void (*pixels)(const PixelsCall&);
    void (*lanes)(const LanesCall&);
    void (*lanes_filter)(const LanesFilterCall&);
    void (*planes_filter)(const PlanesFilterCall&);
    void (*border)(const BorderCall&);
    void (*load)(const PlaneCall&);
    void (*store)(const PlaneCall&);
    // Floats only; null otherwise.
    void (*winograd_input)(const WinogradInput&);
    void (*winograd_filter)(const WinogradFilter&);
    bool (*winograd_output)(const WinogradOutput&);  // returns whether all results are finite
};

}  // namespace cenote

// Weighted sums over windows and their transpose: the derivatives of smooth maxima and norms.
//
// The weight of an element is a factor of the element times a factor of its window, exp(βx)·1/D or |x|^q·y^-q, so both
// are plain sums over windows between two elementwise factors. Windows where a factor could overflow or underflow take
// the shifted form instead, exp(β(x - m)) with the window's largest element m. Which form a window takes depends on its
// own elements only: no result depends on tiles, threads or layout.
//
// Plain data and functions of internal linkage only: units include this, see geometry.hpp.
#pragma once

#include "core/geometry.hpp"
#include "pool/drivers/separable.hpp"
#include "pool/schedule.hpp"

namespace cenote {

struct Weights {
    bool exponential;  // of a smooth maximum; otherwise of a norm
    bool odd;          // a norm's: with the sign of the element
    bool pads;         // a smooth maximum's: padded elements share in the normaliser, with the value pad_value
    double beta, pad_value, p, q;
};

struct WeightedProblem {
    Weights weights;
    PoolProblem windows;  // x, dense in `order`, and its windows; y: the result of a sum
    const char* t;        // of a sum, dense in the same order as x; of a spread one value per window
    DType t_type;
    char* out;            // of a spread, dense as x; null: a sum
    Axis axis[kMaxDims];  // of a spread: the windows that see each element, in the window's order
};

// The result has the dtype of t. May throw std::bad_alloc.
void weighted(const WeightedProblem& problem);

// A power of numbers whose logarithms it takes to at most 300. Halves of small whole numbers are products and roots.
struct Power {
    double q, q_rest;  // q + q_rest
    bool by_products, has_root, inverted;
    int whole;
};

// What rows of weights need to know.
struct Factors {
    Weights of;
    bool ones;           // q == 0 and not odd: all weights are 1
    double least, most;  // |x| of plain factors; none at all if least > most
    Power term, element, window;
    double pad;      // exp(β·pad_value)
    bool plain_pad;  // … is a plain factor
};

// What is taken of the ratio of an element to its window's pivot.
struct Ratio {
    double power;
    bool odd;
};

// Operands whose products with plain factors neither overflow nor lose bits.
constexpr double kLeastPlain = 1e-150, kMostPlain = 1e150;
static inline bool is_plain_operand(double v) {
    const double size = v < 0 ? -v : v;
    return !(size > kMostPlain || (size < kLeastPlain && size != 0.0));
}

constexpr int64_t kVectorRoom = 8;  // doubles after the end of a row: vectors are whole

// What a SIMD level provides.
struct WeightedRows {
    const RowKernels* (*sum_rows)(DType work);
    Factors (*factors_of)(const Weights& weights, int64_t window_elements);
    void (*load)(DType type, double* to, const char* from, int64_t stride, int64_t n, bool swap);
    void (*store)(DType type, char* to, const double* from, int64_t n);  // rounded once
    // A row of elements to the terms of normalisers and, with t, to weight times t; 0 where the shifted form is needed.
    // Rows have room for a vector after their end, which the next row may overwrite. Whether all are plain factors.
    bool (*terms)(const Factors& f, DType x_type, const char* x, DType t_type, const char* t, double* terms,
                  double* sums, int64_t n);
    // x becomes 1 where the shifted form is needed, or t is out of range, otherwise 0. t may be null. With room.
    void (*mark)(const Factors& f, double* x, const double* t, int64_t n);
    // Operands times the factors of their windows, 0 where the shifted form is needed: where `marks`, which may be
    // null, are not 0 and, unless `in_range`, where an operand is out of range. Whether there is any.
    bool (*normalize)(const Factors& f, const double* totals, const double* marks, DType type, const char* v,
                      bool in_range, DType out_type, char* out, int64_t n);
    // The factors of elements times the totals of their windows.
    void (*spread)(const Factors& f, DType x_type, const char* x, const char* totals, DType type, char* out, int64_t n);
    // Shifted weights but for their windows' rests, or the terms that these come from: exp(β(x - pivot)), or
    // s·(|x|/pivot)^power. With room; out may be either of the others.
    void (*shifted)(const Factors& f, Ratio of, const double* x, const double* pivot, double* out, int64_t n);
    double (*power)(double x, const Power& to);
};

struct WeightedJob {
    const WeightedRows* rows;
    Factors factors;
    PoolSchedule windows;   // from x to windows
    PoolSchedule elements;  // from windows to elements, for a spread; x: what the first stage made of t
    const char* t;          // of a sum laid out as x, of a spread as the windows
    DType t_type;
    // Of a spread, one per window: the largest element and what is left of the weight. Null as long as no window is
    // known to need the shifted form; the pivot of one in the plain form is NaN.
    double *pivot, *rest;
    int* shifted;  // set when a window needs it
};

// One tile: of windows of a sum, and of the windows and elements of a spread (drivers/weighted.cpp).
void weighted_sum_tile(const WeightedJob& job, int64_t task, Arena* arena);
void weighted_windows_tile(const WeightedJob& job, int64_t task, Arena* arena);
void weighted_elements_tile(const WeightedJob& job, int64_t task, Arena* arena);

}  // namespace cenote

// Weighted sums over windows and their transpose: the derivatives of smooth max and Lp pooling.
//
// A weight is the product of a factor of the element and a factor of its window: exp(βx)·1/D or |x|^q·y^-q. So both
// maps are plain sums over windows between two elementwise multiplications. Windows in which a factor could overflow or
// underflow use the shifted form instead, exp(β(x - m)) with the window's largest element m. Which form a window uses
// depends on its own elements only, so no result depends on tiles, threads or layout.
//
// Units include this header: plain data and functions with internal linkage only, see core/geometry.hpp.
#pragma once

#include "core/geometry.hpp"
#include "pool/drivers/separable.hpp"
#include "pool/schedule.hpp"

namespace cenote {

struct Weights {
    bool exponential;  // smooth max; otherwise an Lp norm
    bool odd;          // norms: weights have the sign of the element
    bool pads;         // smooth max: padding takes part in the normaliser with the value pad_value
    double beta, pad_value, p, q;
};

struct WeightedProblem {
    Weights weights;
    PoolProblem windows;  // x, dense in `order`, and its windows; y is the result of a sum
    const char* t;        // sum: dense in the same order as x; transpose: one value per window
    DType t_type;
    char* out;            // the result of the transpose, dense like x; null for a sum
    Axis axis[kMaxDims];  // transpose: the windows that contain each element
};

// The result has the dtype of t. May throw std::bad_alloc.
void weighted(const WeightedProblem& problem);

// The name of the algorithm: "weighted_sum", and for its transpose "weighted_spread", or "weighted_disjoint" for small
// windows that do not overlap, which starts again as "weighted_spread" if a window needs the shifted form.
const char* weighted_algorithm(const WeightedProblem& problem);

// x^(q + q_rest), for results whose logarithm is at most 300 in magnitude. Multiples of 1/2 up to 4.5 are computed by
// multiplications and a square root.
struct Power {
    double q, q_rest;
    bool by_products, has_root, inverted;
    int whole;
};

// What the row kernels need to know about the weights.
struct Factors {
    Weights of;
    bool ones;           // q is 0 and `odd` is not set: all weights are 1
    double least, most;  // the range of |x| for which factors are in range; empty if least > most
    Power term, element, window;
    double pad;      // exp(β·pad_value)
    bool plain_pad;  // and whether that is in range
};

// The function of the ratio of an element to its window's pivot.
struct Ratio {
    double power;
    bool odd;
};

// Operands whose products with factors in range neither overflow nor lose bits.
constexpr double kLeastPlain = 1e-150, kMostPlain = 1e150;
static inline bool is_plain_operand(double v) {
    const double size = v < 0 ? -v : v;
    return !(size > kMostPlain || (size < kLeastPlain && size != 0.0));
}

constexpr int64_t kVectorRoom = 8;  // doubles after the end of a row, so that kernels can use whole vectors

constexpr int64_t kDisjointTaps = 64;  // of a window, whose weights stay in the L1 cache

// Windows that do not overlap: rows of lanes, or with `pairs` the windows along a row of the array, of which each has
// two neighbouring elements along it. Offsets and steps are in elements.
struct DisjointWindows {
    DType x_type, type;              // of the elements; of the operands and results
    bool pairs, streaming, clipped;  // clipped: some taps are padding
    const char *x, *g;               // the first window, and its operand
    char* out;                       // the result at x
    int64_t rows, x_step, g_step;    // how many rows of lanes, and the steps from one to the next
    int64_t n;                       // lanes, or windows along the row
    double pads;                     // what padding adds to a normaliser
    int64_t taps, k[kMaxDims];       // the shape of a window, in the order of the sum's passes
    // What is read of a window: where, and which tap that is, with the first pass innermost; of a pair its first tap,
    // and the second one is `pair_step` after it.
    struct Read {
        int64_t offset, tap;
        bool present;
    } read[kDisjointTaps];
    int reads;
    int64_t pair_step;
};

// The row kernels of a SIMD level.
struct WeightedRows {
    const RowKernels* (*sum_rows)(DType work);
    Factors (*factors_of)(const Weights& weights, int64_t window_elements);
    void (*load)(DType type, double* to, const char* from, int64_t stride, int64_t n, bool swap);
    void (*store)(DType type, char* to, const double* from, int64_t n);  // rounded once
    // From a row of elements: the terms of the normalisers and, given t, weight times t; 0 where the shifted form is
    // needed. Rows need kVectorRoom, which the next row may overwrite. Returns whether all factors are in range.
    bool (*terms)(const Factors& f, DType x_type, const char* x, DType t_type, const char* t, double* terms,
                  double* sums, int64_t n);
    // x becomes 1 where the shifted form is needed or t is out of range, otherwise 0. t may be null. Needs kVectorRoom.
    void (*mark)(const Factors& f, double* x, const double* t, int64_t n);
    // Operands times the factors of their windows, 0 where the shifted form is needed: where `marks` (may be null) are
    // nonzero and, unless `in_range`, where an operand is out of range. Returns whether there is any such window.
    bool (*normalize)(const Factors& f, const double* totals, const double* marks, DType type, const char* v,
                      bool in_range, DType out_type, char* out, int64_t n);
    // The factors of elements times the sums over the windows that contain them.
    void (*spread)(const Factors& f, DType x_type, const char* x, const char* totals, DType type, char* out, int64_t n);
    // Both stages for windows that do not overlap, of smooth max or the Euclidean norm; null if the level has none.
    // Returns whether no window needs the shifted form: otherwise the results are not valid.
    bool (*spread_disjoint)(const Factors& f, const DisjointWindows& windows);
    // Shifted weights without the factor of the window, or the terms of its normaliser: exp(β(x - pivot)) or
    // s·(|x|/pivot)^power. Needs kVectorRoom; out may be x or pivot.
    void (*shifted)(const Factors& f, Ratio of, const double* x, const double* pivot, double* out, int64_t n);
    double (*power)(double x, const Power& to);
};

struct WeightedJob {
    const WeightedRows* rows;
    Factors factors;
    PoolSchedule windows;   // from x to windows
    PoolSchedule elements;  // transpose: from windows to elements; its x is the output of the first stage
    const char* t;          // sum: in the layout of x; transpose: in that of the windows
    DType t_type;
    // Transpose, one per window: the largest element and the remaining factor of the weight. Null until a window is
    // known to need the shifted form; the pivot of windows that do not need it is NaN.
    double *pivot, *rest;
    int* shifted;  // set if a window needs the shifted form
    // The transpose of windows that do not overlap: the result, and whether it is written with streaming stores.
    char* out;
    bool streaming;
};

// One tile: of the windows of a sum, and of the two stages of the transpose (drivers/weighted.cpp).
void weighted_sum_tile(const WeightedJob& job, int64_t task, Arena* arena);
void weighted_windows_tile(const WeightedJob& job, int64_t task, Arena* arena);
void weighted_elements_tile(const WeightedJob& job, int64_t task, Arena* arena);

// The transpose of windows that do not overlap in one stage, for windows that need no shifted form; it stops as soon as
// one does (drivers/weighted_disjoint.cpp).
bool suits_disjoint(const WeightedJob& job);
void weighted_disjoint_tile(const WeightedJob& job, int64_t task, Arena* arena);

}  // namespace cenote

// Weighted sums over windows and their transpose: the derivatives of smooth maxima and norms.
//
// The weight of an element is a factor of the element times a factor of its window, exp(βx)·1/D or |x|^q·y^-q, so both
// are plain sums over windows between two elementwise factors. Windows where a factor could overflow or underflow take
// the shifted form instead, exp(β(x - m)) with the window's largest element m. Which form a window takes depends on its
// own elements only: no result depends on tiles, threads or layout.
//
// Plain data and declarations only: units include this, see geometry.hpp.
#pragma once

#include "core/geometry.hpp"
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

struct WeightedJob {
    Weights weights;
    PoolSchedule windows;   // from x to windows
    PoolSchedule elements;  // from windows to elements, for a spread; x: what the first stage made of t
    const char* t;          // of a sum laid out as x, of a spread as the windows
    DType t_type;
    // Of a spread, one per window: the largest element and what is left of the weight. Null as long as no window is
    // known to need the shifted form; the pivot of one in the plain form is NaN.
    double *pivot, *rest;
    int* shifted;  // set when a window needs it
};

}  // namespace cenote

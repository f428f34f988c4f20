// Elements to ordered keys, and keys to results. Compiled once, for the baseline of the architecture.
#pragma once

#include "pool/order.hpp"

namespace cenote {

// n elements, `stride` bytes apart; whether one of them is NaN.
template <class K>
bool load_keys(K* to, const char* from, int64_t stride, int64_t n, const KeyFormat& format);

// The means of two keys each, as results from element `y` on; `low` and `high` may be the same row.
template <class K>
void write_medians(const PoolSchedule& job, int64_t y, const K* low, const K* high, int64_t n);

// Keys as elements of the dtype that they came from.
template <class K>
void write_elements(const PoolSchedule& job, int64_t y, const K* keys, int64_t n);

// NaN, or 0 where the result is an integer: of windows that have no element.
void write_missing(const PoolSchedule& job, int64_t y, int64_t n);

}  // namespace cenote

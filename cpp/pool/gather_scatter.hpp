// Values to and from chosen elements: what follows the argmax of windows, forwards and backwards.
#pragma once

#include "pool/schedule.hpp"

namespace cenote {

// Between an array and the argmax of its windows, which `problem.argmax` holds as offsets. The dtype is float32 or
// float64 on both sides. Forwards: the argmax' elements of x, into y, 0 for a window without one.
void gather(const PoolProblem& problem);

// Backwards: x, of so many bytes in one piece, is zeroed and y added to the argmax' elements.
void scatter(const PoolProblem& problem, int64_t bytes);
// The name of the algorithm that it would take (registry.cpp).
const char* scatter_algorithm(const PoolProblem& problem, int64_t bytes);

// out[plane, index[i]] = value[i] in order, for indices (int64) other than -1; items of `width` bytes. Throws
// std::invalid_argument for an index that is outside of its plane.
void put(void* out, const void* values, const void* index, int64_t planes, int64_t per_plane, int64_t plane_size,
         int64_t width);

}  // namespace cenote

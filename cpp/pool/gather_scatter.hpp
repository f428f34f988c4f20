// Gather and scatter by argmax: forward and backward passes of max and min pooling.
#pragma once

#include "pool/schedule.hpp"

namespace cenote {

// `problem.argmax` has the offset of each window's argmax; the dtype is float32 or float64 on both sides. Gather: y is
// the selected element of x, or 0 for an empty window.
void gather(const PoolProblem& problem);

// Scatter-add: x, contiguous and of `bytes` bytes, is zeroed, and y is added to the selected elements.
void scatter(const PoolProblem& problem, int64_t bytes);
// The name of the algorithm that scatter() would use (registry.cpp).
const char* scatter_algorithm(const PoolProblem& problem, int64_t bytes);

// out[plane, index[i]] = value[i] in order, skipping indices of -1; items of `width` bytes. Throws
// std::invalid_argument for any other index outside of its plane.
void put(void* out, const void* values, const void* index, int64_t planes, int64_t per_plane, int64_t plane_size,
         int64_t width);

}  // namespace cenote

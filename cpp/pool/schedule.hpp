// Windows over an array: plan the work, split it over threads, run it on the SIMD level in use.
#pragma once

#include "core/geometry.hpp"

namespace cenote {

// An operation on an array, as the binding hands it over. Axes are the array's unless said otherwise.
struct PoolProblem : Operation {
    int ndim;
    int64_t shape[kMaxDims], stride[kMaxDims];  // of x; bytes
    int order[kMaxDims];                        // the axes of y from the outermost in memory to the innermost

    int rank;
    Axis axis[kMaxDims];     // in the window's order
    int position[kMaxDims];  // the axis of the array that each lies on
};

// What has to be done to totals, given everything else of the operation.
Conversion conversion_of(const Operation& operation);

// The job of a request but for its tiles, and how many times it is repeated over axes that are not pooled; false
// when the result is empty.
bool lay_out(const PoolProblem& request, PoolSchedule& job, int64_t& batch);

// The name of the algorithm that run() would take (registry.cpp).
const char* algorithm_of(const PoolProblem& request);

// How many threads so much work is worth.
int threads_for(int64_t elements);

// For tests, which see every tile border and thread at small sizes with small limits.
void set_limits(int64_t bytes_per_tile, int64_t elements_per_thread, int64_t streaming_bytes_from);

// May throw std::bad_alloc. The arguments have been checked.
void run(const PoolProblem& request);

}  // namespace cenote

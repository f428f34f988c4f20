// Pooling calls: schedule the work, divide it among threads, run it on the SIMD level in use.
#pragma once

#include "core/geometry.hpp"

namespace cenote {

// An operation on an array, as the bindings pass it. Axes are those of the array unless stated otherwise.
struct PoolProblem : Operation {
    int ndim;
    int64_t shape[kMaxDims], stride[kMaxDims];  // of x, strides in bytes
    int order[kMaxDims];                        // the axes of y, outermost in memory first

    int rank;
    Axis axis[kMaxDims];     // in the window's order
    int position[kMaxDims];  // which axis of the array it is
};

// The conversion that the rest of the operation implies.
Conversion conversion_of(const Operation& operation);

// Fills in everything of a schedule but its tiles; `batch` is the product of the outer axes. False if the result is
// empty.
bool make_schedule(const PoolProblem& problem, PoolSchedule& job, int64_t& batch);

// The name of the algorithm that run() would use (registry.cpp).
const char* algorithm_of(const PoolProblem& problem);

// Runs all tasks of a schedule with its kernel.
void run_tasks(const PoolSchedule& job, TaskFn kernel, int threads);

// How many threads to use for an amount of work.
int threads_for(int64_t elements);

// For tests: small limits make small arrays go through many tiles and threads.
void set_limits(int64_t bytes_per_tile, int64_t elements_per_thread, int64_t streaming_bytes_from);

// The arguments have been checked. May throw std::bad_alloc.
void run(const PoolProblem& problem);

}  // namespace cenote

// Tilings: how a schedule is divided into tasks.
#pragma once

#include "core/geometry.hpp"

namespace cenote {

// How much there is to do, and with how many threads.
struct Workload {
    int64_t batch;     // the product of the outer axes
    int64_t elements;  // that all windows together cover, at least one per window
    int threads;
};

// Divides a schedule into tasks; false if it cannot. No result depends on where a tile ends.
using Tiling = bool (*)(PoolSchedule&, Workload&);

// Tiles that stay in the L2 cache with the intermediate results of all passes.
bool divide_into_tiles(PoolSchedule& job, Workload& work);

// The same, but many small planes share a task: the innermost outer axis becomes a pooled axis of window 1.
bool divide_into_planes(PoolSchedule& job, Workload& work);

// Strips of columns, for two pooled axes with large windows of stride 1. False if windows are so large that strips
// would mostly overlap.
bool divide_into_strips(PoolSchedule& job, Workload& work);

// Slabs of elements along the outermost pooled axis, for backward passes: no two tasks write to the same element.
bool divide_into_slabs(PoolSchedule& job, Workload& work);

// Whether divide_into_planes joins planes.
bool has_small_planes(const PoolSchedule& job);

// Windows of at least this size are large: kernels for them pay if they overlap.
constexpr int64_t kLargeWindow = 9;

// Whether results should be written with streaming stores, given the bytes read and written.
bool pays_to_stream(int64_t read, int64_t written);

}  // namespace cenote

// One tile of a schedule: which windows it computes, which elements they cover, and where both are in memory. Plain
// data and functions with internal linkage: see core/geometry.hpp.
#pragma once

#include "core/geometry.hpp"

namespace cenote {

struct PoolTile {
    int64_t j0[kMaxDims], count[kMaxDims];     // windows
    int64_t c0[kMaxDims], elements[kMaxDims];  // the elements they cover
    int64_t lanes;
    const char* x;  // address of element 0 of every axis, first lane
    int64_t y;      // index of the first window's result
};

static inline PoolTile locate(const PoolSchedule& job, int64_t task) {
    PoolTile b;
    const int64_t lane = task % job.lane_tiles * job.lane_tile;
    task /= job.lane_tiles;
    b.lanes = min(job.lane_tile, job.lanes - lane);
    b.x = job.x + lane * job.lane_stride;
    b.y = lane;
    for (int q = job.rank - 1; q >= 0; --q) {
        b.j0[q] = task % job.tiles[q] * job.tile[q];
        task /= job.tiles[q];
        b.count[q] = min(job.tile[q], job.axis[q].o - b.j0[q]);
        const Span elements = span_of_windows(job.axis[q], b.j0[q], b.count[q]);
        b.c0[q] = elements.begin;
        b.elements[q] = elements.end - elements.begin;
        b.y += b.j0[q] * job.y_stride[q];
    }
    for (int i = job.outer - 1; i >= 0; --i) {
        b.x += task % job.outer_size[i] * job.outer_x[i];
        b.y += task % job.outer_size[i] * job.outer_y[i];
        task /= job.outer_size[i];
    }
    return b;
}

// The strides of a contiguous tile, in elements; returns its number of elements.
static inline int64_t contiguous_strides(int rank, const int64_t* extent, int64_t lanes, int64_t* stride) {
    int64_t size = lanes;
    for (int q = rank - 1; q >= 0; --q) {
        stride[q] = size;
        size *= extent[q];
    }
    return size;
}

// The windows of a tile that lie entirely inside the array, without taps on padding.
static inline Span interior_windows(const Axis& a, int64_t j0, int64_t count) {
    if (a.starts) return {0, count};
    int64_t begin = max(j0, ceil_div(a.low, a.s));
    int64_t end = min(j0 + count, floor_div(a.n - 1 + a.low - (a.k - 1) * a.d, a.s) + 1);
    begin = min(begin, j0 + count);
    return {begin - j0, max(begin, end) - j0};
}

// The number of elements that `count` windows span, including padding.
static inline int64_t line_length(const Axis& a, int64_t count) { return (count - 1) * a.s + (a.k - 1) * a.d + 1; }

// A row is a run of lanes or, when there is one lane only, of the innermost pooled axis.
static inline bool rows_are_lanes(const PoolSchedule& job) { return job.lanes > 1; }
static inline int row_depth(const PoolSchedule& job) { return rows_are_lanes(job) ? job.rank : job.rank - 1; }

// The rows of a tile in x: n elements, `stride` bytes apart, for each position on the axes before `depth`. Lanes that
// are contiguous with those of the next element, such as the channels of an image, form one row.
struct InputRows {
    int depth;
    int64_t n, stride;
};
static inline InputRows input_rows(const PoolSchedule& job, const PoolTile& b) {
    const int last = job.rank - 1;
    if (!rows_are_lanes(job)) return {last, b.elements[last], job.x_stride[last]};
    if (b.lanes == job.lanes && job.x_stride[last] == job.lanes * job.lane_stride)
        return {last, b.elements[last] * b.lanes, job.lane_stride};
    return {job.rank, b.lanes, job.lane_stride};
}

// The rows of results, in y and in a view of them: n elements for each position on the axes before `depth`. A row is a
// run of windows along the last axis, `unit` elements each, or the lanes of one window.
struct ResultRows {
    int depth;
    int64_t n, unit;
};
static inline ResultRows result_rows(const PoolSchedule& job, const PoolTile& b, const int64_t* stride) {
    const int last = job.rank - 1;
    const bool along = !rows_are_lanes(job) || (stride[last] == b.lanes && job.y_stride[last] == b.lanes);
    return along ? ResultRows{last, b.count[last] * b.lanes, b.lanes} : ResultRows{job.rank, b.lanes, b.lanes};
}

}  // namespace cenote

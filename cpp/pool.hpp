// Windows over an array: plan the work, split it over threads, run it on the SIMD level in use.
#pragma once

#include <vector>

#include "geometry.hpp"

namespace cenote {

// An operation on an array, as the binding hands it over. Axes are the array's unless said otherwise.
struct Request {
    const void* x;
    void* y;
    int64_t* index;
    DType in, work, out;
    bool swap = false, omit = false, include_pad = true, physical_padding = false, by_divisor = false;
    Reduce reduce = Reduce::sum;
    Prepare prepare = Prepare::none;
    Finish finish = Finish::none;
    double divisor = 1, beta = 1, power = 1, pad_value = 0;

    int ndim;
    int64_t shape[kMaxDims], stride[kMaxDims];  // of x; bytes
    int order[kMaxDims];                        // the axes of y from the outermost in memory to the innermost

    int rank;
    Axis axis[kMaxDims];     // in the window's order
    int position[kMaxDims];  // the axis of the array that each lies on
};

// For tests, which see every tile border and thread at small sizes with small limits.
void set_limits(int64_t bytes_per_tile, int64_t cells_per_thread);

// May throw std::bad_alloc. The arguments have been checked.
void run(const Request& request);

// out[plane[i] + index[i]] = value[i] in order, for indices other than -1; items of `width` bytes.
void scatter(void* out, const void* values, const int64_t* index, int64_t planes, int64_t per_plane, int64_t plane_size,
             int64_t width);

}  // namespace cenote

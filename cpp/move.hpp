// Values to and from chosen cells: what follows the winners of windows, forwards and backwards.
#pragma once

#include "pool.hpp"

namespace cenote {

// Between an array and the winners of its windows, which `request.winners` holds as offsets. The dtype is float32 or
// float64 on both sides. Forwards: the winners' cells of x, into y, 0 for a window without one.
void gather(const Request& request);

// Backwards: x, of so many bytes in one piece, is zeroed and y added to the winners' cells.
void scatter(const Request& request, int64_t bytes);
// The name of the algorithm that it would take (registry.cpp).
const char* scatter_algorithm(const Request& request, int64_t bytes);

// out[plane, index[i]] = value[i] in order, for indices (int64) other than -1; items of `width` bytes. Throws
// std::invalid_argument for an index that is outside of its plane.
void put(void* out, const void* values, const void* index, int64_t planes, int64_t per_plane, int64_t plane_size,
         int64_t width);

}  // namespace cenote

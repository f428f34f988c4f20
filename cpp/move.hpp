// Values to and from chosen cells: what follows the winners of windows, forwards and backwards.
#pragma once

#include <cstring>

#include "pool.hpp"

namespace cenote {

// Between an array and the winners of its windows, which `request.winners` holds as offsets. The dtype is float32 or
// float64 on both sides. Forwards: the winners' cells of x, into y, 0 for a window without one.
void gather(const Request& request);

// Backwards: x, of so many bytes in one piece, is zeroed and y added to the winners' cells.
void scatter(const Request& request, int64_t bytes);

// out[plane, index[i]] = value[i] in order, for indices other than -1; items of `width` bytes. The indices are int64,
// which need not be aligned.
void put(void* out, const void* values, const char* index, int64_t planes, int64_t per_plane, int64_t plane_size,
         int64_t width);
inline int64_t index_at(const char* index, int64_t i) {
    int64_t value;
    std::memcpy(&value, index + i * 8, 8);
    return value;
}

}  // namespace cenote

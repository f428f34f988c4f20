// Values to and from chosen cells: what follows the winners of windows, forwards and backwards.
#pragma once

#include "pool.hpp"

namespace cenote {

// Between an array and the winners of its windows, which `request.winners` holds as offsets: gather the winners'
// cells of x into y, or add y to the winners' cells of x. The dtype is float32 or float64 on both sides.
enum class Move : uint8_t { gather, scatter };
void move(const Request& request, Move direction);

// out[plane, index[i]] = value[i] in order, for indices other than -1; items of `width` bytes.
void put(void* out, const void* values, const int64_t* index, int64_t planes, int64_t per_plane, int64_t plane_size,
         int64_t width);

}  // namespace cenote

// How a job is cut into tasks.
#pragma once

#include "geometry.hpp"

namespace cenote {

// The tiles, or where `strips` allows it the strips, of a job of so much work. Small planes are taken together, which
// are then fewer to repeat it over.
void choose_tasks(Job& job, int64_t& batch, int threads, int64_t cells, bool strips);

// Whether results are written past the cache where that is possible, so many bytes being read and written.
bool goes_past_cache(int64_t read, int64_t written);

}  // namespace cenote

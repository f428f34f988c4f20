// How a job is cut into tasks.
#pragma once

#include "core/geometry.hpp"

namespace cenote {

// The tiles, or where `strips` allows it the strips, of a job of so much work. Small planes are taken together, which
// are then fewer to repeat it over.
void choose_tasks(PoolSchedule& job, int64_t& batch, int threads, int64_t elements, bool strips);

// Whether results are written with streaming stores where that is possible, so many bytes being read and written.
bool pays_to_stream(int64_t read, int64_t written);

}  // namespace cenote

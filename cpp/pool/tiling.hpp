// How a schedule is divided into tasks.
#pragma once

#include "core/geometry.hpp"

namespace cenote {

// Divides the work into tiles, or where `strips` allows it into strips of columns. Small planes are combined into one
// task, which reduces `batch`.
void choose_tasks(PoolSchedule& job, int64_t& batch, int threads, int64_t elements, bool strips);

// Whether results should be written with streaming stores, given the bytes read and written.
bool pays_to_stream(int64_t read, int64_t written);

}  // namespace cenote

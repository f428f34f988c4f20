// How a job is cut into tasks.
#pragma once

#include "geometry.hpp"

namespace cenote {

// The tiles or strips of a job of so much work. Small planes are taken together, which are then fewer to repeat it
// over.
void choose_tasks(Job& job, int64_t& batch, int threads, int64_t cells);

}  // namespace cenote

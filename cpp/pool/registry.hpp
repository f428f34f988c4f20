// Which algorithm serves a pooling call: one ordered list, the first entry that accepts it wins.
#pragma once

#include "core/geometry.hpp"

namespace cenote {

struct Choice {
    const char* name;
    TaskFn kernel;
};

// Divides a schedule into tasks and chooses its kernel. Throws std::runtime_error if no kernel accepts it, which cannot
// happen for arguments that the Python side has checked.
Choice choose_algorithm(PoolSchedule& job, int64_t& batch, int threads, int64_t elements);

// The same for a schedule that is already divided into tasks: the backward passes.
Choice choose_backward(const PoolSchedule& job);

// Whether one of the small-window kernels accepts a schedule with whole planes as tiles.
bool has_small_kernel(const PoolSchedule& job);

}  // namespace cenote

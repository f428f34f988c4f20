// Which algorithm serves a pooling job: one ordered list, the first entry that fits wins.
#pragma once

#include "core/geometry.hpp"

namespace cenote {

struct Choice {
    const char* name;
    TaskFn kernel;
};

// Cuts a job into tasks and chooses its kernel. Throws std::runtime_error where no kernel fits, which no caller of
// run() can bring about.
Choice choose_algorithm(PoolSchedule& job, int64_t& batch, int threads, int64_t elements);

// The same for a job that is cut into tasks already: the backward passes.
Choice choose_backward(const PoolSchedule& job);

// Whether a job, cut into whole planes, has one of the kernels for small windows.
bool has_small_kernel(const PoolSchedule& job);

}  // namespace cenote

// Which algorithm serves a pooling call: one ordered list, the first entry that accepts it wins.
#pragma once

#include "core/geometry.hpp"
#include "pool/schedule.hpp"
#include "pool/tiling.hpp"

namespace cenote {

struct Choice {
    const char* name;
    TaskFn kernel;  // null for "two_steps", where the axes are pooled one after the other (schedule.cpp)
};

// Chooses for a schedule of `problem`, and divides it into tasks by the tiling of the algorithm. Throws
// std::runtime_error if no algorithm accepts it, which cannot happen for arguments that the Python side has checked.
Choice choose_algorithm(const PoolProblem& problem, PoolSchedule& job, Workload& work);

}  // namespace cenote

// A call into the core: without the GIL, in the core's floating-point mode, and stopped by Ctrl-C.
#pragma once

#include <nanobind/nanobind.h>

#include "runtime/float_mode.hpp"
#include "runtime/parallel.hpp"

namespace cenote {

// Once, when the module is imported: find out which thread is Python's main one.
void watch_interrupts();

// While it lives, this thread does not hold the GIL.
class Unlocked {
 public:
    Unlocked();
    Unlocked(const Unlocked&) = delete;
    ~Unlocked();

 private:
    static void poll(void* call);

    PyThreadState* state_;
    bool polls_;
    Poll before_;  // of a call that was interrupted by a handler which made this one
    FloatMode mode_;
};

}  // namespace cenote

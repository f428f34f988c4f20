// A call into the core: without the GIL, in the core's floating-point mode, interruptible by Ctrl-C.
#pragma once

#include <nanobind/nanobind.h>

#include "runtime/float_mode.hpp"
#include "runtime/parallel.hpp"

namespace cenote {

// Called once when the module is imported: finds Python's main thread.
void watch_interrupts();

// In its scope, this thread does not hold the GIL.
class Unlocked {
 public:
    Unlocked();
    Unlocked(const Unlocked&) = delete;
    ~Unlocked();

 private:
    static void poll(void* call);

    PyThreadState* state_;
    bool polls_;
    Poll before_;  // of the outer call, if a signal handler in it made this call
    FloatMode mode_;
};

// In its scope, a thread that does not hold the GIL, and that Python may never have seen, holds it. False if the
// interpreter has ended.
class Locked {
 public:
    Locked();
    Locked(const Locked&) = delete;
    ~Locked();
    explicit operator bool() const { return held_; }

 private:
    bool held_;
    PyGILState_STATE state_;
};

}  // namespace cenote

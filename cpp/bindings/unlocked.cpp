#include "bindings/unlocked.hpp"

#include <pythread.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace nb = nanobind;

namespace cenote {

namespace {

std::atomic<unsigned long> main_thread{0};

// A thread that asks for the GIL while Python ends never gets it. Up to Python 3.13 it is ended by pthread_exit, which
// unwinds its stack: destructors here and in nanobind may not throw, so that would end the process by an abort. It is
// caught and waits for the end of the process instead, as Python 3.14 does itself.
void lock_again(PyThreadState* state) noexcept {
    try {
        PyEval_RestoreThread(state);
    } catch (...) {  // it throws nothing else
        for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
}

}  // namespace

void watch_interrupts() {
    main_thread = nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
#if !defined(_WIN32)
    // The thread that forks is the main one of the child.
    pthread_atfork(nullptr, nullptr, [] { main_thread = PyThread_get_thread_ident(); });
#endif
}

// Signals are handled by the main thread only.
Unlocked::Unlocked()
    : state_(PyEval_SaveThread()),
      polls_(PyThread_get_thread_ident() == main_thread.load(std::memory_order_relaxed)),
      before_{} {
    if (polls_) before_ = poll_with({&Unlocked::poll, this});
}

Unlocked::~Unlocked() {
    if (polls_) poll_with(before_);
    lock_again(state_);
}

// Python's handlers of signals that have come, in the mode that they would see outside.
void Unlocked::poll(void* of) {
    auto& call = *static_cast<Unlocked*>(of);
    call.mode_.leave();
    lock_again(call.state_);
    std::exception_ptr raised;
    if (PyErr_CheckSignals()) {
        try {
            throw nb::python_error();  // takes the exception out of the thread's state
        } catch (...) {
            raised = std::current_exception();
        }
    }
    call.state_ = PyEval_SaveThread();
    call.mode_.enter();
    if (raised) std::rethrow_exception(raised);
}

}  // namespace cenote

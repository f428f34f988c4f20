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

// A thread that requests the GIL during finalization never gets it. Up to Python 3.13 it is ended by pthread_exit,
// whose unwinding would abort the process in the noexcept destructors here and in nanobind. So the unwinding is caught,
// and the thread sleeps until the process ends, as Python 3.14 does itself.
template <class Lock>
void lock_or_sleep(Lock lock) noexcept {
    try {
        lock();
    } catch (...) {  // nothing else is thrown here
        for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
}

void lock_again(PyThreadState* state) noexcept {
    lock_or_sleep([state] { PyEval_RestoreThread(state); });
}

}  // namespace

void watch_interrupts() {
    main_thread = nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
#if !defined(_WIN32)
    // The thread that calls fork() becomes the main thread of the child.
    pthread_atfork(nullptr, nullptr, [] { main_thread = PyThread_get_thread_ident(); });
#endif
}

// Only the main thread handles signals.
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

Locked::Locked() : held_(nb::is_alive()), state_{} {
    if (held_) lock_or_sleep([this] { state_ = PyGILState_Ensure(); });
}

Locked::~Locked() {
    if (held_) PyGILState_Release(state_);
}

// Runs Python's handlers of pending signals, in the caller's own floating-point mode.
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

// Which algorithm serves a call: recorded without computing for which_kernel(), printed with CENOTE_VERBOSE=1.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "bindings/unlocked.hpp"
#include "runtime/cpu.hpp"

namespace cenote {

// Where this thread's calls record their algorithm instead of computing; null when not tracing.
inline thread_local std::vector<std::string>* traced_names = nullptr;

inline std::atomic<bool> verbose{false};

// Prints a line with the duration of a call to stderr at the end of its scope.
class CallReport {
 public:
    CallReport(const char* what, const char* algorithm, std::span<const Py_ssize_t> shape)
        : what_(what), algorithm_(algorithm), start_(std::chrono::steady_clock::now()) {
        for (const Py_ssize_t n : shape) shape_ += (shape_.empty() ? "" : "x") + std::to_string(n);
    }
    ~CallReport() {
        const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start_;
        std::fprintf(stderr, "cenote: %s, %s, %s, %s, %.3f ms\n", what_, algorithm_, level_in_use().name,
                     shape_.c_str(), taken.count());
    }

 private:
    const char *what_, *algorithm_;
    std::chrono::steady_clock::time_point start_;
    std::string shape_;
};

// Runs a call of the core, or only records its algorithm while this thread traces. name() is evaluated only for tracing
// and for the report. Guard is Unlocked on a thread that holds the GIL, and FloatMode on one that does not.
template <class Guard = Unlocked, class Name, class Run>
void call(const char* what, std::span<const Py_ssize_t> shape, Name name, Run run) {
    if (traced_names) return traced_names->push_back(name());
    if (verbose.load(std::memory_order_relaxed)) {
        const CallReport report(what, name(), shape);
        const Guard guard;
        return run();
    }
    const Guard guard;
    run();
}

}  // namespace cenote

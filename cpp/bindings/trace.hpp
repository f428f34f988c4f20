// Which algorithm a call takes: collected instead of computed for which_kernel(), printed with CENOTE_VERBOSE=1.
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

// The names of the calls of this thread; null: calls compute. A traced call computes nothing.
inline thread_local std::vector<std::string>* traced_names = nullptr;

inline std::atomic<bool> verbose{false};

// A line on stderr with how long a call took, for the life of this object.
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

// A call of the core, without the GIL: computed, or only named while this thread traces. name() is asked for only then,
// and for the report.
template <class Name, class Run>
void call(const char* what, std::span<const Py_ssize_t> shape, Name name, Run run) {
    if (traced_names) return traced_names->push_back(name());
    if (verbose.load(std::memory_order_relaxed)) {
        const CallReport argmax_format(what, name(), shape);
        const Unlocked unlocked;
        return run();
    }
    const Unlocked unlocked;
    run();
}

}  // namespace cenote

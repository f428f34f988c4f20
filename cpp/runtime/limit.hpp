// A number that every call reads and tests may set, from any thread.
#pragma once

#include <atomic>

namespace cenote {

template <class T>
class Limit {
 public:
    constexpr explicit Limit(T value) : value_(value) {}
    operator T() const { return value_.load(std::memory_order_relaxed); }
    void operator=(T value) { value_.store(value, std::memory_order_relaxed); }

 private:
    std::atomic<T> value_;
};

}  // namespace cenote

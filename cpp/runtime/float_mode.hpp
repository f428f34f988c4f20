// The floating-point mode of the processor while the core computes: round to nearest, keep subnormals, trap nothing.
//
// The mode is per thread, and libraries change it (loading code linked with -ffast-math makes the loading thread flush
// subnormals to zero): without this, results would depend on which thread computed them.
#pragma once

#include <cstdint>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <cfenv>
#endif

namespace cenote {

// Sets the mode in its scope. Writing the register takes far longer than reading it, so it is written only if it
// differs.
class FloatMode {
 public:
    FloatMode() { enter(); }
    FloatMode(const FloatMode&) = delete;
    ~FloatMode() { leave(); }

#if defined(__x86_64__)
    void enter() {
        before_ = __builtin_ia32_stmxcsr();
        changed_ = (before_ & ~kFlags) != kDefault;
        if (changed_) __builtin_ia32_ldmxcsr(kDefault);
    }
    void leave() const {
        if (changed_) __builtin_ia32_ldmxcsr(before_);
    }

 private:
    static constexpr unsigned kFlags = 0x3f, kDefault = 0x1f80;
    unsigned before_ = 0;
    bool changed_ = false;
#elif defined(__aarch64__)
    void enter() {
        asm volatile("mrs %0, fpcr" : "=r"(before_));
        changed_ = before_ != 0;
        if (changed_) asm volatile("msr fpcr, %0" : : "r"(uint64_t{0}) : "memory");
    }
    void leave() const {
        if (changed_) asm volatile("msr fpcr, %0" : : "r"(before_) : "memory");
    }

 private:
    uint64_t before_ = 0;
    bool changed_ = false;
#else
    void enter() {
        std::fegetenv(&before_);
        std::fesetenv(FE_DFL_ENV);
    }
    void leave() const { std::fesetenv(&before_); }

 private:
    std::fenv_t before_;
#endif
};

}  // namespace cenote

// A lock of one byte for slow paths of a few instructions.
#pragma once

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>

namespace coflux::detail {

/// Test-and-test-and-set lock. State: false free, true held. For sections of a few instructions that allocate nothing.
class spin_lock {
public:
    void lock() noexcept {
        // acquire pairs with the release in unlock(): the section sees all earlier sections.
        while (held_.exchange(true, memory_order_acquire)) {
            while (held_.load(memory_order_relaxed)) cpu_pause();
        }
    }
    /// Does not wait: false if another thread holds it.
    [[nodiscard]] bool try_lock() noexcept {
        return !held_.load(memory_order_relaxed) && !held_.exchange(true, memory_order_acquire);  // as in lock()
    }
    void unlock() noexcept { held_.store(false, memory_order_release); }  // pairs with the exchanges

private:
    atomic<bool> held_{false};
};

class spin_guard {
public:
    explicit spin_guard(spin_lock& lock) noexcept : lock_(lock) { lock_.lock(); }
    ~spin_guard() { lock_.unlock(); }
    spin_guard(const spin_guard&) = delete;
    spin_guard& operator=(const spin_guard&) = delete;

private:
    spin_lock& lock_;
};

}  // namespace coflux::detail

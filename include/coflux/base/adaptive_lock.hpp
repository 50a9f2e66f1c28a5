// A lock of one byte for sections of a few instructions.
#pragma once

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>

namespace coflux::detail {

/// Lets other threads have the processor.
void yield_processor() noexcept;

/// State: false free, true held. For sections of a few instructions that allocate nothing. A thread that finds it held
/// leaves it alone for long enough that the holder does many operations in a row, and then for twice as long: a line
/// that changes hands costs more than an operation, and so do the lines of what it guards. At last it yields, because
/// the holder may need its processor.
class adaptive_lock {
public:
    COFLUX_INLINE void lock() noexcept {
        // acquire pairs with the release in unlock(): the section sees all earlier sections.
        // [adaptive_lock.lock]
        if (held_.exchange(true, memory_order_acquire)) [[unlikely]]
            contend();
    }
    /// Does not wait: false if another thread holds it.
    [[nodiscard]] bool try_lock() noexcept {
        // [adaptive_lock.try_lock]
        return !held_.load(memory_order_relaxed) && !held_.exchange(true, memory_order_acquire);  // as in lock()
    }
    // [adaptive_lock.unlock]
    COFLUX_INLINE void unlock() noexcept { held_.store(false, memory_order_release); }  // pairs with the exchanges

private:
    // Between two looks: the holder needs some ten nanoseconds an operation, a pause takes 25 to 40. Four senders and
    // four receivers of a channel on two processors take 140 ns a value where the first wait is of 1 pause, 38 of 24,
    // 26 of 64; and a task from outside 377, 339 and 282 ns (Xeon, family 6 model 167).
    static constexpr unsigned first_pauses = 64;
    static constexpr unsigned most_pauses = 128;
    // Looks after which the holder is taken for one that does not run.
    static constexpr unsigned patience = 16;

    COFLUX_ASIDE void contend() noexcept {
        unsigned pauses = first_pauses;
        for (unsigned looks = 0;; ++looks) {
            for (unsigned i = 0; i < pauses; ++i) cpu_pause();
            if (pauses < most_pauses) pauses *= 2;
            if (looks >= patience) yield_processor();
            if (try_lock()) return;
        }
    }

    atomic<bool> held_{false};
};

/// Holds a lock to the end of a scope.
class adaptive_guard {
public:
    COFLUX_INLINE explicit adaptive_guard(adaptive_lock& lock) noexcept : lock_(lock) { lock_.lock(); }
    COFLUX_INLINE ~adaptive_guard() { lock_.unlock(); }
    adaptive_guard(const adaptive_guard&) = delete;
    adaptive_guard& operator=(const adaptive_guard&) = delete;

private:
    adaptive_lock& lock_;
};

}  // namespace coflux::detail

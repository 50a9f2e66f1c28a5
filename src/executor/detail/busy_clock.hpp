// How long a worker has been busy. Its thread reads the clock for it where it does so anyway: where it has run out of
// work, and where it has found some.
#pragma once

#include <coflux/base/atomic.hpp>
#include <coflux/time/clock.hpp>

namespace coflux::detail {

class busy_clock {
public:
    // The worker's thread:
    void begin(clock_tick now) noexcept { since_.store(now, memory_order_relaxed); }
    void end(clock_tick now) noexcept {
        const clock_tick since = since_.load(memory_order_relaxed);
        if (since == 0) return;
        since_.store(0, memory_order_relaxed);  // before total_: pairs with read()
        total_.store(total_.load(memory_order_relaxed) + (now - since), memory_order_release);  // pairs with read()
    }

    /// It is between begin() and end(). Threads: any.
    [[nodiscard]] bool is_running() const noexcept { return since_.load(memory_order_relaxed) != 0; }
    /// Nanoseconds. Never less than before.
    /// Threads: any.
    [[nodiscard]] clock_tick read() const noexcept {
        clock_tick total = 0;
        clock_tick since = 0;
        do {
            since = since_.load(memory_order_relaxed);
            total = total_.load(memory_order_acquire);  // pairs with end(): with what it adds, since_ is 0, or later
            if (since != 0) total += now_after(since);
        } while (since_.load(memory_order_relaxed) != since);
        // Where since_ was 0 already, and total_ not yet more, the last answer may have been more.
        clock_tick answered = answered_.load(memory_order_relaxed);
        while (answered < total && !answered_.compare_exchange_weak(answered, total, memory_order_relaxed)) {}
        return answered < total ? total : answered;
    }

private:
    static clock_tick now_after(clock_tick since) noexcept {
        const clock_tick now = tick_now();
        return now > since ? now - since : 0;
    }

    atomic<clock_tick> since_{0};             // it is busy since then; 0: it is not. Written by its thread
    atomic<clock_tick> total_{0};             // without what is since since_. Written by its thread
    mutable atomic<clock_tick> answered_{0};  // the highest answer; relaxed, pairs with nothing
};

}  // namespace coflux::detail

// Looks after the timers of a worker that computes: one thread for the process.
//
// The page docs/design/time.md has the protocol, and test/model/timer_watch_model.cpp holds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/base/thread.hpp>
#include <coflux/time/clock.hpp>
#include <coflux/time/detail/timing_wheel.hpp>

#include "os/thread/parker.hpp"

namespace coflux::detail {

class timer_queue;

/// When the watcher looks next. Written by the owners of queues, which bring the moment forward, and by the watcher.
///
///     owner:    publishes a deadline (seq_cst), then calls bring_forward()
///     watcher:  forget(), then looks at all that is published (seq_cst), then bring_forward() to the earliest,
///               then parks
///
/// Either the owner finds a moment that is late enough to be brought forward, and wakes the watcher, or the watcher
/// sees the deadline.
class watch_moment {
public:
    /// The watcher is about to look: whatever is published from now on has to be said.
    // [timer_watch.forget]
    void forget() noexcept { at_.store(timing_wheel::never, memory_order_seq_cst); }
    [[nodiscard]] clock_tick at() const noexcept {
        return at_.load(memory_order_relaxed);
    }  // a hint, but to the watcher
    /// True if the watcher would have looked later than `at`: then the caller wakes it.
    [[nodiscard]] bool bring_forward(clock_tick at) noexcept {
        // [timer_watch.bring_forward.known]
        clock_tick known = at_.load(memory_order_seq_cst);  // after what the caller published; pairs with forget()
        while (at < known) {
            // [timer_watch.bring_forward.cas]
            if (at_.compare_exchange_weak(known, at, memory_order_seq_cst, memory_order_seq_cst)) return true;
        }
        return false;
    }

private:
    // The watcher looks at this tick at the latest; never: when it is woken. Set to never by the watcher alone, lowered
    // by all.
    atomic<clock_tick> at_{timing_wheel::never};
};

/// Threads: any.
class timer_watch {
public:
    /// That of the process. Lifetime: never destroyed; its thread starts when there is first something to watch, and
    /// ends when static objects die.
    static timer_watch& shared();

    /// `start` makes a thread call serve(), and returns whether it can; `now` is the clock.
    timer_watch(bool (*start)(timer_watch& self) noexcept, clock_tick (*now)() noexcept) noexcept
        : start_(start),
          now_(now) {}
    timer_watch(const timer_watch&) = delete;
    timer_watch& operator=(const timer_watch&) = delete;

    /// From now on it looks after `q`, until forget(), which waits until it has left `q`. Errors: std::bad_alloc.
    void watch(timer_queue& q);
    void forget(timer_queue& q) noexcept;

    /// The owner of a queue is busy and has something that should be handed out by `at`. Costs: a load, unless the
    /// watcher has to be woken. If its thread cannot be had, what is due waits for its owner.
    void look_until(clock_tick at) noexcept {
        if (moment_.bring_forward(at)) wake();
    }

    /// The watcher's thread runs it until end(). True from end() if it was started.
    void serve() noexcept;
    [[nodiscard]] bool end() noexcept;

    /// How late a timer may be before it is taken from its owner.
    static constexpr clock_tick grace = 500'000;  // nanoseconds
    /// When that is for one with this deadline.
    [[nodiscard]] static constexpr clock_tick overdue_at(clock_tick deadline) noexcept {
        return deadline < timing_wheel::never - grace ? deadline + grace : timing_wheel::never;
    }

private:
    static constexpr clock_tick retry = 50'000;  // nanoseconds; where the owner looked, too

    COFLUX_COLD void wake() noexcept;
    clock_tick look_at_all(clock_tick now) noexcept;

    bool (*const start_)(timer_watch&) noexcept;
    clock_tick (*const now_)() noexcept;
    watch_moment moment_;
    os::parker parker_;
    mutex lock_;  // guards what follows
    condition_variable left_;
    std::vector<timer_queue*> queues_;
    std::size_t changes_ = 0;            // of queues_
    timer_queue* looking_at_ = nullptr;  // without the lock
    enum class life : std::uint8_t { not_begun, runs, over } life_ = life::not_begun;
};

}  // namespace coflux::detail

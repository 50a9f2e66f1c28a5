// How long completed operations keep a worker at work: whether they are worth another worker's wake-up.
#pragma once

#include <cstddef>

#include <coflux/base/atomic.hpp>
#include <coflux/time/clock.hpp>

#include "typical_time.hpp"

namespace coflux::detail {

/// The policy of a worker, without a clock: the caller passes times, in nanoseconds. One thread.
///
/// A wake-up takes some 10 us of CPU time on both sides, and what the woken worker steals is cold to it. So it pays
/// where what has been found takes 20 times as long. How long the coroutine behind one operation takes is measured from
/// where operations were found until the worker has nothing left to do. A look finds a portion at most: behind a full
/// one there is as much again.
class event_steps {
public:
    static constexpr clock_tick worth_a_wake = 200'000;
    static constexpr clock_tick first = worth_a_wake / 8;  // until something has been measured

    /// The worker had nothing to do, and finds `found` that have ended. 0: it found something else, which is not
    /// measured.
    void begin(clock_tick now, std::size_t found) noexcept {
        began_ = now;
        found_ = found;
    }
    /// It has not come to the end of what it found.
    [[nodiscard]] bool measures() const noexcept { return found_ != 0; }
    /// It finds more on its way.
    void add(std::size_t found) noexcept {
        if (found_ != 0) found_ += found;
    }
    /// A look that may find `most` has found `found`.
    void looked(std::size_t found, std::size_t most) noexcept {
        behind_.store(found < most ? 0 : behind_.load(memory_order_relaxed) + found, memory_order_relaxed);
    }
    /// It has nothing to do.
    void end(clock_tick now) noexcept {
        if (found_ != 0) one_.add((now - began_) / found_);
        found_ = 0;
    }

    // Any thread; to others a hint.
    [[nodiscard]] clock_tick one() const noexcept { return one_.now(); }
    [[nodiscard]] bool are_worth_a_wake(std::size_t queued) const noexcept {
        return (queued + behind_.load(memory_order_relaxed)) * one() >= worth_a_wake;
    }

private:
    clock_tick began_ = 0;
    std::size_t found_ = 0;  // 0: nothing is measured now
    typical_time one_{first};
    atomic<std::size_t> behind_{0};  // what full looks in a row have found; written by its own thread
};

}  // namespace coflux::detail

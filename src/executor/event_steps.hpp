// How long completed operations keep a worker at work: whether they are worth another worker's wake-up.
#pragma once

#include <algorithm>
#include <cstddef>

#include <coflux/time/clock.hpp>

namespace coflux::detail {

/// The policy of a worker, without a clock: the caller passes times, in nanoseconds. One thread.
///
/// A wake-up takes some 10 us of CPU time on both sides, and what the woken worker steals is cold to it. So it pays
/// where what has been found takes 20 times as long. How long the coroutine behind one operation takes is measured from
/// where operations were found until the worker has nothing left to do.
class event_steps {
public:
    static constexpr clock_tick worth_a_wake = 200'000;
    static constexpr clock_tick first = 25'000;  // until something has been measured
    static constexpr clock_tick least = 500;
    static constexpr clock_tick most = worth_a_wake;

    /// The worker had nothing to do, and finds `found` that have ended. 0: it found something else, which is not
    /// measured.
    void begin(clock_tick now, std::size_t found) noexcept {
        began_ = now;
        found_ = found;
    }
    /// It finds more on its way.
    void add(std::size_t found) noexcept {
        if (found_ != 0) found_ += found;
    }
    /// It has nothing to do. The middle one of many measures counts, not their mean: a worker that lost its processor
    /// now and then measures that, too.
    void end(clock_tick now) noexcept {
        if (found_ == 0) return;
        const bool longer = (now - began_) / found_ > one_;
        one_ = std::clamp(longer ? one_ + one_ / 16 : one_ - one_ / 16, least, most);
        found_ = 0;
    }

    [[nodiscard]] clock_tick one() const noexcept { return one_; }
    [[nodiscard]] bool are_worth_a_wake(std::size_t queued) const noexcept { return queued * one_ >= worth_a_wake; }

private:
    clock_tick began_ = 0;
    std::size_t found_ = 0;  // 0: nothing is measured now
    clock_tick one_ = first;
};

}  // namespace coflux::detail

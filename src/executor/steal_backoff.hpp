// How long a thief leaves all victims alone before its next theft: where what it steals is worth less than a theft costs.
#pragma once

#include <algorithm>

#include <coflux/time/clock.hpp>

namespace coflux::detail {

/// The policy of a thief, without a clock: the caller passes times, in nanoseconds. One thread.
///
/// Moving a coroutine between cores costs some five cache lines, and a call that interrupts the victim. What a theft
/// brings beyond that is credit for those that bring less: of an unbalanced tree most stolen nodes are leaves, and the
/// others are worth them all. A thief without credit waits.
class steal_backoff {
public:
    static constexpr clock_tick cost = 1'000;
    static constexpr clock_tick most_credit = 64'000;  // a long time of large thefts stands for as many trivial ones
    static constexpr clock_tick first = 2'000;         // doubled each time
    static constexpr clock_tick longest = 32'000;

    /// What was stolen has kept the thief at work for so long.
    void theft_ended(clock_tick lasted) noexcept {
        const clock_tick credit = credit_ + std::min(lasted, most_credit);
        credit_ = std::min(credit - std::min(credit, cost), most_credit);
        wait_ = credit < cost ? next() : 0;
    }
    /// What the thief saw was popped meanwhile, and its fence has interrupted the victim for nothing.
    void lost_a_race() noexcept { wait_ = next(); }
    /// The thief parks: what it finds afterwards has been there for a while.
    void parked() noexcept { wait_ = 0; }

    [[nodiscard]] clock_tick wait() const noexcept { return wait_; }

private:
    [[nodiscard]] clock_tick next() const noexcept { return std::clamp(wait_ * 2, first, longest); }

    clock_tick wait_ = 0;
    clock_tick credit_ = 0;
};

}  // namespace coflux::detail

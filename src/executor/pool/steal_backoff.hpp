// How long a thief leaves all victims alone before its next theft: where what it steals is worth less than a theft
// costs.
#pragma once

#include <algorithm>
#include <cstdint>

#include <coflux/time/clock.hpp>

#include "typical_time.hpp"

namespace coflux::detail {

/// The policy of a thief, without a clock: the caller passes times, in nanoseconds. One thread.
///
/// Moving a coroutine between cores costs some five cache lines. A theft of what is private to the victim calls a heavy
/// fence as well, which holds up the thief, and the victim for as long: 0.3 us on some machines and 11 us
/// on a virtual one, so it is measured. The gain of a theft beyond its cost is credit for those that bring less: in an
/// unbalanced tree most stolen nodes are leaves, and the others are worth them all. A thief without credit waits.
class steal_backoff {
public:
    static constexpr clock_tick lines_cost = 1'000;
    static constexpr clock_tick longest = 32;               // thefts that would have cost as much
    static constexpr clock_tick most_credit = 2 * longest;  // thefts: of many large ones no more counts
    static constexpr clock_tick first = 2 * lines_cost;     // doubled each time

    /// The fence of a theft took so long.
    void fence_took(clock_tick t) noexcept { fence_.add(t); }
    /// The side that orders a theft and the owner's pops.
    enum class by : std::uint8_t { owner, fence };
    /// The thief has stolen something, or has lost a race.
    void stole(by order) noexcept { cost_ = lines_cost + (order == by::fence ? fence_of_both() : 0); }
    /// So long a thief waits for a victim that it has asked to share, before it calls the fence.
    [[nodiscard]] clock_tick patience() const noexcept { return fence_of_both(); }
    /// The stolen coroutine has kept the thief at work for so long.
    void theft_ended(clock_tick lasted) noexcept {
        const clock_tick most = most_credit * cost_;
        const clock_tick credit = std::min(credit_, most) + std::min(lasted, most);
        credit_ = std::min(credit - std::min(credit, cost_), most);
        wait_ = credit < cost_ ? next() : 0;
    }
    /// The fork that the thief saw was popped meanwhile, and its fence has held up the victim for nothing.
    void lost_a_race() noexcept { wait_ = next(); }
    /// The thief parks: what it finds afterwards has been there for a while.
    void parked() noexcept { wait_ = 0; }

    [[nodiscard]] clock_tick wait() const noexcept { return wait_; }
    /// The cost of the last theft.
    [[nodiscard]] clock_tick cost() const noexcept { return cost_; }
    [[nodiscard]] clock_tick longest_wait() const noexcept { return longest * cost_; }

private:
    [[nodiscard]] clock_tick next() const noexcept { return std::clamp(wait_ * 2, first, longest_wait()); }

    [[nodiscard]] clock_tick fence_of_both() const noexcept { return 2 * fence_.now(); }

    clock_tick cost_ = lines_cost;
    clock_tick wait_ = 0;
    clock_tick credit_ = 0;
    typical_time fence_{lines_cost};
};

}  // namespace coflux::detail

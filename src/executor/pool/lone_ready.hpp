// The ready coroutines of a victim that a thief may take: not those that wake each other, or that the victim is about
// to take itself.
#pragma once

#include <cstdint>

#include <coflux/base/ready_ring.hpp>
#include <coflux/time/clock.hpp>

namespace coflux::detail {

/// The policy of a thief, without a clock: the caller passes the time. One thread.
///
/// Two coroutines that wake each other are in the queue of one worker, one or both of them. If a thief takes one to
/// another core, each works with what the other core has written. So a thief leaves up to two, unless
///
/// * the first lies there at a second glance, and a timer or an event has woken it; or
/// * it lies there for longer than a few steps of its worker take, which computes; or
/// * the worker has taken several, most of which had yielded, and two are there: they do not wait for each other.
class lone_ready {
public:
    static constexpr std::uint64_t pair = 2;
    static constexpr std::uint64_t several = 8;
    static constexpr std::uint64_t most = 8 * several;

    /// True if the thief may take the first of those that are ready at `victim`: it sees them `now`, at the time `at`.
    [[nodiscard]] bool may_be_taken(const void* victim, const ready_ring::glance& now, clock_tick at,
                                    clock_tick few_steps) noexcept {
        if (now.size == 0 || now.size > pair) {
            if (victim == victim_) victim_ = nullptr;
            return now.size != 0;
        }
        if (victim_ == nullptr) {
            victim_ = victim;
            first_ = now;
            taken_ = now.taken;
            changed_at_ = at;
            return false;
        }
        if (victim != victim_) return false;
        if (now.taken == taken_ && (now.taken < now.woken_elsewhere || at - changed_at_ >= few_steps)) return true;
        if (now.taken != taken_) changed_at_ = at;
        taken_ = now.taken;
        const std::uint64_t taken = now.taken - first_.taken;
        if (taken < several) return false;
        const bool yield = (now.yields - first_.yields) * 4 >= taken * 3;
        if (!yield || taken >= most) victim_ = nullptr;  // another victim may be the next
        return yield && now.size == pair;
    }

private:
    const void* victim_ = nullptr;  // nullptr: none is watched
    ready_ring::glance first_{};    // of it
    std::uint64_t taken_ = 0;       // of the last glance that saw a change
    clock_tick changed_at_ = 0;
};

}  // namespace coflux::detail

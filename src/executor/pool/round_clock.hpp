// How long a worker's rounds are, and when its oldest fork is due: law 8 in time.
#pragma once

#include <algorithm>
#include <cstdint>

#include <coflux/base/atomic.hpp>
#include <coflux/time/clock.hpp>
#include <coflux/time/detail/cycles.hpp>

namespace coflux::detail {

/// The policy of a worker, without a clock: the caller passes the time. One thread.
///
/// Before a round those of high priority go, for as long as three rounds take at most; a round that begins with one of
/// low priority, or with the oldest fork, comes where that has waited for `oldest_after`.
///
/// A round has as many ticks as take `round_time`, a fortieth of the bound, at the pace of the last ones, `most_ticks`
/// at most, and two at least: one for what comes in turn, one for the newest fork. The clock is read between rounds,
/// and only when as many cycles have passed as `round_time` has nanoseconds: once in tens of rounds of short steps.
class round_clock {
public:
    static constexpr std::int32_t most_ticks = 61;
    static constexpr std::int32_t high_rounds = 3;  // of high priority, to one of the others

    /// `bound`: how long the oldest fork may wait, in nanoseconds. A round is much shorter: what came from outside,
    /// what is ready and a timer wait for one or two.
    explicit round_clock(clock_tick bound = 1'000'000) noexcept : round_time(bound / 40), oldest_after(bound / 4 * 3) {}

    /// True if the caller should read the clock and call look().
    [[nodiscard]] bool wants_a_look(std::uint64_t cycles) const noexcept {
        return cycles - looked_at_cycle_ >= round_time;
    }
    void look(clock_tick now, std::uint64_t cycles) noexcept {
        if (ticks_since_ != 0) {
            const clock_tick pace = (now - looked_at_) / static_cast<clock_tick>(ticks_since_) + 1;
            const auto fitting = static_cast<std::int32_t>(std::clamp<clock_tick>(round_time / pace, 2, most_ticks));
            // A few short steps do not end a time of long ones.
            ticks_.store(std::min(fitting, ticks() * 2), memory_order_relaxed);
        }
        ticks_since_ = 0;
        looked_at_ = now;
        looked_at_cycle_ = cycles;
    }
    /// The ticks of the round that begins.
    [[nodiscard]] std::int32_t begin_round() noexcept {
        ticks_since_ += ticks();
        high_steps_ = 0;
        aside_went_ = false;
        return ticks();
    }
    /// The ticks of a round whose steps do not count for the pace.
    [[nodiscard]] std::int32_t ticks() const noexcept { return ticks_.load(memory_order_relaxed); }
    /// Any thread: a few steps at the pace of the last ones, a round at most. A hint.
    [[nodiscard]] clock_tick few_steps() const noexcept {
        return std::min(4 * round_time / static_cast<clock_tick>(ticks()), round_time);
    }
    /// Asked before begin_round(), where a coroutine of high priority waits: true if it goes before the round to come.
    [[nodiscard]] bool high_is_due() const noexcept { return high_steps_ < high_rounds * ticks(); }
    void serve_high() noexcept {
        ++high_steps_;
        ++ticks_since_;
    }
    /// Asked before begin_round(): true if the oldest fork is the first of the round to come. Two rounds in a row
    /// begin neither with that nor with one of low priority, so that with the longest steps the other sources have
    /// their turn.
    [[nodiscard]] bool oldest_is_due() const noexcept {
        return !aside_went_ && looked_at_ - oldest_served_at_ >= oldest_after;
    }
    /// After begin_round(), as serve_low().
    void serve_oldest() noexcept {
        oldest_served_at_ = looked_at_;
        aside_went_ = true;
    }
    /// The same where one of low priority waits. It goes before an oldest fork that was served after the last of those.
    [[nodiscard]] bool low_is_due() const noexcept {
        return !aside_went_ && looked_at_ - low_served_at_ >= oldest_after &&
               (low_served_at_ <= oldest_served_at_ || !oldest_is_due());
    }
    void serve_low() noexcept {
        low_served_at_ = looked_at_;
        aside_went_ = true;
    }
    /// None of low priority waits.
    void rest_low() noexcept { low_served_at_ = looked_at_; }
    /// The worker had nothing queued, and has found something. It keeps the pace that it had.
    void restart(clock_tick now) noexcept {
        looked_at_ = oldest_served_at_ = low_served_at_ = now;
        ticks_since_ = 0;
    }

    const clock_tick round_time;
    const clock_tick oldest_after;

private:
    clock_tick looked_at_ = 0;
    clock_tick oldest_served_at_ = 0;
    clock_tick low_served_at_ = 0;  // or found that none waited
    std::uint64_t looked_at_cycle_ = 0;
    std::int32_t ticks_since_ = 0;            // of the rounds that began since the last look
    atomic<std::int32_t> ticks_{most_ticks};  // of a round; written by its own thread
    std::int32_t high_steps_ = 0;             // since the last round
    bool aside_went_ = false;                 // the oldest fork, or one of low priority, in this round
};

}  // namespace coflux::detail

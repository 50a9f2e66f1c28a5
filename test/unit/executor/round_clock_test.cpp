// Law 8 in time, without a clock: what the policy of a worker's rounds bounds.
#include "../../../src/executor/round_clock.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace {

using coflux::detail::clock_tick;
using coflux::detail::round_clock;

constexpr clock_tick millisecond = 1'000'000;

/// A worker whose maker forks and awaits for ever, in virtual time: `step(i)` is what step i takes.
struct played_worker {
    clock_tick now = 1'000'000'000;
    std::int32_t budget = 0;
    clock_tick served = now;
    clock_tick longest_wait = 0;
    clock_tick longest_round = 0;
    std::size_t looks = 0;
    int row = 0;  // rounds in a row that began with the oldest
    int longest_row = 0;
    round_clock rounds;

    played_worker() { rounds.restart(now); }
    /// The first round, at an unknown pace.
    void warm_up(clock_tick step) {
        play(round_clock::most_ticks + 1, [step](std::size_t) { return step; });
        longest_round = longest_wait = 0;
    }
    template <typename Step>
    void play(std::size_t steps, Step step) {
        clock_tick round_began = now;
        for (std::size_t i = 0; i < steps; ++i) {
            if (budget == 0) {
                longest_round = std::max(longest_round, now - round_began);
                round_began = now;
                between_rounds();
            }
            --budget;
            now += step(i);
        }
    }
    void between_rounds() {
        const std::uint64_t cycles = now * 3;  // 3 GHz
        if (rounds.wants_a_look(cycles)) {
            ++looks;
            rounds.look(now, cycles);
        }
        const bool oldest_first = rounds.oldest_is_due();
        budget = rounds.begin_round();
        if (oldest_first) {
            rounds.serve_oldest();
            longest_wait = std::max(longest_wait, now - served);
            served = now;
            longest_row = std::max(longest_row, ++row);
        } else {
            row = 0;
        }
    }
};

TEST(round_clock, serves_the_oldest_within_a_millisecond_and_a_step) {
    for (const clock_tick step : {3, 10, 100, 1'000, 10'000, 20'000, 100'000, 500'000, 900'000, 3'000'000}) {
        played_worker w;
        w.warm_up(step);
        w.play(std::min<std::size_t>(20'000'000, 100 * millisecond / step + 10), [step](std::size_t) { return step; });
        EXPECT_GT(w.longest_wait, 0U) << step;
        EXPECT_LE(w.longest_wait, millisecond + (step <= 100'000 ? 1 : 4) * step) << step;
        EXPECT_EQ(w.longest_row, 1) << step;
    }
}

TEST(round_clock, serves_it_no_more_often_than_its_period) {
    played_worker w;
    clock_tick last = w.now;
    for (int i = 0; i < 1'000'000; ++i) {
        w.play(10, [](std::size_t) -> clock_tick { return 50; });
        if (w.served == last) continue;
        EXPECT_GE(w.served - last, w.rounds.oldest_after);
        last = w.served;
    }
}

TEST(round_clock, makes_rounds_shorter_where_steps_are_long) {
    for (const clock_tick step : {10, 1'000, 20'000, 500'000}) {
        played_worker w;
        w.warm_up(step);
        w.play(100'000, [step](std::size_t) { return step; });
        EXPECT_LE(w.longest_round, std::max(w.rounds.round_time, 2 * step)) << step;
    }
}

/// Steps that become long at once: the round that has begun ends first.
TEST(round_clock, is_late_by_one_round_where_steps_change) {
    std::mt19937_64 random(7);
    played_worker w;
    constexpr clock_tick longest = 20'000;
    for (int i = 0; i < 2'000; ++i) {
        const clock_tick step = random() % 2 == 0 ? 10 : longest;
        w.play(random() % 2'000, [step](std::size_t) { return step; });
    }
    EXPECT_LE(w.longest_wait, millisecond + round_clock::most_ticks * longest);
}

TEST(round_clock, reads_the_clock_seldom_where_steps_are_short) {
    played_worker w;
    constexpr std::size_t steps = 10'000'000;
    w.play(steps, [](std::size_t) -> clock_tick { return 10; });
    EXPECT_LE(w.looks, steps / 1'000);
}

TEST(round_clock, of_a_worker_that_was_out_of_work_begins_anew) {
    round_clock rounds;
    rounds.restart(1'000);
    rounds.look(1'000 + 2 * millisecond, 1'000'000);
    EXPECT_TRUE(rounds.oldest_is_due());
    rounds.restart(3 * millisecond);
    EXPECT_FALSE(rounds.oldest_is_due());
}

}  // namespace

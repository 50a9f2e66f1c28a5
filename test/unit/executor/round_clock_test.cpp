// Law 8 in time, without a clock: what the policy of a worker's rounds bounds.
#include "../../../src/executor/pool/round_clock.hpp"

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
    clock_tick served_low = now;
    clock_tick longest_low_wait = 0;
    bool low_waits = false;  // always
    bool high_waits = false;
    std::size_t high_steps = 0;
    std::size_t other_steps = 0;
    int row = 0;  // rounds in a row that began with the oldest, or with one of low priority
    int longest_row = 0;
    round_clock rounds;

    played_worker() { rounds.restart(now); }
    /// The first round, at an unknown pace.
    void warm_up(clock_tick step) {
        play(round_clock::most_ticks + 20, [step](std::size_t) { return step; });
        longest_round = longest_wait = longest_low_wait = 0;
        high_steps = other_steps = 0;
    }
    template <typename Step>
    void play(std::size_t steps, Step step) {
        clock_tick round_began = now;
        for (std::size_t i = 0; i < steps; ++i) {
            if (budget == 0) {
                longest_round = std::max(longest_round, now - round_began);
                round_began = now;
                for (look_at_clock(); high_waits && rounds.high_is_due(); look_at_clock()) {
                    rounds.serve_high();
                    ++high_steps;
                    now += step(i);
                }
                between_rounds();
            }
            --budget;
            ++other_steps;
            now += step(i);
        }
    }
    void look_at_clock() {
        const std::uint64_t cycles = now * 3;  // 3 GHz
        if (rounds.wants_a_look(cycles)) {
            ++looks;
            rounds.look(now, cycles);
        }
    }
    void between_rounds() {
        if (!low_waits) rounds.rest_low();
        const bool low_first = low_waits && rounds.low_is_due();
        const bool oldest_first = rounds.oldest_is_due();
        budget = rounds.begin_round();
        if (low_first) {
            rounds.serve_low();
            longest_low_wait = std::max(longest_low_wait, now - served_low);
            served_low = now;
            longest_row = std::max(longest_row, ++row);
        } else if (oldest_first) {
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

constexpr clock_tick all_steps[] = {3, 10, 100, 1'000, 10'000, 20'000, 100'000, 500'000, 900'000, 3'000'000};

TEST(round_clock, serves_low_and_the_oldest_by_turns_within_a_millisecond_and_a_step) {
    for (const clock_tick step : all_steps) {
        played_worker w;
        w.low_waits = true;
        w.warm_up(step);
        w.play(std::min<std::size_t>(20'000'000, 100 * millisecond / step + 20), [step](std::size_t) { return step; });
        EXPECT_GT(w.longest_low_wait, 0U) << step;
        EXPECT_LE(w.longest_low_wait, millisecond + (step <= 100'000 ? 1 : 8) * step) << step;
        EXPECT_LE(w.longest_wait, millisecond + (step <= 100'000 ? 1 : 8) * step) << step;
        EXPECT_EQ(w.longest_row, 1) << step;
    }
}

TEST(round_clock, gives_high_three_rounds_to_one_of_the_others) {
    for (const clock_tick step : all_steps) {
        played_worker w;
        w.low_waits = w.high_waits = true;
        w.warm_up(step);
        w.play(std::min<std::size_t>(4'000'000, 100 * millisecond / step + 20), [step](std::size_t) { return step; });
        const std::size_t share = w.high_steps / w.other_steps;
        EXPECT_TRUE(share == 2 || share == 3) << step << ": " << w.high_steps << " to " << w.other_steps;
        EXPECT_LE(w.longest_low_wait, millisecond + 32 * step) << step;
        EXPECT_LE(w.longest_wait, millisecond + 32 * step) << step;
    }
}

/// Steps of high that become long at once.
TEST(round_clock, gives_high_six_steps_that_are_long_at_once) {
    played_worker w;
    w.warm_up(10);
    std::size_t in_a_row = 0;
    w.budget = 0;
    for (w.look_at_clock(); w.rounds.high_is_due(); w.look_at_clock()) {
        w.rounds.serve_high();
        w.now += millisecond;
        ++in_a_row;
    }
    EXPECT_EQ(in_a_row, 6U);
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
    EXPECT_LE(w.looks, steps * 10 / w.rounds.round_time * 3 + 1);  // 10 ns a step, and 3 cycles a nanosecond
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

#include <coflux/time/detail/timing_wheel.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using coflux::detail::timer_callback;
using coflux::detail::timer_node;
using coflux::detail::timing_wheel;

constexpr unsigned levels = 11;
constexpr std::uint64_t never = timing_wheel::never;

static_assert(sizeof(timer_node) == 24);
static_assert(timer_callback<void (*)(timer_node&) noexcept>);
static_assert(!timer_callback<void (*)(timer_node&)>, "what throws would lose the timers behind it");

/// The width of a slot of `level` in ticks.
constexpr std::uint64_t width(unsigned level) {
    return std::uint64_t{1} << (6 * level);
}

/// Advances `wheel`, and gives the timers handed out in their order.
std::vector<timer_node*> advance(timing_wheel& wheel, std::uint64_t now) {
    std::vector<timer_node*> out;
    const std::size_t calls = wheel.advance(now, [&](timer_node& timer) noexcept {
        EXPECT_FALSE(timer.armed());
        EXPECT_LE(timer.deadline(), wheel.now());
        out.push_back(&timer);
    });
    EXPECT_EQ(calls, out.size());
    return out;
}

using timers = std::vector<timer_node*>;

TEST(timing_wheel, expires_a_timer_at_its_tick_and_not_before_at_every_level) {
    for (unsigned level = 0; level < levels; ++level) {
        for (const std::uint64_t start : {std::uint64_t{0}, width(level) - 1, width(level), width(level) * 2 + 1}) {
            for (const std::uint64_t deadline :
                 {start + width(level) - 1, start + width(level), start + width(level) + 1}) {
                if (deadline <= start) continue;
                timing_wheel wheel(start);
                timer_node timer;
                wheel.insert(timer, deadline);
                EXPECT_EQ(wheel.next_deadline(), deadline);
                EXPECT_EQ(advance(wheel, deadline - 1), timers{});
                EXPECT_EQ(wheel.next_deadline(), deadline);
                EXPECT_TRUE(timer.armed());
                EXPECT_EQ(advance(wheel, deadline), timers{&timer});
                EXPECT_TRUE(wheel.empty());
                EXPECT_EQ(wheel.next_deadline(), never);
                EXPECT_EQ(wheel.now(), deadline);
            }
        }
    }
}

TEST(timing_wheel, expires_in_order_of_the_deadlines_in_one_advance_over_everything) {
    std::vector<std::uint64_t> deadlines;
    for (unsigned level = 0; level < levels; ++level) {
        for (std::uint64_t digit = 1; digit < (level == levels - 1 ? 16U : 64U); digit += 7) {
            deadlines.insert(deadlines.end(),
                             {digit * width(level), digit * width(level) + 1, digit * width(level) - 1});
        }
    }
    // Zero is late at once; the rest are armed from the latest to the earliest.
    std::sort(deadlines.begin(), deadlines.end());
    std::vector<timer_node> nodes(deadlines.size());
    timing_wheel wheel;
    for (std::size_t i = nodes.size(); i-- > 0;) wheel.insert(nodes[i], deadlines[i]);
    const timers out = advance(wheel, never);
    ASSERT_EQ(out.size(), nodes.size());
    for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i]->deadline(), deadlines[i]);
}

TEST(timing_wheel, expires_equal_deadlines_in_the_order_of_their_arming_from_whatever_distance) {
    const std::uint64_t deadline = width(4) * 3 + width(2) * 5 + 7;
    std::array<timer_node, 10> nodes;
    timing_wheel wheel;
    const std::uint64_t times[] = {0,
                                   1,
                                   width(4),
                                   width(4) * 3,
                                   deadline - width(2),
                                   deadline - width(1),
                                   deadline - 8,
                                   deadline - 2,
                                   deadline - 1,
                                   deadline};
    timers armed;
    for (std::size_t i = 0; i + 1 < nodes.size(); ++i) {
        EXPECT_EQ(advance(wheel, times[i]), timers{});
        wheel.insert(nodes[i], deadline);
        armed.push_back(&nodes[i]);
    }
    EXPECT_EQ(advance(wheel, deadline), armed);
}

TEST(timing_wheel, counts_a_deadline_that_has_passed_as_now) {
    timing_wheel wheel(1000);
    timer_node after;
    timer_node past;
    timer_node long_past;
    timer_node at_once;
    wheel.insert(after, 1001);
    wheel.insert(past, 999);
    wheel.insert(long_past, 0);
    wheel.insert(at_once, 1000);
    EXPECT_EQ(wheel.next_deadline(), 1000U);
    EXPECT_EQ(advance(wheel, 2000), (timers{&past, &long_past, &at_once, &after}));
}

TEST(timing_wheel, hands_out_what_is_late_even_if_time_stands_still) {
    timing_wheel wheel(1000);
    timer_node timer;
    wheel.insert(timer, 1000);
    EXPECT_EQ(advance(wheel, 1000), timers{&timer});
}

TEST(timing_wheel, takes_an_earlier_present_for_the_latest_it_was_given) {
    timing_wheel wheel;
    timer_node timer;
    EXPECT_EQ(advance(wheel, 500), timers{});
    wheel.insert(timer, 600);
    EXPECT_EQ(advance(wheel, 100), timers{});
    EXPECT_EQ(wheel.now(), 500U);
    EXPECT_EQ(advance(wheel, 600), timers{&timer});
}

TEST(timing_wheel, keeps_nanoseconds_of_centuries_to_the_tick) {
    const std::uint64_t year = std::uint64_t{365} * 24 * 3600 * 1'000'000'000;
    timing_wheel wheel(123'456'789);
    std::array<timer_node, 4> nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) wheel.insert(nodes[i], wheel.now() + 100 * year * (i + 1));
    for (timer_node& node : nodes) {
        EXPECT_EQ(wheel.next_deadline(), node.deadline());
        EXPECT_EQ(advance(wheel, node.deadline() - 1), timers{});
        EXPECT_EQ(advance(wheel, node.deadline()), timers{&node});
    }
}

TEST(timing_wheel, passes_an_age_in_which_nothing_is_due_at_once) {
    timing_wheel wheel;
    timer_node last;
    wheel.insert(last, never);
    // With a cost for each tick, or for each slot of a low level, this would take years.
    for (std::uint64_t now = 1; now < never / 2; now *= 2) EXPECT_EQ(advance(wheel, now), timers{});
    EXPECT_EQ(advance(wheel, never - 1), timers{});
    EXPECT_EQ(advance(wheel, never), timers{&last});
}

TEST(timing_wheel, says_that_a_cancelled_timer_was_armed_and_no_other) {
    timing_wheel wheel;
    timer_node timer;
    EXPECT_FALSE(wheel.cancel(timer));
    wheel.insert(timer, 10);
    EXPECT_TRUE(timer.armed());
    EXPECT_TRUE(wheel.cancel(timer));
    EXPECT_FALSE(wheel.cancel(timer));
    EXPECT_TRUE(wheel.empty());
    EXPECT_EQ(advance(wheel, 100), timers{});
    wheel.insert(timer, 110);
    EXPECT_EQ(advance(wheel, 110), timers{&timer});
    EXPECT_FALSE(wheel.cancel(timer));
}

TEST(timing_wheel, gives_the_next_deadline_exactly_while_nothing_is_cancelled) {
    timing_wheel wheel;
    std::array<timer_node, 3> nodes;
    wheel.insert(nodes[0], width(3) * 5 + 100);
    wheel.insert(nodes[1], width(3) * 5 + 3);
    wheel.insert(nodes[2], width(5) * 5);
    EXPECT_EQ(wheel.next_deadline(), width(3) * 5 + 3);
    EXPECT_EQ(advance(wheel, width(3) * 5 + 3), timers{&nodes[1]});
    EXPECT_EQ(wheel.next_deadline(), width(3) * 5 + 100);
    EXPECT_EQ(advance(wheel, width(3) * 5 + 100), timers{&nodes[0]});
    EXPECT_EQ(wheel.next_deadline(), width(5) * 5);
    wheel.cancel(nodes[2]);
    EXPECT_EQ(wheel.next_deadline(), never);
}

TEST(timing_wheel, wakes_in_vain_once_for_all_that_were_cancelled_in_a_slot) {
    timing_wheel wheel;
    std::array<timer_node, 100> cancelled;
    timer_node last;
    for (std::size_t i = 0; i < cancelled.size(); ++i) wheel.insert(cancelled[i], width(7) * 5 + i * width(5));
    wheel.insert(last, width(7) * 6 - 1);
    for (timer_node& timer : cancelled) wheel.cancel(timer);
    EXPECT_EQ(wheel.next_deadline(), width(7) * 5) << "the bound is not exact, or the test is in vain";
    EXPECT_EQ(advance(wheel, wheel.next_deadline()), timers{});
    EXPECT_EQ(wheel.next_deadline(), last.deadline());
    EXPECT_EQ(advance(wheel, last.deadline()), timers{&last});
}

TEST(timing_wheel, moves_a_timer_at_most_once_a_level_whatever_is_cancelled_beside_it) {
    timing_wheel wheel;
    timer_node timer;
    timer_node other;
    wheel.insert(timer, never - 1);
    unsigned vain = 0;
    for (;; ++vain) {
        // The worst of neighbours: at the first tick of the slot, and gone before it comes.
        const auto level = static_cast<unsigned>(std::bit_width(timer.deadline() ^ wheel.now()) - 1) / 6;
        const std::uint64_t first_tick = timer.deadline() / width(level) * width(level);
        wheel.insert(other, first_tick);
        wheel.cancel(other);
        ASSERT_EQ(wheel.next_deadline(), first_tick);
        if (!advance(wheel, first_tick).empty()) break;
        ASSERT_LT(vain, levels);
    }
    EXPECT_EQ(vain, levels - 1);
    EXPECT_EQ(wheel.now(), timer.deadline());
}

TEST(timing_wheel, forgets_the_bound_of_a_slot_that_became_empty) {
    timing_wheel wheel;
    timer_node first;
    timer_node second;
    wheel.insert(first, width(5) + 1);
    wheel.cancel(first);
    wheel.insert(second, width(5) + 1000);
    EXPECT_EQ(wheel.next_deadline(), width(5) + 1000);
    EXPECT_EQ(advance(wheel, width(5) + 999), timers{});
    wheel.cancel(second);
}

TEST(timing_wheel, lets_a_callback_cancel_what_would_have_been_next) {
    timing_wheel wheel;
    std::array<timer_node, 4> nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) wheel.insert(nodes[i], 10 + i / 2);
    timers out;
    EXPECT_EQ(wheel.advance(20,
                            [&](timer_node& timer) noexcept {
                                out.push_back(&timer);
                                if (&timer != nodes.data()) return;
                                EXPECT_EQ(wheel.next_deadline(), wheel.now());
                                EXPECT_TRUE(wheel.cancel(nodes[1]));
                                EXPECT_TRUE(wheel.cancel(nodes[3]));
                                EXPECT_FALSE(wheel.cancel(timer));
                            }),
              2U);
    EXPECT_EQ(out, (timers{nodes.data(), &nodes[2]}));
    EXPECT_TRUE(wheel.empty());
}

TEST(timing_wheel, lets_a_callback_arm_the_timer_again_and_end_it) {
    timing_wheel wheel;
    timer_node again;
    auto* ended = new timer_node;
    wheel.insert(again, 10);
    wheel.insert(*ended, 11);
    wheel.advance(20, [&](timer_node& timer) noexcept {
        if (&timer == &again) {
            wheel.insert(again, 30);
        } else {
            delete &timer;
        }
    });
    EXPECT_EQ(wheel.next_deadline(), 30U);
    EXPECT_EQ(advance(wheel, 30), timers{&again});
}

TEST(timing_wheel, calls_a_timer_that_arms_itself_for_the_past_once_an_advance) {
    timing_wheel wheel;
    timer_node timer;
    wheel.insert(timer, 5);
    const auto arm_again = [&](timer_node& t) noexcept { wheel.insert(t, wheel.now() - 1); };
    for (std::uint64_t now = 10; now < 15; ++now) {
        EXPECT_EQ(wheel.advance(now, arm_again), 1U);
        EXPECT_EQ(wheel.next_deadline(), now);
    }
    wheel.cancel(timer);
}

TEST(timing_wheel, hands_out_in_portions_what_is_left_before_what_came_due_since) {
    timing_wheel wheel;
    std::array<timer_node, 5> nodes;
    for (std::size_t i = 0; i < 3; ++i) wheel.insert(nodes[i], 10 + i);
    wheel.insert(nodes[3], 40);
    wheel.expire(20);
    EXPECT_EQ(wheel.take(), nodes.data());
    wheel.insert(nodes[4], 3);
    EXPECT_EQ(wheel.next_deadline(), 20U);
    EXPECT_TRUE(wheel.cancel(nodes[1]));
    EXPECT_EQ(advance(wheel, 40), (timers{&nodes[2], &nodes[4], &nodes[3]}));
    EXPECT_EQ(wheel.take(), nullptr);
}

TEST(timing_wheel_death, refuses_to_arm_twice) {
    EXPECT_DEATH(
        {
            timing_wheel wheel;
            timer_node timer;
            wheel.insert(timer, 1);
            wheel.insert(timer, 2);
        },
        "a timer is armed twice");
}

TEST(timing_wheel_death, refuses_the_end_of_an_armed_timer) {
    EXPECT_DEATH(
        {
            timing_wheel wheel;
            timer_node timer;
            wheel.insert(timer, 1);
        },
        "a timer ends while it is armed");
}

TEST(timing_wheel_death, refuses_the_end_of_a_wheel_with_armed_timers) {
    EXPECT_DEATH(
        {
            timer_node timer;
            timing_wheel wheel;
            wheel.insert(timer, 1);
        },
        "a timing wheel ends while timers are armed");
}

TEST(timing_wheel_death, refuses_to_cancel_a_lone_timer_of_another_wheel) {
    EXPECT_DEATH(
        {
            timing_wheel wheels[3];
            timer_node timer;
            wheels[1].insert(timer, 1);
            wheels[timer.deadline() + 1].cancel(timer);
        },
        "in a wheel that it is not in");
    EXPECT_DEATH(
        {
            timing_wheel wheels[2];
            timer_node timer;
            wheels[1].insert(timer, 1);
            wheels[0].cancel(timer);
        },
        "in a wheel that it is not in");
}

}  // namespace

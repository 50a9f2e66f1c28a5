#include <coflux/time/detail/timer_queue.hpp>

#include <atomic>
#include <cstddef>
#include <deque>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/iterations.hpp"

namespace {

using coflux::detail::clock_tick;
using coflux::detail::executor_entry;
using coflux::detail::this_thread;
using coflux::detail::timer;
using coflux::detail::timer_queue;
using coflux::detail::timing_wheel;
using coflux_test::race_rounds;

/// Notes what happens to it, and on which thread.
class noted : public timer {
public:
    noted() noexcept : timer(how_it_ends) {}

    void arm_in(timer_queue& q, clock_tick deadline) {
        set_queue(q);
        q.arm(*this, deadline);
    }
    using timer::set_queue;

    std::atomic<int> came_due{0};
    std::thread::id on;

private:
    static void due_now(timer& t) noexcept {
        auto& self = static_cast<noted&>(t);
        self.on = std::this_thread::get_id();
        ++self.came_due;
    }
    static constexpr coflux::detail::timer_kind how_it_ends{&due_now, nullptr, "comes due"};
};

/// A queue of the test's own thread.
struct mine {
    timer_queue queue;
    clock_tick start = queue.now();

    mine() {
        this_thread.timers = &queue;
        this_thread.executor = this;
    }
    ~mine() {
        this_thread.timers = nullptr;
        this_thread.executor = nullptr;
    }
};

void elsewhere(auto f) {
    std::thread(f).join();
}

TEST(timer_queue, hands_out_what_is_due_and_nothing_early) {
    mine m;
    noted soon;
    noted late;
    soon.arm_in(m.queue, m.start + 100);
    late.arm_in(m.queue, m.start + 200);
    EXPECT_EQ(m.queue.next_deadline(), m.start + 100);
    EXPECT_EQ(m.queue.look(m.start + 99), 0U);
    EXPECT_EQ(soon.came_due, 0);
    EXPECT_EQ(m.queue.look(m.start + 100), 1U);
    EXPECT_EQ(soon.came_due, 1);
    EXPECT_FALSE(m.queue.take(soon)) << "too late";
    EXPECT_EQ(m.queue.next_deadline(), m.start + 200);
    EXPECT_EQ(m.queue.look(m.start + 300), 1U);
    EXPECT_EQ(late.came_due, 1);
    EXPECT_TRUE(m.queue.nothing_to_look_at());
}

TEST(timer_queue, lets_any_thread_take_a_timer_out_at_once_and_once) {
    mine m;
    noted own;
    noted others;
    own.arm_in(m.queue, m.start + 100);
    others.arm_in(m.queue, m.start + 100);
    EXPECT_TRUE(m.queue.take(own));
    EXPECT_FALSE(m.queue.take(own));
    elsewhere([&] {
        EXPECT_TRUE(m.queue.take(others));
        EXPECT_FALSE(m.queue.take(others));
    });
    EXPECT_TRUE(m.queue.nothing_to_look_at()) << "it does not wait for the owner";
    EXPECT_EQ(m.queue.look(m.start + 100), 0U);
    EXPECT_EQ(own.came_due + others.came_due, 0);
}

TEST(timer_queue, arms_nothing_that_is_refused) {
    mine m;
    noted t;
    t.set_queue(m.queue);
    EXPECT_FALSE(m.queue.arm(t, m.start + 100, []() noexcept { return true; }));
    EXPECT_FALSE(m.queue.take(t));
    EXPECT_TRUE(m.queue.nothing_to_look_at());
}

TEST(timer_queue, knows_the_next_deadline_whichever_thread_takes_a_timer_out) {
    mine m;
    m.queue.restart(0);  // so that each has a slot of its own, of which the wheel knows the deadline
    noted t[3];
    for (std::size_t i = 0; i < 3; ++i) t[i].arm_in(m.queue, 1000 * (3 - i));
    EXPECT_EQ(m.queue.next_deadline(), 1000U);
    elsewhere([&] { EXPECT_TRUE(m.queue.take(t[2])); });
    EXPECT_EQ(m.queue.next_deadline(), 2000U);
    elsewhere([&] { EXPECT_TRUE(m.queue.take(t[0])); });
    EXPECT_EQ(m.queue.next_deadline(), 2000U);
    elsewhere([&] { EXPECT_EQ(m.queue.look_for_owner(2000), 1U); });
    EXPECT_EQ(m.queue.next_deadline(), timing_wheel::never);
}

TEST(timer_queue, lets_another_thread_hand_out_what_its_owner_has_no_time_for) {
    mine m;
    noted t;
    t.arm_in(m.queue, m.start + 100);
    std::thread::id helper;
    elsewhere([&] {
        helper = std::this_thread::get_id();
        EXPECT_EQ(m.queue.look_for_owner(m.start + 99), 0U);
        EXPECT_EQ(m.queue.look_for_owner(m.start + 100), 1U);
    });
    EXPECT_EQ(t.came_due, 1);
    EXPECT_EQ(t.on, helper);
    EXPECT_EQ(m.queue.look(m.start + 100), 0U);
}

TEST(timer_queue, says_what_to_watch_only_while_its_owner_is_awake) {
    mine m;
    noted t;
    EXPECT_EQ(m.queue.watched_deadline(), timing_wheel::never);
    t.arm_in(m.queue, m.start + 100);
    EXPECT_EQ(m.queue.watched_deadline(), m.start + 100);
    m.queue.prepare_park();
    EXPECT_EQ(m.queue.watched_deadline(), timing_wheel::never);
    m.queue.end_park();
    EXPECT_EQ(m.queue.watched_deadline(), m.start + 100);
    EXPECT_TRUE(m.queue.take(t));
    EXPECT_EQ(m.queue.watched_deadline(), timing_wheel::never);
}

TEST(timer_queue, hands_out_in_portions_and_says_that_more_is_due) {
    mine m;
    std::deque<noted> many(3 * timer_queue::portion + 1);
    for (noted& t : many) t.arm_in(m.queue, m.start + 100);
    std::size_t looks = 0;
    for (; !m.queue.nothing_to_look_at(); ++looks) {
        EXPECT_LE(m.queue.next_deadline(), m.start + 100) << "the owner may not park on";
        EXPECT_LE(m.queue.look(m.start + 100), timer_queue::portion);
    }
    EXPECT_EQ(looks, 4U);
    for (const noted& t : many) EXPECT_EQ(t.came_due, 1);
}

TEST(timer_queue, serves_the_coroutines_of_its_own_executor_only) {
    mine m;
    int other = 0;
    const executor_entry own{nullptr, &m, nullptr, nullptr};
    const executor_entry foreign{nullptr, &other, nullptr, nullptr};
    EXPECT_EQ(timer_queue::of_thread_for(&own), &m.queue);
    EXPECT_EQ(timer_queue::of_thread_for(&foreign), nullptr);
    EXPECT_EQ(timer_queue::of_thread_for(nullptr), nullptr);
    elsewhere([&] { EXPECT_EQ(timer_queue::of_thread_for(&own), nullptr) << "not on other threads"; });
}

TEST(timer_queue_death, ends_with_timers_that_were_not_taken) {
    EXPECT_DEATH(
        {
            noted t;
            mine m;
            t.arm_in(m.queue, m.start + 100);
        },
        "an executor ends while coroutines sleep on it");
}

/// The owner arms and looks, a second thread takes timers out, a third hands out for the owner.
TEST(timer_queue, gives_each_timer_one_end_when_others_race_with_its_deadline) {
    mine m;
    const std::size_t rounds = race_rounds;
    std::deque<noted> timers(rounds);
    std::vector<std::atomic<noted*>> offered(rounds);
    std::vector<int> taken(rounds, 0);
    std::atomic<clock_tick> now{m.start};
    std::atomic<bool> over{false};
    std::thread taker([&] {
        std::mt19937 random(1);
        for (std::size_t i = 0; i < rounds; ++i) {
            noted* t = nullptr;
            while ((t = offered[i].load(std::memory_order_acquire)) == nullptr) coflux::detail::cpu_pause();
            for (unsigned pauses = random() % 8; pauses != 0; --pauses) coflux::detail::cpu_pause();
            taken[i] = m.queue.take(*t) ? 1 : 0;
        }
    });
    std::thread helper([&] {
        while (!over.load(std::memory_order_acquire)) {
            (void)m.queue.look_for_owner(now.load(std::memory_order_relaxed));
            coflux::detail::cpu_pause();
        }
    });
    for (std::size_t i = 0; i < rounds; ++i) {
        timers[i].set_queue(m.queue);
        if (i % 2 == 0) offered[i].store(&timers[i], std::memory_order_release);
        m.queue.arm(timers[i], now + 1 + i % 3);
        if (i % 2 != 0) offered[i].store(&timers[i], std::memory_order_release);
        (void)m.queue.look(++now);
    }
    taker.join();
    over.store(true, std::memory_order_release);
    helper.join();
    now += 10;
    while (!m.queue.nothing_to_look_at()) (void)m.queue.look(now);
    for (std::size_t i = 0; i < rounds; ++i) ASSERT_EQ(timers[i].came_due + taken[i], 1) << i;
}

}  // namespace

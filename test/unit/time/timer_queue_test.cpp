#include <coflux/time/timer_queue.hpp>

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
using coflux::detail::timer_kind;
using coflux::detail::timer_queue;
using coflux_test::race_rounds;

/// Notes what happens to it, and on which thread.
class noted : public timer {
public:
    noted() noexcept : timer(kind) {}

    void arm_in(timer_queue& q, clock_tick deadline) {
        ready_for(q);
        q.insert(*this, deadline);
    }
    using timer::ready_for;

    int came_due = 0;
    int went = 0;
    std::thread::id on;

private:
    static void due_now(timer& t) noexcept {
        auto& self = static_cast<noted&>(t);
        ++self.came_due;
        self.on = std::this_thread::get_id();
    }
    static void out_now(timer& t) noexcept {
        auto& self = static_cast<noted&>(t);
        ++self.went;
        self.on = std::this_thread::get_id();
    }
    static constexpr timer_kind kind{&due_now, &out_now};
};

/// A queue of the test's own thread, and how often its owner was woken.
struct mine {
    std::atomic<int> wakes{0};
    int executor = 0;
    timer_queue queue{&executor, &wakes, [](void* w) noexcept { ++*static_cast<std::atomic<int>*>(w); }};
    clock_tick start = queue.now();

    mine() { this_thread.timers = &queue; }
    ~mine() { this_thread.timers = nullptr; }
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
    EXPECT_FALSE(soon.take()) << "too late";
    EXPECT_EQ(m.queue.look(m.start + 300), 1U);
    EXPECT_EQ(late.came_due, 1);
    EXPECT_TRUE(m.queue.nothing_to_look_at());
}

TEST(timer_queue, lets_its_own_thread_take_a_timer_out_at_once) {
    mine m;
    noted t;
    t.arm_in(m.queue, m.start + 100);
    ASSERT_TRUE(t.take());
    EXPECT_FALSE(t.take()) << "once only";
    m.queue.remove(t);
    EXPECT_EQ(t.went, 1);
    EXPECT_TRUE(m.queue.nothing_to_look_at());
    EXPECT_EQ(m.queue.look(m.start + 100), 0U);
    EXPECT_EQ(t.came_due, 0);
}

TEST(timer_queue, takes_a_timer_out_on_its_own_thread_when_another_took_it) {
    mine m;
    noted t;
    t.arm_in(m.queue, m.start + 100);
    elsewhere([&] {
        ASSERT_TRUE(t.take());
        m.queue.remove(t);
    });
    EXPECT_EQ(t.went, 0) << "the wheel is not the other's to touch";
    EXPECT_FALSE(m.queue.nothing_to_look_at());
    EXPECT_EQ(m.wakes, 0) << "its owner was awake";
    EXPECT_EQ(m.queue.look(m.start), 1U);
    EXPECT_EQ(t.went, 1);
    EXPECT_EQ(t.on, std::this_thread::get_id());
    EXPECT_TRUE(m.queue.nothing_to_look_at());
}

TEST(timer_queue, does_not_fire_what_was_taken_and_has_come_due_before_its_mail) {
    mine m;
    noted t;
    t.arm_in(m.queue, m.start + 100);
    ASSERT_TRUE(t.take());
    EXPECT_EQ(m.queue.look(m.start + 200), 0U);
    EXPECT_EQ(t.came_due, 0);
    EXPECT_EQ(t.went, 0) << "it leaves when who took it says so";
    m.queue.remove(t);
    EXPECT_EQ(t.went, 1);
}

TEST(timer_queue, takes_what_was_taken_before_it_was_inserted) {
    mine m;
    noted t;
    t.ready_for(m.queue);
    elsewhere([&] {
        ASSERT_TRUE(t.take());
        m.queue.remove(t);
    });
    m.queue.insert(t, m.start + 100);
    EXPECT_EQ(m.queue.look(m.start), 1U);
    EXPECT_EQ(t.went, 1);
    EXPECT_EQ(m.queue.next_deadline(), coflux::detail::timing_wheel::never);
}

TEST(timer_queue, wakes_a_sleeping_owner_once_and_not_for_what_has_time) {
    mine m;
    noted t[4];
    for (noted& one : t) one.arm_in(m.queue, m.start + 100);
    EXPECT_FALSE(m.queue.falls_asleep());
    elsewhere([&] {
        ASSERT_TRUE(t[0].take());
        m.queue.remove_lazily(t[0]);
        EXPECT_EQ(m.wakes, 0);
        for (noted* one : {&t[1], &t[2]}) {
            ASSERT_TRUE(one->take());
            m.queue.remove(*one);
            EXPECT_EQ(m.wakes, 1);
        }
    });
    EXPECT_TRUE(m.queue.falls_asleep()) << "there is mail: no sleep";
    m.queue.wakes_up();
    EXPECT_EQ(m.queue.look(m.start), 3U);
    ASSERT_TRUE(t[3].take());
    elsewhere([&] { m.queue.remove(t[3]); });
    EXPECT_EQ(m.wakes, 1) << "it was awake";
    EXPECT_EQ(m.queue.look(m.start), 1U);
}

TEST(timer_queue, hands_out_in_portions_and_says_that_more_is_due) {
    mine m;
    std::deque<noted> many(3 * timer_queue::portion);
    for (noted& t : many) t.arm_in(m.queue, m.start + 100);
    std::deque<noted> mailed(timer_queue::portion + 1);
    for (noted& t : mailed) t.arm_in(m.queue, m.start + 100);
    elsewhere([&] {
        for (noted& t : mailed) {
            ASSERT_TRUE(t.take());
            m.queue.remove(t);
        }
    });
    std::size_t looks = 0;
    for (; !m.queue.nothing_to_look_at(); ++looks) {
        EXPECT_LE(m.queue.next_deadline(), m.start + 100) << "nobody may sleep on";
        EXPECT_LE(m.queue.look(m.start + 100), timer_queue::portion);
    }
    EXPECT_EQ(looks, 5U);
    for (const noted& t : many) EXPECT_EQ(t.came_due, 1);
    for (const noted& t : mailed) EXPECT_EQ(t.went, 1);
}

TEST(timer_queue, serves_the_coroutines_of_its_own_executor_only) {
    mine m;
    int other = 0;
    const executor_entry own{nullptr, &m.executor, nullptr, nullptr};
    const executor_entry foreign{nullptr, &other, nullptr, nullptr};
    EXPECT_EQ(timer_queue::of_thread_for(&own), &m.queue);
    EXPECT_EQ(timer_queue::of_thread_for(&foreign), nullptr);
    EXPECT_EQ(timer_queue::of_thread_for(nullptr), nullptr);
    elsewhere([&] { EXPECT_EQ(timer_queue::of_thread_for(&own), nullptr) << "not on other threads"; });
}

TEST(timer_queue, takes_out_what_is_left_in_its_mail_when_it_ends) {
    noted t;
    {
        mine m;
        t.arm_in(m.queue, m.start + 100);
        elsewhere([&] {
            ASSERT_TRUE(t.take());
            m.queue.remove_lazily(t);
        });
    }
    EXPECT_EQ(t.went, 1);
}

TEST(timer_queue_death, ends_with_timers_that_nobody_took) {
    EXPECT_DEATH(
        {
            noted t;
            mine m;
            t.arm_in(m.queue, m.start + 100);
        },
        "an executor ends while coroutines sleep on it");
}

/// Two threads race with the deadline for each timer, and the owner sleeps and wakes.
TEST(timer_queue, gives_each_timer_one_end_when_others_race_with_its_deadline) {
    mine m;
    const std::size_t rounds = race_rounds;
    std::deque<noted> timers(rounds);
    std::vector<std::atomic<noted*>> offered(rounds);
    std::atomic<std::size_t> taken{0};
    const auto rob = [&](unsigned seed) {
        std::mt19937 random(seed);
        for (std::size_t i = 0; i < rounds; ++i) {
            noted* t = nullptr;
            while ((t = offered[i].load(std::memory_order_acquire)) == nullptr) coflux::detail::cpu_pause();
            for (unsigned pauses = random() % 8; pauses != 0; --pauses) coflux::detail::cpu_pause();
            if (!t->take()) continue;
            taken.fetch_add(1, std::memory_order_relaxed);
            random() % 2 == 0 ? m.queue.remove(*t) : m.queue.remove_lazily(*t);
        }
    };
    std::thread a(rob, 1);
    std::thread b(rob, 2);
    clock_tick now = m.start;
    std::size_t ends = 0;
    for (std::size_t i = 0; i < rounds; ++i) {
        timers[i].ready_for(m.queue);
        offered[i].store(&timers[i], std::memory_order_release);
        m.queue.insert(timers[i], now + 1 + i % 3);
        ends += m.queue.look(++now);
        if (i % 16 == 0) {
            if (!m.queue.falls_asleep()) ends += m.queue.look(now);
            m.queue.wakes_up();
        }
    }
    a.join();
    b.join();
    while (!m.queue.nothing_to_look_at()) ends += m.queue.look(now += 10);
    EXPECT_EQ(ends, rounds);
    std::size_t went = 0;
    for (const noted& t : timers) {
        EXPECT_EQ(t.came_due + t.went, 1);
        went += static_cast<std::size_t>(t.went);
    }
    EXPECT_EQ(went, taken.load());
}

}  // namespace

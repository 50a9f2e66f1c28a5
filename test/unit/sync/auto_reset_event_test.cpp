#include <coflux/sync/auto_reset_event.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "by_hand.hpp"
#include "support/iterations.hpp"
#include "support/no_hang.hpp"
#include "support/witness.hpp"

namespace {

using coflux::auto_reset_event;
using coflux::borrowed;
using coflux_test::by_hand;
using coflux_test::hand;
using coflux_test::journal;
using coflux_test::lines;
using coflux_test::pool;
using coflux_test::thread_executor;

coflux::fork<void, hand> passes(coflux::environment&, borrowed<auto_reset_event> e, journal* j, std::string name) {
    co_await e->wait();
    j->write(name);
}

TEST(auto_reset_event, is_remembered_once) {
    by_hand s;
    auto_reset_event e;
    journal j;
    e.set();
    e.set();
    auto a = passes(s.env, borrowed(e), &j, "a");
    EXPECT_EQ(s.executor.run_all(), 1U) << "it does not suspend";
    auto b = passes(s.env, borrowed(e), &j, "b");
    s.drive();
    EXPECT_EQ(j.lines(), lines{"a"});
    e.set();
    s.drive();
    EXPECT_EQ(j.lines(), (lines{"a", "b"}));
    EXPECT_FALSE(e.try_wait());
}

TEST(auto_reset_event, may_be_set_from_the_start_tried_and_reset) {
    auto_reset_event e(true);
    EXPECT_TRUE(e.try_wait());
    EXPECT_FALSE(e.try_wait());
    e.set();
    e.reset();
    EXPECT_FALSE(e.try_wait());
}

TEST(auto_reset_event, lets_one_go_for_each_set_in_the_order_in_which_they_came_and_never_inside_it) {
    by_hand s;
    auto_reset_event e;
    journal j;
    auto a = passes(s.env, borrowed(e), &j, "a");
    auto b = passes(s.env, borrowed(e), &j, "b");
    auto c = passes(s.env, borrowed(e), &j, "c");
    s.drive();
    e.set();
    EXPECT_TRUE(j.lines().empty());
    s.drive();
    EXPECT_EQ(j.lines(), lines{"a"});
    e.set();
    e.set();
    s.drive();
    EXPECT_EQ(j.lines(), (lines{"a", "b", "c"}));
    EXPECT_FALSE(e.try_wait());
}

TEST(auto_reset_event_stop, before_or_during_the_wait_uses_up_no_set) {
    by_hand s;
    auto_reset_event e;
    journal j;
    auto before = passes(s.env, borrowed(e), &j, "before");
    before.request_stop();
    auto during = passes(s.env, borrowed(e), &j, "during");
    auto last = passes(s.env, borrowed(e), &j, "last");
    s.drive();
    EXPECT_TRUE(before.done());
    during.request_stop();
    e.set();
    s.drive();
    EXPECT_TRUE(during.done());
    EXPECT_EQ(j.lines(), lines{"last"});
}

TEST(auto_reset_event_stop, of_all_that_wait_leaves_an_event_that_remembers) {
    by_hand s;
    auto_reset_event e;
    journal j;
    auto a = passes(s.env, borrowed(e), &j, "a");
    s.drive();
    a.request_stop();
    e.set();
    s.drive();
    EXPECT_TRUE(j.lines().empty());
    EXPECT_TRUE(e.try_wait());
}

TEST(auto_reset_event_stop, after_it_was_let_go_takes_nothing_back) {
    by_hand s;
    auto_reset_event e;
    journal j;
    auto a = passes(s.env, borrowed(e), &j, "a");
    s.drive();
    e.set();
    a.request_stop();
    s.drive();
    EXPECT_EQ(j.lines(), lines{"a"});
}

struct mailbox {
    auto_reset_event changed;
    coflux::auto_reset_event read;
    std::atomic<std::size_t> letter{0};  // relaxed: the event is all that publishes it
};

/// Twice in a row: the second set() finds the event set, or just taken.
coflux::fork<void, thread_executor> posts(coflux::environment&, borrowed<mailbox> box, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        box->letter.store(2 * i + 1, std::memory_order_relaxed);
        box->changed.set();
        for (std::size_t k = 0; k < i % 31; ++k) coflux::detail::cpu_pause();
        box->letter.store(2 * i + 2, std::memory_order_relaxed);
        box->changed.set();
        co_await box->read.wait();
    }
}

TEST(auto_reset_event, loses_no_set_on_another_thread) {
    constexpr std::size_t rounds = coflux_test::repetitions(40'000);
    pool threads{1};
    thread_executor other;
    auto env = coflux::make_environment(threads, other);
    const auto root = [](coflux::environment&) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        mailbox box;
        auto f = posts(here, borrowed(box), rounds);
        for (std::size_t i = 0; i < rounds; ++i) {
            while (box.letter.load(std::memory_order_relaxed) != 2 * i + 2) {
                co_await box.changed.wait();
            }
            box.read.set();
        }
        co_await std::move(f);
    };
    root(env).get();
}

coflux::fork<void, thread_executor> sets(coflux::environment&, borrowed<auto_reset_event> e, std::size_t dawdles) {
    for (std::size_t i = 0; i < dawdles % 31; ++i) coflux::detail::cpu_pause();
    e->set();
    co_return;
}

TEST(auto_reset_event, may_be_destroyed_by_the_woken_waiter_while_set_returns) {
    constexpr std::size_t rounds = coflux_test::repetitions(40'000);
    pool threads{1};
    thread_executor other;
    auto env = coflux::make_environment(threads, other);
    const auto root = [](coflux::environment&) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        for (std::size_t i = 0; i < rounds; ++i) {
            auto e = std::make_unique<auto_reset_event>();
            auto f = sets(here, borrowed(*e), i / 31);
            for (std::size_t k = 0; k < i % 31; ++k) coflux::detail::cpu_pause();
            co_await e->wait();
            e.reset();
            co_await std::move(f);
        }
    };
    root(env).get();
}

void dies_with_a_waiter() {
    coflux_test::die_rather_than_hang();
    by_hand s;
    auto e = std::make_unique<auto_reset_event>();
    journal j;
    auto f = passes(s.env, borrowed(*e), &j, "f");
    s.drive();
    e.reset();
}

TEST(auto_reset_event_death, of_one_in_which_a_coroutine_waits_is_refused) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(dies_with_a_waiter(), "an auto_reset_event was destroyed while coroutines wait for it");
}

}  // namespace

#include <coflux/channel/channel.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "by_hand.hpp"
#include "support/no_hang.hpp"
#include "support/witness.hpp"

namespace {

using coflux::borrowed;
using coflux_test::by_hand;
using coflux_test::receives;
using coflux_test::sends;
using coflux_test::sends_from;
using pool = coflux::thread_pool_executor;

template <std::size_t N>
void passes_in_order() {
    by_hand h;
    coflux::channel<int[N]> ch;
    h.run([](coflux::environment&, borrowed<coflux::channel<int[N]>> c) -> by_hand::task<void> {
        int next = 0;
        for (int round = 0; round < 20; ++round) {
            const int first = next;
            for (std::size_t i = 0; i < N; ++i) EXPECT_TRUE(co_await c->send(next++));
            for (std::size_t i = 0; i < N; ++i) {
                const auto v = co_await c->receive();
                EXPECT_EQ(v, first + static_cast<int>(i));
            }
            if (round % 2 == 0) {  // so that the oldest is at every slot once
                EXPECT_TRUE(co_await c->send(next++));
                EXPECT_EQ(co_await c->receive(), next - 1);
            }
        }
    }(h.env, borrowed(ch)));
}

TEST(channel, gives_values_in_the_order_in_which_they_were_sent_whatever_its_capacity) {
    passes_in_order<1>();
    passes_in_order<2>();
    passes_in_order<3>();
    passes_in_order<7>();
}

TEST(channel, has_the_seeds_spelling) {
    by_hand h;
    coflux::channel<std::string[2]> ch;
    h.run([](coflux::environment&, borrowed<coflux::channel<std::string[2]>> c) -> by_hand::task<void> {
        const std::string hello = "hello";
        std::string v = "world";
        EXPECT_TRUE(co_await (*c << hello));
        EXPECT_TRUE(co_await (*c << std::move(v)));
        EXPECT_TRUE(co_await (*c >> v));
        EXPECT_EQ(v, "hello");
        EXPECT_TRUE(co_await (*c >> v));
        EXPECT_EQ(v, "world");
        c->close();
        EXPECT_FALSE(co_await (*c << hello));
        EXPECT_FALSE(co_await (*c >> v));
        EXPECT_EQ(v, "world") << "untouched";
    }(h.env, borrowed(ch)));
}

TEST(channel, has_names_for_the_seeds_spelling) {
    static_assert(std::is_same_v<coflux::bounded_channel<std::string, 2>, coflux::channel<std::string[2]>>);
    static_assert(std::is_same_v<coflux::rendezvous_channel<std::string>, coflux::channel<std::string[]>>);
    coflux::bounded_channel<int, 1> one;
    EXPECT_TRUE(one.try_send(1));
    EXPECT_FALSE(one.try_send(2));
    EXPECT_EQ(one.try_receive(), 1);
    coflux::rendezvous_channel<int> none;
    EXPECT_FALSE(none.try_send(1));
    const coflux::channel_receiver<coflux::bounded_channel<int, 1>> rx = one.receiver();
    EXPECT_FALSE(rx.closed());
}

TEST(channel, that_is_full_makes_senders_wait_and_serves_them_first_come_first_served) {
    by_hand h;
    coflux::channel<int[2]> ch;
    ASSERT_TRUE(ch.try_send(1));
    ASSERT_TRUE(ch.try_send(2));
    auto third = sends(h.env, borrowed(ch), 3);
    auto fourth = sends(h.env, borrowed(ch), 4);
    h.drive();
    EXPECT_FALSE(third.done());
    EXPECT_FALSE(fourth.done());
    EXPECT_EQ(ch.try_receive(), 1);
    EXPECT_EQ(h.executor.pending(), 1U) << "one slot, one sender, and it is queued, not run";
    h.drive();
    EXPECT_TRUE(third.done());
    EXPECT_FALSE(fourth.done());
    EXPECT_FALSE(ch.try_send(5)) << "the slot is the waiting sender's";
    EXPECT_EQ(ch.try_receive(), 2);
    EXPECT_EQ(ch.try_receive(), 3);
    EXPECT_EQ(ch.try_receive(), 4);
    EXPECT_EQ(ch.try_receive(), std::nullopt);
    h.drive();
    EXPECT_TRUE(third.get());
    EXPECT_TRUE(fourth.get());
}

TEST(channel, that_is_empty_makes_receivers_wait_and_serves_them_first_come_first_served) {
    by_hand h;
    coflux::channel<int[2]> ch;
    auto first = receives(h.env, borrowed(ch));
    auto second = receives(h.env, borrowed(ch));
    h.drive();
    EXPECT_FALSE(first.done());
    EXPECT_TRUE(ch.try_send(1));
    EXPECT_EQ(ch.size(), 0U) << "handed over, not stored";
    EXPECT_EQ(h.executor.pending(), 1U) << "queued, not run inside the send";
    EXPECT_FALSE(first.done());
    EXPECT_TRUE(ch.try_send(2));
    EXPECT_TRUE(ch.try_send(3));
    h.drive();
    EXPECT_EQ(first.get(), 1);
    EXPECT_EQ(second.get(), 2);
    EXPECT_EQ(ch.try_receive(), 3);
}

// --- close

TEST(channel, close_wakes_senders_with_false_and_leaves_them_their_values) {
    by_hand h;
    coflux::channel<std::unique_ptr<int>[1]> ch;
    ASSERT_TRUE(ch.try_send(std::make_unique<int>(1)));
    auto kept = std::make_unique<int>(2);
    auto waiting = sends_from(h.env, borrowed(ch), borrowed(kept));
    h.drive();
    ch.close();
    EXPECT_EQ(h.executor.pending(), 1U) << "queued, not run inside the close";
    h.drive();
    EXPECT_FALSE(waiting.get());
    ASSERT_NE(kept, nullptr);
    auto late = sends_from(h.env, borrowed(ch), borrowed(kept));
    h.drive();
    EXPECT_FALSE(late.get());
    EXPECT_FALSE(ch.try_send(std::move(kept)));
    ASSERT_NE(kept, nullptr);
    EXPECT_EQ(*kept, 2);
    EXPECT_EQ(**ch.try_receive(), 1) << "what was sent before is received";
}

TEST(channel, close_wakes_receivers_and_lets_others_take_what_was_sent) {
    by_hand h;
    coflux::channel<int[4]> empty;
    auto waits = receives(h.env, borrowed(empty));
    auto waits_too = receives(h.env, borrowed(empty));
    h.drive();
    empty.close();
    empty.close();
    h.drive();
    EXPECT_EQ(waits.get(), std::nullopt);
    EXPECT_EQ(waits_too.get(), std::nullopt);

    coflux::channel<int[4]> filled;
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(filled.try_send(i));
    EXPECT_FALSE(filled.closed());
    filled.close();
    EXPECT_TRUE(filled.closed());
    EXPECT_FALSE(filled.drained());
    const int sum = h.run([](coflux::environment&, borrowed<coflux::channel<int[4]>> c) -> by_hand::task<int> {
        int s = 0;
        while (auto v = co_await c->receive()) s += *v + 1;
        co_return s;
    }(h.env, borrowed(filled)));
    EXPECT_EQ(sum, 6);
    EXPECT_TRUE(filled.drained());
}

// --- stop

TEST(channel, send_that_is_stopped_has_not_sent_and_a_value_that_outlives_it_is_whole) {
    by_hand h;
    coflux::channel<std::unique_ptr<int>[1]> ch;
    ASSERT_TRUE(ch.try_send(std::make_unique<int>(1)));
    auto kept = std::make_unique<int>(2);
    auto first = sends_from(h.env, borrowed(ch), borrowed(kept));
    auto second = sends(h.env, borrowed(ch), std::make_unique<int>(3));
    h.drive();
    first.request_stop();
    h.drive();
    EXPECT_TRUE(first.done());
    EXPECT_THROW(first.get(), coflux::task_stopped);
    ASSERT_NE(kept, nullptr);
    EXPECT_EQ(*kept, 2);
    EXPECT_EQ(**ch.try_receive(), 1);
    EXPECT_EQ(**ch.try_receive(), 3) << "the next in the queue got the slot";
    h.drive();
    EXPECT_TRUE(second.get());
}

TEST(channel, receive_that_is_stopped_has_taken_nothing) {
    by_hand h;
    coflux::channel<int[1]> ch;
    auto first = receives(h.env, borrowed(ch));
    auto second = receives(h.env, borrowed(ch));
    h.drive();
    first.request_stop();
    EXPECT_TRUE(ch.try_send(1));
    h.drive();
    EXPECT_THROW(first.get(), coflux::task_stopped);
    EXPECT_EQ(second.get(), 1);
}

TEST(channel, receive_that_was_served_before_the_stop_keeps_its_value) {
    by_hand h;
    coflux::channel<int[1]> ch;
    auto waits = receives(h.env, borrowed(ch));
    h.drive();
    EXPECT_TRUE(ch.try_send(1));
    waits.request_stop();
    h.drive();
    EXPECT_EQ(waits.get(), 1);
}

TEST(channel, operations_after_a_stop_request_do_what_needs_no_wait_and_else_stop) {
    by_hand h;
    coflux::channel<int[1]> ch;
    int steps = 0;
    auto t = [](coflux::environment&, borrowed<coflux::channel<int[1]>> c, borrowed<int> n) -> by_hand::task<void> {
        EXPECT_TRUE(co_await c->send(1));
        ++*n;
        EXPECT_EQ(co_await c->receive(), 1);
        ++*n;
        (void)co_await c->receive();
        ++*n;
    }(h.env, borrowed(ch), borrowed(steps));
    t.request_stop();
    h.drive();
    EXPECT_THROW(t.get(), coflux::task_stopped);
    EXPECT_EQ(steps, 2);
    EXPECT_TRUE(ch.try_send(7));
    EXPECT_EQ(ch.try_receive(), 7) << "no waiter was left in the queue";
}

// --- values

TEST(channel, carries_what_only_moves_and_what_wants_its_own_cache_line) {
    by_hand h;
    coflux::channel<coflux_test::move_only[2]> moves;
    EXPECT_TRUE(moves.try_send(coflux_test::move_only(3)));
    auto received = receives(h.env, borrowed(moves));
    h.drive();
    EXPECT_EQ(*received.get()->value, 3);
    coflux::channel<coflux_test::over_aligned[3]> wide;
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(wide.try_send(coflux_test::over_aligned(i)));
    for (int i = 0; i < 3; ++i) {
        const auto v = wide.try_receive();
        EXPECT_TRUE(v->is_aligned());
        EXPECT_EQ(v->value, i);
    }
}

TEST(channel, destroys_what_was_not_received) {
    const auto witness = std::make_shared<int>(0);
    {
        coflux::channel<std::shared_ptr<int>[3]> ch;
        EXPECT_TRUE(ch.try_send(witness));
        EXPECT_TRUE(ch.try_send(witness));
        (void)ch.try_receive();
        EXPECT_TRUE(ch.try_send(witness));
        EXPECT_TRUE(ch.try_send(witness));
        EXPECT_EQ(witness.use_count(), 4);
    }
    EXPECT_EQ(witness.use_count(), 1);
}

struct throws_when_copied {
    throws_when_copied() = default;
    throws_when_copied(throws_when_copied&&) noexcept = default;
    throws_when_copied& operator=(throws_when_copied&&) noexcept = default;
    throws_when_copied(const throws_when_copied&) { throw std::runtime_error("copy"); }
};

TEST(channel, send_whose_copy_throws_has_not_sent) {
    by_hand h;
    coflux::channel<throws_when_copied[1]> ch;
    h.run([](coflux::environment&, borrowed<coflux::channel<throws_when_copied[1]>> c) -> by_hand::task<void> {
        const throws_when_copied v;
        try {
            (void)co_await c->send(v);
            ADD_FAILURE() << "no error";
        } catch (const std::runtime_error&) {}
        EXPECT_EQ(c->size(), 0U);
        EXPECT_TRUE(co_await c->send(throws_when_copied()));
    }(h.env, borrowed(ch)));
}

TEST(channel, sends_the_copy_that_was_made_in_the_call) {
    by_hand h;
    coflux::channel<int[1]> ch;
    ASSERT_TRUE(ch.try_send(0));
    int original = 1;
    auto t = [](coflux::environment&, borrowed<coflux::channel<int[1]>> c, borrowed<int> v) -> by_hand::task<bool> {
        co_return co_await c->send(std::as_const(*v));
    }(h.env, borrowed(ch), borrowed(original));
    h.drive();
    original = 2;
    EXPECT_EQ(ch.try_receive(), 0);
    EXPECT_EQ(ch.try_receive(), 1);
    h.drive();
    EXPECT_TRUE(t.get());
}

// --- dynamic_channel

TEST(channel, of_a_capacity_chosen_at_run_time_allocates_its_slots_once) {
    by_hand h;
    coflux::counting_resource memory;
    {
        coflux::dynamic_channel<std::string> ch(5, &memory);
        EXPECT_EQ(ch.capacity(), 5U);
        for (int round = 0; round < 10; ++round) {
            for (int i = 0; i < 5; ++i) EXPECT_TRUE(ch.try_send(std::to_string(i)));
            EXPECT_FALSE(ch.try_send("more"));
            for (int i = 0; i < 5; ++i) EXPECT_EQ(ch.try_receive(), std::to_string(i));
        }
        EXPECT_TRUE(ch.try_send("stays"));
        EXPECT_EQ(memory.allocations(), 1U);
    }
    EXPECT_EQ(memory.live(), 0U);
    memory.fail_at(1);
    EXPECT_THROW(coflux::dynamic_channel<int>(1, &memory), std::bad_alloc);
}

TEST(channel_death, of_no_slots_at_run_time_is_refused) {
    EXPECT_DEATH(coflux::dynamic_channel<int>(0), "capacity of at least 1");
}

by_hand::task<int> sends_and_receives(coflux::environment&, borrowed<coflux::basic_channel<int>> to,
                                      borrowed<coflux::basic_channel<int>> from) {
    EXPECT_TRUE(co_await to->send(1));
    co_return (co_await from->receive()).value_or(-1);
}

TEST(channel, of_any_capacity_is_a_basic_channel) {
    by_hand h;
    coflux::channel<int[]> a;
    coflux::dynamic_channel<int> b(2);
    auto first =
        sends_and_receives(h.env, borrowed<coflux::basic_channel<int>>(a), borrowed<coflux::basic_channel<int>>(b));
    auto second =
        sends_and_receives(h.env, borrowed<coflux::basic_channel<int>>(b), borrowed<coflux::basic_channel<int>>(a));
    h.drive();
    EXPECT_EQ(first.get(), 1);
    EXPECT_EQ(second.get(), 1);
}

// --- lifetime, threads

TEST(channel_death, that_dies_while_a_coroutine_waits_at_it_is_a_checked_error) {
    EXPECT_DEATH(
        {
            coflux_test::die_rather_than_hang();
            by_hand h;
            auto ch = std::make_unique<coflux::channel<int[1]>>();
            auto t = receives(h.env, borrowed(*ch));
            h.drive();
            ch.reset();
        },
        "a channel dies while a coroutine waits at it");
}

TEST(channel, serves_coroutines_from_threads_that_run_none) {
    pool threads{1};
    auto env = coflux::make_environment(threads);
    coflux::channel<int[2]> ch;
    auto sum = [](coflux::environment&, borrowed<coflux::channel<int[2]>> c) -> coflux::task<int, pool> {
        int s = 0;
        while (auto v = co_await c->receive()) s += *v;
        co_return s;
    }(env, borrowed(ch));
    for (int i = 1; i <= 1000; ++i) {
        while (!ch.try_send(i)) std::this_thread::yield();
    }
    ch.close();
    EXPECT_EQ(sum.get(), 500500);
}

TEST(channel, joins_coroutines_that_no_executor_runs) {
    auto env = coflux::make_environment(coflux::noop_executor{});
    const auto root = [](coflux::environment&) -> coflux::task<int, coflux::noop_executor> {
        auto&& here = co_await coflux::context();
        coflux::channel<int[2]> ch;
        auto consumer = [](coflux::environment&,
                           borrowed<coflux::channel<int[2]>> c) -> coflux::fork<int, coflux::noop_executor> {
            int s = 0;
            while (auto v = co_await c->receive()) s += *v;
            co_return s;
        }(here, borrowed(ch));
        for (int i = 1; i <= 100; ++i) EXPECT_TRUE(co_await ch.send(i));
        ch.close();
        co_return co_await std::move(consumer);
    };
    EXPECT_EQ(root(env).get(), 5050);
}

static_assert(!std::is_copy_constructible_v<coflux::channel<int[1]>> &&
              !std::is_move_constructible_v<coflux::channel<int[1]>>);

}  // namespace

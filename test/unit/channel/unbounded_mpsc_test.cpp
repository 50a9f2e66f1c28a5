#include <coflux/channel/unbounded_mpsc.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "support/executors.hpp"
#include "support/iterations.hpp"
#include "support/witness.hpp"
#include "unit/core/stage.hpp"

namespace {

using coflux::borrowed;
using coflux::make_unbounded_mpsc;
using coflux::mpsc_receiver;
using coflux::unbounded_mpsc_sender;
using coflux_test::manual_executor;
using coflux_test::move_only;
using coflux_test::stage;
using pool = coflux::thread_pool_executor;

template <typename T>
coflux::task<std::optional<T>, manual_executor> receives(coflux::environment&, borrowed<mpsc_receiver<T>> rx) {
    co_return co_await rx->receive();
}

TEST(unbounded_mpsc, gives_values_in_the_order_in_which_they_were_sent) {
    stage<manual_executor> s;
    auto [tx, rx] = make_unbounded_mpsc<int>();
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(tx.send(i));
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(s.run(receives<int>(s.env, borrowed(rx))), i);
    EXPECT_EQ(rx.try_receive(), std::nullopt);
}

TEST(unbounded_mpsc, gives_what_was_sent_after_the_receiver_waits_without_running_it_in_the_send) {
    stage<manual_executor> s;
    auto [tx, rx] = make_unbounded_mpsc<int>();
    auto t = receives<int>(s.env, borrowed(rx));
    s.drive();
    ASSERT_FALSE(t.done());
    EXPECT_TRUE(tx.send(7));
    EXPECT_FALSE(t.done());
    EXPECT_EQ(s.root.pending(), 1U);
    s.drive();
    EXPECT_EQ(t.get(), 7);
}

TEST(unbounded_mpsc, wakes_a_receiver_that_waits_behind_the_last_slot_of_a_block) {
    stage<manual_executor> s;
    auto [tx, rx] = make_unbounded_mpsc<std::size_t>();
    for (std::size_t round = 0; round != 3; ++round) {
        for (std::size_t i = 0; i != coflux::detail::slot_list::slots_in_block; ++i) {
            auto t = receives<std::size_t>(s.env, borrowed(rx));
            s.drive();
            EXPECT_TRUE(tx.send(i));
            s.drive();
            EXPECT_EQ(t.get(), i);
        }
    }
}

TEST(unbounded_mpsc, gives_what_was_sent_and_then_nothing_when_the_last_sender_dies) {
    stage<manual_executor> s;
    auto [tx, rx] = make_unbounded_mpsc<int>();
    {
        auto mine = std::move(tx);
        auto other = mine;
        mine.close();
        EXPECT_TRUE(mine.closed());
        EXPECT_FALSE(mine.send(0)) << "this end is given up";
        EXPECT_FALSE(rx.closed());
        EXPECT_TRUE(other.send(1));
    }
    EXPECT_TRUE(rx.closed());
    EXPECT_EQ(s.run(receives<int>(s.env, borrowed(rx))), 1);
    EXPECT_EQ(s.run(receives<int>(s.env, borrowed(rx))), std::nullopt);
    EXPECT_EQ(s.run(receives<int>(s.env, borrowed(rx))), std::nullopt);
}

TEST(unbounded_mpsc, wakes_the_receiver_with_nothing_when_the_last_sender_dies) {
    for (const std::size_t before : {std::size_t{0}, std::size_t{63}, std::size_t{64}}) {  // in a block, and at its end
        stage<manual_executor> s;
        auto [tx, rx] = make_unbounded_mpsc<int>();
        for (std::size_t i = 0; i != before; ++i) {
            EXPECT_TRUE(tx.send(1));
            EXPECT_EQ(rx.try_receive(), 1);
        }
        auto t = receives<int>(s.env, borrowed(rx));
        s.drive();
        ASSERT_FALSE(t.done());
        { const auto last = std::move(tx); }
        s.drive();
        EXPECT_EQ(t.get(), std::nullopt);
    }
}

TEST(unbounded_mpsc, refuses_a_send_after_the_receiver_died_and_leaves_the_value_with_the_caller) {
    auto [tx, rx] = make_unbounded_mpsc<move_only>();
    EXPECT_TRUE(tx.send(move_only(1)));
    { const auto dead = std::move(rx); }
    EXPECT_TRUE(tx.closed());
    move_only mine(2);
    EXPECT_FALSE(tx.send(std::move(mine)));
    EXPECT_EQ(*mine.value, 2);
}

TEST(unbounded_mpsc, drops_what_was_not_received_when_the_receiver_dies) {
    const auto value = std::make_shared<int>(1);
    auto [tx, rx] = make_unbounded_mpsc<std::shared_ptr<int>>();
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(tx.send(value));
    EXPECT_EQ(value.use_count(), 101);
    { const auto dead = std::move(rx); }
    EXPECT_EQ(value.use_count(), 1);
}

TEST(unbounded_mpsc, carries_over_aligned_and_move_only_values) {
    auto [tx, rx] = make_unbounded_mpsc<coflux_test::over_aligned>();
    for (int i = 0; i < 200; ++i) EXPECT_TRUE(tx.send(coflux_test::over_aligned(i)));
    for (int i = 0; i < 200; ++i) EXPECT_EQ(rx.try_receive()->value, i);
    auto [mtx, mrx] = make_unbounded_mpsc<move_only>();
    EXPECT_TRUE(mtx.send(move_only(7)));
    EXPECT_EQ(*mrx.try_receive()->value, 7);
}

TEST(unbounded_mpsc, sends_nothing_where_memory_is_missing_and_goes_on_when_there_is_some) {
    coflux::counting_resource memory;
    {
        auto [tx, rx] = make_unbounded_mpsc<int>(&memory);
        for (int i = 0; i < 64; ++i) EXPECT_TRUE(tx.send(i));
        // More failures than the index of the tail word could count.
        for (int i = 0; i < 100'000; ++i) {
            memory.fail_at(1);
            EXPECT_THROW((void)tx.send(-1), std::bad_alloc);
        }
        memory.fail_at(0);
        EXPECT_TRUE(tx.send(64));
        for (int i = 0; i < 65; ++i) EXPECT_EQ(rx.try_receive(), i);
        EXPECT_EQ(rx.try_receive(), std::nullopt);
    }
    EXPECT_EQ(memory.live(), 0U);
}

TEST(unbounded_mpsc, allocates_nothing_once_it_has_held_as_much) {
    coflux::counting_resource memory;
    auto [tx, rx] = make_unbounded_mpsc<int>(&memory);
    const auto round = [&tx = tx, &rx = rx] {
        for (int i = 0; i < 500; ++i) EXPECT_TRUE(tx.send(i));
        for (int i = 0; i < 500; ++i) EXPECT_EQ(rx.try_receive(), i);
    };
    round();
    round();
    const std::size_t warm = memory.allocations();
    for (int i = 0; i < 100; ++i) round();
    EXPECT_EQ(memory.allocations(), warm);
}

TEST(unbounded_mpsc, counts_no_failed_send_after_the_end_as_anything_else) {
    auto [tx, rx] = make_unbounded_mpsc<int>();
    EXPECT_TRUE(tx.send(1));
    rx.close();
    for (int i = 0; i < 200'000; ++i) EXPECT_FALSE(tx.send(2));
    EXPECT_EQ(rx.try_receive(), 1);
    EXPECT_EQ(rx.try_receive(), std::nullopt);
}

// --- several threads

struct item {
    std::size_t sender;
    std::size_t number;
};

coflux::task<std::vector<std::size_t>, pool> receives_all(coflux::environment&, mpsc_receiver<item> rx,
                                                          std::size_t senders) {
    std::vector<std::size_t> next(senders);
    while (auto i = co_await rx.receive()) {
        EXPECT_EQ(i->number, next[i->sender]) << "of sender " << i->sender;
        next[i->sender] = i->number + 1;
    }
    co_return next;
}

TEST(unbounded_mpsc, loses_and_doubles_nothing_between_threads) {
    constexpr std::size_t senders = 3;
    constexpr std::size_t each = coflux_test::race_rounds;
    pool threads{1};
    auto env = coflux::make_environment(threads);
    auto [tx, rx] = make_unbounded_mpsc<item>();
    auto t = receives_all(env, std::move(rx), senders);
    {
        std::vector<std::jthread> all;
        for (std::size_t s = 0; s != senders; ++s) {
            all.emplace_back([s, mine = tx]() mutable {
                for (std::size_t i = 0; i != each; ++i) {
                    EXPECT_TRUE(mine.send(item{s, i}));
                    if (i % 7 == s) std::this_thread::yield();  // lets the receiver run dry now and then
                }
            });
        }
        tx.close();
    }
    EXPECT_EQ(t.get(), std::vector<std::size_t>(senders, each));
}

/// One value back and forth: each receive waits, so each send wakes.
TEST(unbounded_mpsc, loses_no_wake_up_between_threads) {
    const std::size_t rounds = coflux_test::race_rounds / 4;
    pool one{1};
    pool two{1};
    auto env = coflux::make_environment(one);
    auto other = coflux::make_environment(two);
    auto [there, here] = make_unbounded_mpsc<std::size_t>();
    auto [back, answers] = make_unbounded_mpsc<std::size_t>();
    const auto answer = [](coflux::environment&, mpsc_receiver<std::size_t> in,
                           unbounded_mpsc_sender<std::size_t> out) -> coflux::task<void, pool> {
        while (auto v = co_await in.receive()) EXPECT_TRUE(out.send(*v + 1));
    };
    const auto ask = [](coflux::environment&, mpsc_receiver<std::size_t> in, unbounded_mpsc_sender<std::size_t> out,
                        std::size_t n) -> coflux::task<std::size_t, pool> {
        std::size_t v = 0;
        while (v < n) {
            EXPECT_TRUE(out.send(v));
            v = *co_await in.receive();
        }
        co_return v;
    };
    auto a = answer(other, std::move(here), std::move(back));
    EXPECT_EQ(ask(env, std::move(answers), std::move(there), rounds).get(), rounds);
    a.get();
}

TEST(unbounded_mpsc, tells_every_sender_the_truth_when_it_is_closed_between_sends) {
    for (std::size_t round = 0; round != coflux_test::race_rounds / 200 + 1; ++round) {
        auto [tx, rx] = make_unbounded_mpsc<std::size_t>();
        std::size_t sent[2] = {};
        std::size_t received = 0;
        {
            std::vector<std::jthread> all;
            for (std::size_t s = 0; s != 2; ++s) {
                all.emplace_back([&sent, s, mine = tx]() mutable {
                    while (sent[s] != 2000 && mine.send(std::size_t{1})) ++sent[s];
                });
            }
            while (received < round % 70) received += rx.try_receive().has_value() ? 1U : 0U;
            rx.close();
        }
        while (rx.try_receive()) ++received;
        EXPECT_EQ(received, sent[0] + sent[1]);
    }
}

}  // namespace

#include <coflux/channel/mpsc.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
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
using coflux::make_mpsc;
using coflux::mpsc_permit;
using coflux::mpsc_receiver;
using coflux::mpsc_sender;
using coflux_test::manual_executor;
using coflux_test::move_only;
using coflux_test::stage;
using pool = coflux::thread_pool_executor;

coflux::task<bool, manual_executor> sends(coflux::environment&, borrowed<mpsc_sender<int>> tx, int value) {
    co_return co_await tx->send(value);
}
coflux::task<std::optional<mpsc_permit<int>>, manual_executor> reserves(coflux::environment&,
                                                                        borrowed<mpsc_sender<int>> tx) {
    co_return co_await tx->reserve();
}
coflux::task<std::optional<int>, manual_executor> receives(coflux::environment&, borrowed<mpsc_receiver<int>> rx) {
    co_return co_await rx->receive();
}

TEST(mpsc, holds_as_many_values_as_it_has_slots) {
    for (const std::size_t capacity :
         {std::size_t{1}, std::size_t{2}, std::size_t{63}, std::size_t{64}, std::size_t{130}}) {
        auto [tx, rx] = make_mpsc<std::size_t>(capacity);
        EXPECT_EQ(tx.capacity(), capacity);
        for (int round = 0; round < 5; ++round) {
            for (std::size_t i = 0; i != capacity; ++i) EXPECT_TRUE(tx.try_send(i));
            EXPECT_FALSE(tx.try_send(capacity));
            for (std::size_t i = 0; i != capacity; ++i) EXPECT_EQ(rx.try_receive(), i);
            EXPECT_EQ(rx.try_receive(), std::nullopt);
        }
    }
}

TEST(mpsc, lets_senders_wait_for_slots_first_come_first_served) {
    stage<manual_executor> s;
    auto [tx, rx] = make_mpsc<int>(1);
    EXPECT_TRUE(s.run(sends(s.env, borrowed(tx), 0)));
    auto one = sends(s.env, borrowed(tx), 1);
    auto two = sends(s.env, borrowed(tx), 2);
    s.drive();
    EXPECT_FALSE(one.done());
    EXPECT_FALSE(two.done());
    EXPECT_EQ(rx.try_receive(), 0);
    EXPECT_FALSE(tx.try_send(9)) << "the slot is promised";
    EXPECT_FALSE(one.done()) << "woken, not run";
    s.drive();
    EXPECT_TRUE(one.get());
    EXPECT_FALSE(two.done());
    EXPECT_EQ(rx.try_receive(), 1);
    s.drive();
    EXPECT_TRUE(two.get());
    EXPECT_EQ(rx.try_receive(), 2);
}

TEST(mpsc, serves_more_waiting_senders_than_it_wakes_at_a_time) {
    stage<manual_executor> s;
    auto [tx, rx] = make_mpsc<int>(40);
    for (int i = 0; i < 40; ++i) EXPECT_TRUE(tx.try_send(i));
    std::vector<coflux::task<bool, manual_executor>> waiting;
    for (int i = 40; i < 80; ++i) waiting.push_back(sends(s.env, borrowed(tx), i));
    s.drive();
    std::vector<int> all(80);
    ASSERT_EQ(rx.try_receive_some(std::span(all)), 40U);
    s.drive();
    for (auto& w : waiting) EXPECT_TRUE(w.get());
    ASSERT_EQ(rx.try_receive_some(std::span(all).subspan(40)), 40U);
    for (int i = 0; i < 80; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], i);
}

TEST(mpsc, refuses_waiting_senders_when_the_receiver_closes_or_dies) {
    for (const bool dies : {false, true}) {
        stage<manual_executor> s;
        auto [tx, rx] = make_mpsc<int>(1);
        std::optional<mpsc_receiver<int>> mine(std::move(rx));
        EXPECT_TRUE(tx.try_send(0));
        std::vector<coflux::task<bool, manual_executor>> waiting;
        for (int i = 0; i < 40; ++i) waiting.push_back(sends(s.env, borrowed(tx), i));
        s.drive();
        dies ? mine.reset() : mine->close();
        s.drive();
        for (auto& w : waiting) EXPECT_FALSE(w.get());
        EXPECT_TRUE(tx.closed());
        EXPECT_FALSE(tx.try_send(1));
        EXPECT_FALSE(s.run(sends(s.env, borrowed(tx), 1)));
        if (!dies) {
            EXPECT_EQ(s.run(receives(s.env, borrowed(*mine))), 0) << "what was sent can still be received";
            EXPECT_EQ(s.run(receives(s.env, borrowed(*mine))), std::nullopt);
        }
    }
}

TEST(mpsc, refuses_a_sender_that_was_given_a_slot_by_a_receiver_that_is_dead_when_it_sends) {
    stage<manual_executor> s;
    auto [tx, rx] = make_mpsc<int>(1);
    std::optional receiver(std::move(rx));
    EXPECT_TRUE(tx.try_send(0));
    auto waits = sends(s.env, borrowed(tx), 1);
    s.drive();
    EXPECT_EQ(receiver->try_receive(), 0);
    receiver.reset();
    s.drive();
    EXPECT_FALSE(waits.get());
}

TEST(mpsc, leaves_a_value_that_was_not_sent_with_its_caller) {
    stage<manual_executor> s;
    auto [tx, rx] = make_mpsc<move_only>(1);
    move_only value(3);
    EXPECT_TRUE(tx.try_send(move_only(1)));
    EXPECT_FALSE(tx.try_send(std::move(value)));
    EXPECT_EQ(*value.value, 3);
    rx.close();
    const auto t = [](coflux::environment&, borrowed<mpsc_sender<move_only>> out,
                      borrowed<move_only> v) -> coflux::task<bool, manual_executor> {
        co_return co_await out->send(std::move(v.get()));
    };
    EXPECT_FALSE(s.run(t(s.env, borrowed(tx), borrowed(value))));
    EXPECT_EQ(*value.value, 3);
}

TEST(mpsc, sends_nothing_when_the_send_is_stopped_and_leaves_the_slot_to_others) {
    stage<manual_executor> s;
    auto [tx, rx] = make_mpsc<int>(1);
    EXPECT_TRUE(tx.try_send(0));
    auto stopped = sends(s.env, borrowed(tx), 1);
    auto other = sends(s.env, borrowed(tx), 2);
    s.drive();
    stopped.request_stop();
    s.drive();
    EXPECT_THROW(stopped.get(), coflux::task_stopped);
    EXPECT_EQ(rx.try_receive(), 0);
    s.drive();
    EXPECT_TRUE(other.get());
    EXPECT_EQ(rx.try_receive(), 2);
    EXPECT_TRUE(tx.try_send(3)) << "there is no waiter any more";
}

TEST(mpsc, completes_a_send_that_was_promised_a_slot_before_the_stop) {
    stage<manual_executor> s;
    auto [tx, rx] = make_mpsc<int>(1);
    EXPECT_TRUE(tx.try_send(0));
    auto sending = sends(s.env, borrowed(tx), 1);
    s.drive();
    EXPECT_EQ(rx.try_receive(), 0);
    sending.request_stop();
    s.drive();
    EXPECT_TRUE(sending.get());
    EXPECT_EQ(rx.try_receive(), 1);
}

TEST(mpsc, stops_a_send_that_was_told_to_before_it_waits_unless_there_is_a_slot) {
    stage<manual_executor> s;
    auto [tx, rx] = make_mpsc<int>(1);
    const auto root = [](coflux::environment&, borrowed<mpsc_sender<int>> out) -> coflux::task<void, manual_executor> {
        EXPECT_TRUE(co_await out->send(1));
        (void)co_await out->send(2);
        ADD_FAILURE() << "went on after a stop";
    };
    auto t = root(s.env, borrowed(tx));
    t.request_stop();
    s.drive();
    EXPECT_THROW(t.get(), coflux::task_stopped);
    EXPECT_EQ(rx.try_receive(), 1);
    EXPECT_EQ(rx.try_receive(), std::nullopt);
    EXPECT_TRUE(tx.try_send(3));
}

TEST(mpsc, keeps_a_reserved_slot_even_when_it_is_closed) {
    stage<manual_executor> s;
    auto [tx, rx] = make_mpsc<int>(2);
    auto first = *s.run(reserves(s.env, borrowed(tx)));
    auto second = *s.run(reserves(s.env, borrowed(tx)));
    EXPECT_FALSE(tx.try_send(0));
    rx.close();
    { const auto gone = std::move(tx); }
    auto waiting = receives(s.env, borrowed(rx));
    s.drive();
    EXPECT_FALSE(waiting.done()) << "two values may still come";
    first.send(5);
    s.drive();
    EXPECT_EQ(waiting.get(), 5);
    auto again = receives(s.env, borrowed(rx));
    s.drive();
    EXPECT_FALSE(again.done());
    { const auto unused = std::move(second); }
    s.drive();
    EXPECT_EQ(again.get(), std::nullopt);
}

TEST(mpsc, gives_an_unused_permits_slot_to_the_next) {
    stage<manual_executor> s;
    auto [tx, rx] = make_mpsc<int>(1);
    auto waiting = [&s, &tx = tx] {
        const auto permit = s.run(reserves(s.env, borrowed(tx)));
        EXPECT_TRUE(permit.has_value());
        auto t = sends(s.env, borrowed(tx), 4);
        s.drive();
        EXPECT_FALSE(t.done());
        return t;
    }();
    s.drive();
    EXPECT_TRUE(waiting.get());
    EXPECT_EQ(rx.try_receive(), 4);
}

TEST(mpsc, refuses_a_reservation_when_closed_and_drops_what_a_permit_sends_then) {
    stage<manual_executor> s;
    auto [tx, rx] = make_mpsc<int>(1);
    auto permit = *s.run(reserves(s.env, borrowed(tx)));
    auto waiting = reserves(s.env, borrowed(tx));
    s.drive();
    { const auto dead = std::move(rx); }
    s.drive();
    EXPECT_FALSE(waiting.get().has_value());
    permit.send(1);
    EXPECT_FALSE(s.run(reserves(s.env, borrowed(tx))).has_value());
}

TEST(mpsc, gives_nothing_once_the_last_sender_is_gone_and_all_is_received) {
    stage<manual_executor> s;
    auto [tx, rx] = make_mpsc<int>(4);
    {
        auto last = std::move(tx);
        EXPECT_TRUE(last.try_send(1));
    }
    EXPECT_EQ(s.run(receives(s.env, borrowed(rx))), 1);
    EXPECT_EQ(s.run(receives(s.env, borrowed(rx))), std::nullopt);
}

TEST(mpsc, allocates_nothing_after_it_is_made) {
    for (const std::size_t capacity : {std::size_t{1}, std::size_t{64}, std::size_t{65}, std::size_t{129}}) {
        coflux::counting_resource memory;
        {
            auto [tx, rx] = make_mpsc<std::size_t>(capacity, &memory);
            const std::size_t made = memory.allocations();
            for (std::size_t i = 0; i != 1000; ++i) {
                while (tx.try_send(i)) {}
                // Leaves 0, 1, 2 … of them where they are: every position of a full channel in its blocks.
                for (std::size_t n = capacity - i % capacity; n != 0; --n) EXPECT_TRUE(rx.try_receive().has_value());
            }
            EXPECT_EQ(memory.allocations(), made);
        }
        EXPECT_EQ(memory.live(), 0U);
    }
}

TEST(mpsc, frees_everything_wherever_its_making_fails) {
    coflux::counting_resource memory;
    for (std::size_t n = 1; n != 5; ++n) {
        memory.fail_at(n);
        EXPECT_THROW((void)make_mpsc<int>(65, &memory), std::bad_alloc);
        EXPECT_EQ(memory.live(), 0U);
    }
}

// --- several threads

coflux::fork<void, pool> sends_many(coflux::environment&, mpsc_sender<std::size_t> tx, std::size_t sender,
                                    std::size_t n) {
    for (std::size_t i = 0; i != n; ++i) {
        if (i % 3 == 0) {
            auto permit = co_await tx.reserve();
            if (permit) permit->send(sender * n + i);
        } else {
            EXPECT_TRUE(co_await tx.send(sender * n + i));
        }
    }
}

coflux::task<std::size_t, pool> moves_many(coflux::environment&, std::size_t capacity, std::size_t senders,
                                           std::size_t n) {
    auto&& here = co_await coflux::context();
    auto [tx, rx] = make_mpsc<std::size_t>(capacity);
    {
        const auto mine = std::move(tx);
        for (std::size_t s = 0; s != senders; ++s) sends_many(here, mine, s, n).attach();
    }
    std::vector<std::size_t> next(senders);
    std::size_t received = 0;
    while (auto v = co_await rx.receive()) {
        EXPECT_EQ(*v % n, next[*v / n]++);
        ++received;
    }
    co_return received;
}

TEST(mpsc, loses_and_doubles_nothing_between_threads) {
    pool threads{3};
    auto env = coflux::make_environment(threads);
    const std::size_t n = coflux_test::race_rounds;
    for (const std::size_t capacity : {std::size_t{1}, std::size_t{3}, std::size_t{100}})
        EXPECT_EQ(moves_many(env, capacity, 4, n / 2).get(), 4 * (n / 2));
}

coflux::fork<std::size_t, pool> sends_until_refused(coflux::environment&, mpsc_sender<int> tx) {
    std::size_t sent = 0;
    for (;;) {
        if (sent % 4 == 3) {
            auto permit = co_await tx.reserve();
            if (!permit) co_return sent;
            permit->send(1);
        } else {
            const bool taken = co_await tx.send(1);
            if (!taken) co_return sent;
        }
        ++sent;
    }
}

coflux::task<void, pool> closes_in_between(coflux::environment&, std::size_t after) {
    auto&& here = co_await coflux::context();
    auto [tx, rx] = make_mpsc<int>(3);
    auto one = sends_until_refused(here, tx);
    auto two = sends_until_refused(here, tx);
    std::size_t received = 0;
    while (received < after && co_await rx.receive()) ++received;
    rx.close();
    while (const auto value = co_await rx.receive()) ++received;
    auto [a, b] = co_await coflux::when_all(std::move(one), std::move(two));
    EXPECT_EQ(received, a + b) << "after " << after;
}

TEST(mpsc, gives_all_that_was_sent_or_reserved_when_it_is_closed_between_sends) {
    pool threads{3};
    auto env = coflux::make_environment(threads);
    for (std::size_t round = 0; round != coflux_test::race_rounds / 20; ++round)
        closes_in_between(env, round % 50).get();
}

coflux::fork<void, pool> sends_one(coflux::environment&, borrowed<mpsc_sender<int>> tx) {
    (void)co_await tx->send(1);
}

coflux::task<void, pool> stops_senders(coflux::environment&, std::size_t rounds) {
    auto&& here = co_await coflux::context();
    auto [tx, rx] = make_mpsc<int>(1);
    for (std::size_t i = 0; i != rounds; ++i) {
        EXPECT_TRUE(co_await tx.send(0));
        auto one = sends_one(here, borrowed(tx));
        auto two = sends_one(here, borrowed(tx));
        if (i % 4 == 0) co_await coflux::yield();
        one.request_stop();
        EXPECT_EQ(co_await rx.receive(), 0);
        two.request_stop();
        const auto first = co_await coflux::as_outcome(std::move(one));
        // Where the first has sent, there is no slot for the second before it is received.
        std::size_t received = rx.try_receive() ? 1U : 0U;
        const auto second = co_await coflux::as_outcome(std::move(two));
        while (rx.try_receive()) ++received;
        EXPECT_EQ(received, (first.is_stopped() ? 0U : 1U) + (second.is_stopped() ? 0U : 1U));
        EXPECT_TRUE(tx.try_send(1)) << "no slot is lost";
        EXPECT_EQ(rx.try_receive(), 1);
    }
}

TEST(mpsc, loses_no_slot_when_stops_race_with_receives) {
    pool threads{3};
    auto env = coflux::make_environment(threads);
    stops_senders(env, coflux_test::race_rounds / 4).get();
}

}  // namespace

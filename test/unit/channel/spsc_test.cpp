#include <coflux/channel/spsc.hpp>

#include <array>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
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
using coflux::make_spsc;
using coflux::spsc_permit;
using coflux::spsc_receiver;
using coflux::spsc_sender;
using coflux_test::manual_executor;
using coflux_test::move_only;
using coflux_test::stage;
using pool = coflux::thread_pool_executor;

coflux::task<bool, manual_executor> sends(coflux::environment&, borrowed<spsc_sender<int>> tx, int value) {
    co_return co_await tx->send(value);
}
coflux::task<std::optional<spsc_permit<int>>, manual_executor> reserves(coflux::environment&,
                                                                        borrowed<spsc_sender<int>> tx) {
    co_return co_await tx->reserve();
}
coflux::task<std::optional<int>, manual_executor> receives(coflux::environment&, borrowed<spsc_receiver<int>> rx) {
    co_return co_await rx->receive();
}
coflux::task<std::vector<int>, manual_executor> receives_some(coflux::environment&, borrowed<spsc_receiver<int>> rx,
                                                              std::size_t room) {
    std::vector<int> values(room);
    values.resize(co_await rx->receive_some(std::span(values)));
    co_return values;
}

TEST(spsc, holds_as_many_values_as_it_has_slots_in_their_order) {
    for (const std::size_t capacity :
         {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{8}, std::size_t{100}}) {
        auto [tx, rx] = make_spsc<std::size_t>(capacity);
        EXPECT_EQ(tx.capacity(), capacity);
        std::size_t sent = 0;
        std::size_t received = 0;
        for (int round = 0; round < 10; ++round) {
            while (tx.try_send(sent)) ++sent;
            EXPECT_EQ(sent - received, capacity);
            for (std::size_t n = capacity / 2 + 1; n != 0; --n) EXPECT_EQ(rx.try_receive(), received++);
        }
        while (const auto v = rx.try_receive()) EXPECT_EQ(*v, received++);
        EXPECT_EQ(sent, received);
    }
}

TEST(spsc, lets_the_sender_wait_for_a_slot_and_wakes_it_without_running_it) {
    stage<manual_executor> s;
    auto [tx, rx] = make_spsc<int>(1);
    EXPECT_TRUE(s.run(sends(s.env, borrowed(tx), 1)));
    auto waiting = sends(s.env, borrowed(tx), 2);
    s.drive();
    ASSERT_FALSE(waiting.done());
    EXPECT_EQ(rx.try_receive(), 1);
    EXPECT_FALSE(waiting.done());
    s.drive();
    EXPECT_TRUE(waiting.get());
    EXPECT_EQ(rx.try_receive(), 2);
}

TEST(spsc, lets_the_receiver_wait_for_a_value_and_wakes_it_without_running_it) {
    stage<manual_executor> s;
    auto [tx, rx] = make_spsc<int>(4);
    auto waiting = receives(s.env, borrowed(rx));
    s.drive();
    ASSERT_FALSE(waiting.done());
    EXPECT_TRUE(tx.try_send(1));
    EXPECT_FALSE(waiting.done());
    s.drive();
    EXPECT_EQ(waiting.get(), 1);
}

TEST(spsc, gives_batches) {
    stage<manual_executor> s;
    auto [tx, rx] = make_spsc<int>(10);
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(tx.try_send(i));
    EXPECT_EQ(rx.try_receive(), 0);
    EXPECT_EQ(s.run(receives_some(s.env, borrowed(rx), 4)), (std::vector<int>{1, 2, 3, 4}));
    EXPECT_TRUE(tx.try_send(10));
    EXPECT_EQ(s.run(receives_some(s.env, borrowed(rx), 100)), (std::vector<int>{5, 6, 7, 8, 9, 10}));
    std::array<int, 3> room{};
    EXPECT_EQ(rx.try_receive_some(std::span(room)), 0U);
    tx.close();
    EXPECT_TRUE(s.run(receives_some(s.env, borrowed(rx), 4)).empty());
}

TEST(spsc, carries_move_only_values_and_appends_them) {
    stage<manual_executor> s;
    auto [tx, rx] = make_spsc<move_only>(4);
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(tx.try_send(move_only(i)));
    move_only refused(9);
    EXPECT_FALSE(tx.try_send(std::move(refused)));
    EXPECT_EQ(*refused.value, 9);
    const auto t = [](coflux::environment&,
                      borrowed<spsc_receiver<move_only>> in) -> coflux::task<int, manual_executor> {
        std::vector<move_only> values;
        EXPECT_EQ(co_await in->receive_some(std::back_inserter(values), 3), 3U);
        co_return *values.back().value;
    };
    EXPECT_EQ(s.run(t(s.env, borrowed(rx))), 2);
}

TEST(spsc, gives_what_was_sent_and_then_nothing_when_the_sender_dies) {
    for (const bool waits : {false, true}) {
        stage<manual_executor> s;
        auto [tx, rx] = make_spsc<int>(4);
        std::optional<spsc_sender<int>> sender(std::move(tx));
        EXPECT_TRUE(sender->try_send(1));
        if (!waits) sender.reset();
        EXPECT_EQ(s.run(receives(s.env, borrowed(rx))), 1);
        auto t = receives(s.env, borrowed(rx));
        s.drive();
        EXPECT_EQ(t.done(), !waits);
        sender.reset();
        s.drive();
        EXPECT_EQ(t.get(), std::nullopt);
        EXPECT_TRUE(rx.closed());
        EXPECT_EQ(s.run(receives(s.env, borrowed(rx))), std::nullopt);
    }
}

TEST(spsc, refuses_sends_when_the_receiver_closes_or_dies) {
    for (const bool dies : {false, true}) {
        stage<manual_executor> s;
        auto [tx, rx] = make_spsc<int>(1);
        std::optional<spsc_receiver<int>> receiver(std::move(rx));
        EXPECT_TRUE(tx.try_send(0));
        auto waiting = sends(s.env, borrowed(tx), 1);
        s.drive();
        ASSERT_FALSE(waiting.done());
        dies ? receiver.reset() : receiver->close();
        s.drive();
        EXPECT_FALSE(waiting.get());
        EXPECT_TRUE(tx.closed());
        EXPECT_FALSE(tx.try_send(1));
        EXPECT_FALSE(s.run(sends(s.env, borrowed(tx), 1)));
        EXPECT_FALSE(s.run(reserves(s.env, borrowed(tx))).has_value());
        if (dies) continue;
        EXPECT_EQ(s.run(receives(s.env, borrowed(*receiver))), 0);
        EXPECT_EQ(s.run(receives(s.env, borrowed(*receiver))), std::nullopt);
    }
}

TEST(spsc, destroys_what_was_not_received) {
    const auto value = std::make_shared<int>(1);
    auto [tx, rx] = make_spsc<std::shared_ptr<int>>(3);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(tx.try_send(value));
    EXPECT_EQ(value.use_count(), 4);
    { const auto dead = std::move(rx); }
    EXPECT_EQ(value.use_count(), 1);
}

TEST(spsc, keeps_a_reserved_slot_even_when_it_is_closed) {
    stage<manual_executor> s;
    auto [tx, rx] = make_spsc<int>(2);
    auto first = *s.run(reserves(s.env, borrowed(tx)));
    auto second = *s.run(reserves(s.env, borrowed(tx)));
    EXPECT_FALSE(tx.try_send(0));
    rx.close();
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

TEST(spsc, outlives_its_sender_by_a_permit) {
    stage<manual_executor> s;
    auto [tx, rx] = make_spsc<int>(2);
    auto permit = *s.run(reserves(s.env, borrowed(tx)));
    { const auto gone = std::move(tx); }
    auto waiting = receives(s.env, borrowed(rx));
    s.drive();
    EXPECT_FALSE(waiting.done());
    permit.send(1);
    s.drive();
    EXPECT_EQ(waiting.get(), 1);
    EXPECT_EQ(s.run(receives(s.env, borrowed(rx))), std::nullopt);
}

TEST(spsc, sends_or_takes_nothing_when_the_wait_is_stopped) {
    stage<manual_executor> s;
    auto [tx, rx] = make_spsc<int>(1);
    for (int i = 0; i < 50; ++i) {
        auto receiving = receives(s.env, borrowed(rx));
        s.drive();
        receiving.request_stop();
        EXPECT_TRUE(tx.try_send(1)) << "after the stop has taken the wait";
        s.drive();
        EXPECT_THROW(receiving.get(), coflux::task_stopped);
        auto sending = sends(s.env, borrowed(tx), 2);
        s.drive();
        sending.request_stop();
        s.drive();
        EXPECT_THROW(sending.get(), coflux::task_stopped);
        EXPECT_EQ(rx.try_receive(), 1);
        EXPECT_EQ(rx.try_receive(), std::nullopt);
    }
}

TEST(spsc, completes_what_was_woken_before_the_stop) {
    stage<manual_executor> s;
    auto [tx, rx] = make_spsc<int>(1);
    auto receiving = receives(s.env, borrowed(rx));
    s.drive();
    EXPECT_TRUE(tx.try_send(1));
    receiving.request_stop();
    s.drive();
    EXPECT_EQ(receiving.get(), 1);
    EXPECT_TRUE(tx.try_send(2));
    auto sending = sends(s.env, borrowed(tx), 3);
    s.drive();
    EXPECT_EQ(rx.try_receive(), 2);
    sending.request_stop();
    s.drive();
    EXPECT_TRUE(sending.get());
    EXPECT_EQ(rx.try_receive(), 3);
}

TEST(spsc, stops_what_was_told_to_before_it_waits) {
    stage<manual_executor> s;
    auto [tx, rx] = make_spsc<int>(1);
    auto receiving = receives(s.env, borrowed(rx));
    receiving.request_stop();
    s.drive();
    EXPECT_THROW(receiving.get(), coflux::task_stopped);
    EXPECT_TRUE(tx.try_send(1));
    auto sending = sends(s.env, borrowed(tx), 2);
    sending.request_stop();
    s.drive();
    EXPECT_THROW(sending.get(), coflux::task_stopped);
    EXPECT_EQ(rx.try_receive(), 1);
    EXPECT_EQ(rx.try_receive(), std::nullopt);
}

TEST(spsc, takes_its_memory_when_it_is_made_and_gives_it_back_with_the_last_end) {
    coflux::counting_resource memory;
    {
        auto [tx, rx] = make_spsc<int>(100, &memory);
        const std::size_t made = memory.allocations();
        for (int i = 0; i < 1000; ++i) {
            EXPECT_TRUE(tx.try_send(i));
            EXPECT_EQ(rx.try_receive(), i);
        }
        EXPECT_EQ(memory.allocations(), made);
    }
    EXPECT_EQ(memory.live(), 0U);
    for (std::size_t n = 1; n != 3; ++n) {
        memory.fail_at(n);
        EXPECT_THROW((void)make_spsc<int>(4, &memory), std::bad_alloc);
        EXPECT_EQ(memory.live(), 0U);
    }
}

// The sizes of a ring and of blocks are computed from the capacity: none may wrap.
TEST(queues, say_that_there_is_no_memory_for_a_capacity_beyond_what_can_be_counted) {
    coflux::counting_resource memory;
    for (const std::size_t n :
         {~std::size_t{0}, ~std::size_t{0} / 2, (~std::size_t{0} >> 3) + 1, ~std::size_t{0} / 16}) {
        EXPECT_THROW((void)make_spsc<long>(n, &memory), std::bad_alloc) << n;
        EXPECT_THROW((void)coflux::make_mpsc<long>(n, &memory), std::bad_alloc) << n;
        EXPECT_THROW((void)coflux::make_broadcast<long>(n, &memory), std::bad_alloc) << n;
        EXPECT_EQ(memory.live(), 0U);
    }
}

// --- two threads

coflux::fork<void, pool> sends_many(coflux::environment&, spsc_sender<std::size_t> tx, std::size_t n) {
    for (std::size_t i = 0; i != n; ++i) {
        if (i % 5 == 4) {
            auto permit = co_await tx.reserve();
            permit->send(i);
        } else {
            EXPECT_TRUE(co_await tx.send(i));
        }
    }
}

coflux::task<std::size_t, pool> moves_many(coflux::environment&, std::size_t capacity, std::size_t n, bool batches) {
    auto&& here = co_await coflux::context();
    auto [tx, rx] = make_spsc<std::size_t>(capacity);
    sends_many(here, std::move(tx), n).attach();
    std::size_t received = 0;
    if (batches) {
        std::array<std::size_t, 16> room;
        while (const std::size_t got = co_await rx.receive_some(std::span(room))) {
            for (std::size_t i = 0; i != got; ++i) EXPECT_EQ(room[i], received++);
        }
    } else {
        while (const auto v = co_await rx.receive()) EXPECT_EQ(*v, received++);
    }
    co_return received;
}

TEST(spsc, loses_and_doubles_nothing_between_threads) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    const std::size_t n = coflux_test::race_rounds;
    for (const std::size_t capacity : {std::size_t{1}, std::size_t{7}, std::size_t{64}}) {
        EXPECT_EQ(moves_many(env, capacity, n, false).get(), n);
        EXPECT_EQ(moves_many(env, capacity, n, true).get(), n);
    }
}

coflux::fork<std::size_t, pool> sends_until_refused(coflux::environment&, spsc_sender<int> tx) {
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
    auto [tx, rx] = make_spsc<int>(3);
    auto sending = sends_until_refused(here, std::move(tx));
    std::size_t received = 0;
    while (received < after && co_await rx.receive()) ++received;
    rx.close();
    while (const auto value = co_await rx.receive()) ++received;
    const std::size_t sent = co_await std::move(sending);
    EXPECT_EQ(received, sent) << "after " << after;
}

TEST(spsc, gives_all_that_was_sent_or_reserved_when_it_is_closed_between_sends) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    for (std::size_t round = 0; round != coflux_test::race_rounds / 10; ++round)
        closes_in_between(env, round % 50).get();
}

coflux::fork<void, pool> receives_one(coflux::environment&, borrowed<spsc_receiver<int>> rx, int* got) {
    *got = *co_await rx->receive();
}
coflux::fork<void, pool> sends_one(coflux::environment&, borrowed<spsc_sender<int>> tx) {
    EXPECT_TRUE(co_await tx->send(1));
}

coflux::task<void, pool> stops_receivers(coflux::environment&, std::size_t rounds) {
    auto&& here = co_await coflux::context();
    auto [tx, rx] = make_spsc<int>(1);
    for (std::size_t i = 0; i != rounds; ++i) {
        int got = 0;
        auto waiting = receives_one(here, borrowed(rx), &got);
        for (std::size_t y = 0; y != i % 3; ++y) co_await coflux::yield();
        auto sending = sends_one(here, borrowed(tx));
        for (std::size_t y = 0; y != i % 5 / 3; ++y) co_await coflux::yield();
        waiting.request_stop();
        const auto o = co_await coflux::as_outcome(std::move(waiting));
        co_await std::move(sending);
        EXPECT_EQ(got + rx.try_receive().value_or(0), 1);
        EXPECT_EQ(o.is_stopped(), got == 0);
    }
}

TEST(spsc, loses_nothing_when_stops_race_with_sends) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    stops_receivers(env, coflux_test::race_rounds).get();
}

}  // namespace

#include <coflux/channel/broadcast.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
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
using coflux::broadcast_message;
using coflux::broadcast_receiver;
using coflux::broadcast_sender;
using coflux::make_broadcast;
using coflux_test::manual_executor;
using coflux_test::stage;
using pool = coflux::thread_pool_executor;

coflux::task<broadcast_message<int>, manual_executor> receives(coflux::environment&,
                                                               borrowed<broadcast_receiver<int>> rx) {
    co_return co_await rx->receive();
}

TEST(broadcast, gives_every_value_to_every_receiver_in_order) {
    stage<manual_executor> s;
    auto [tx, rx] = make_broadcast<int>(8);
    auto other = tx.subscribe();
    auto third = rx.subscribe();
    for (int i = 0; i < 8; ++i) EXPECT_TRUE(tx.send(i));
    for (auto* r : {&rx, &other, &third}) {
        for (int i = 0; i < 8; ++i) {
            const auto m = s.run(receives(s.env, borrowed(*r)));
            ASSERT_TRUE(m);
            EXPECT_EQ(*m, i);
            EXPECT_EQ(m.missed(), 0U);
        }
        EXPECT_FALSE(r->try_receive());
    }
}

TEST(broadcast, tells_a_slow_receiver_how_many_it_missed_and_goes_on_with_the_oldest) {
    auto [tx, rx] = make_broadcast<int>(3);
    auto fast = rx.subscribe();
    for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(tx.send(i));
        const auto m = fast.try_receive();
        EXPECT_EQ(*m, i);
        EXPECT_EQ(m.missed(), 0U);
    }
    const auto first = rx.try_receive();
    EXPECT_EQ(*first, 7);
    EXPECT_EQ(first.missed(), 7U);
    const auto second = rx.try_receive();
    EXPECT_EQ(*second, 8);
    EXPECT_EQ(second.missed(), 0U);
    EXPECT_TRUE(tx.send(10));
    EXPECT_TRUE(tx.send(11));
    const auto third = rx.try_receive();
    EXPECT_EQ(*third, 9);
    EXPECT_EQ(third.missed(), 0U);
}

TEST(broadcast, gives_a_new_receiver_only_what_is_sent_from_then_on) {
    auto [tx, rx] = make_broadcast<int>(8);
    EXPECT_TRUE(tx.send(1));
    auto late = tx.subscribe();
    EXPECT_FALSE(late.try_receive());
    EXPECT_TRUE(tx.send(2));
    EXPECT_EQ(*late.try_receive(), 2);
}

TEST(broadcast, wakes_all_that_wait_without_running_them_in_the_send) {
    stage<manual_executor> s;
    auto [tx, rx] = make_broadcast<int>(2);
    std::vector<broadcast_receiver<int>> receivers;
    for (int i = 0; i < 20; ++i) receivers.push_back(rx.subscribe());
    std::vector<coflux::task<broadcast_message<int>, manual_executor>> waiting;
    for (auto& r : receivers) waiting.push_back(receives(s.env, borrowed(r)));
    s.drive();
    EXPECT_TRUE(tx.send(5));
    for (auto& w : waiting) EXPECT_FALSE(w.done());
    s.drive();
    for (auto& w : waiting) EXPECT_EQ(*w.get(), 5);
}

TEST(broadcast, gives_what_was_sent_and_then_the_end_when_the_last_sender_dies) {
    stage<manual_executor> s;
    auto [tx, rx] = make_broadcast<int>(2);
    auto other = rx.subscribe();
    auto waiting = receives(s.env, borrowed(other));
    s.drive();
    {
        auto one = std::move(tx);
        auto two = one;
        EXPECT_TRUE(two.send(1));
        s.drive();
        EXPECT_EQ(*waiting.get(), 1);
        waiting = receives(s.env, borrowed(other));
        one.close();
        EXPECT_FALSE(rx.closed());
        s.drive();
        ASSERT_FALSE(waiting.done());
    }
    s.drive();
    EXPECT_FALSE(waiting.get());
    EXPECT_TRUE(rx.closed());
    EXPECT_EQ(*s.run(receives(s.env, borrowed(rx))), 1);
    EXPECT_FALSE(s.run(receives(s.env, borrowed(rx))));
}

TEST(broadcast, refuses_a_send_without_receivers_and_takes_one_again_after_a_subscription) {
    auto [tx, rx] = make_broadcast<std::string>(2);
    rx.close();
    EXPECT_FALSE(tx.has_receivers());
    EXPECT_FALSE(tx.closed()) << "a receiver that subscribes gets what is sent";
    std::string value = "kept by its sender, which could not send it";
    EXPECT_FALSE(tx.send(std::move(value)));
    EXPECT_EQ(value.substr(0, 4), "kept");
    auto late = tx.subscribe();
    EXPECT_TRUE(tx.send(std::move(value)));
    EXPECT_EQ(late.try_receive()->substr(0, 4), "kept");
}

TEST(broadcast, lets_values_die_when_they_are_overwritten_or_no_receiver_is_left) {
    const auto value = std::make_shared<int>(1);
    auto [tx, rx] = make_broadcast<std::shared_ptr<int>>(2);
    auto other = rx.subscribe();
    EXPECT_TRUE(tx.send(value));
    EXPECT_TRUE(tx.send(value));
    EXPECT_EQ(value.use_count(), 3);
    EXPECT_TRUE(tx.send(nullptr));
    EXPECT_EQ(value.use_count(), 2);
    rx.close();
    EXPECT_EQ(value.use_count(), 2);
    other.close();
    EXPECT_EQ(value.use_count(), 1);
}

struct copied_with_care {
    bool* refuses;
    explicit copied_with_care(bool* r) noexcept : refuses(r) {}
    copied_with_care(const copied_with_care& other) : refuses(other.refuses) {
        if (*refuses) throw std::runtime_error("no copy");
    }
    copied_with_care(copied_with_care&&) noexcept = default;
};

TEST(broadcast, gives_a_value_again_whose_copy_threw) {
    bool refuses = true;
    auto [tx, rx] = make_broadcast<copied_with_care>(2);
    EXPECT_TRUE(tx.send(copied_with_care(&refuses)));
    EXPECT_THROW((void)rx.try_receive(), std::runtime_error);
    refuses = false;
    EXPECT_TRUE(rx.try_receive());
}

TEST(broadcast, loses_nothing_to_a_stop_of_a_receive) {
    stage<manual_executor> s;
    auto [tx, rx] = make_broadcast<int>(2);
    auto before = receives(s.env, borrowed(rx));
    before.request_stop();
    s.drive();
    EXPECT_THROW((void)before.get(), coflux::task_stopped);
    auto during = receives(s.env, borrowed(rx));
    s.drive();
    during.request_stop();
    EXPECT_TRUE(tx.send(1));
    s.drive();
    EXPECT_THROW((void)during.get(), coflux::task_stopped);
    EXPECT_EQ(*rx.try_receive(), 1);
    auto after = receives(s.env, borrowed(rx));
    s.drive();
    EXPECT_TRUE(tx.send(2));
    after.request_stop();
    s.drive();
    EXPECT_EQ(*after.get(), 2) << "completed stays completed";
}

TEST(broadcast, allocates_nothing_once_it_was_full) {
    coflux::counting_resource memory;
    {
        auto [tx, rx] = make_broadcast<int>(10, &memory);
        for (int i = 0; i < 20; ++i) EXPECT_TRUE(tx.send(i));
        const std::size_t warm = memory.allocations();
        for (int i = 0; i < 1000; ++i) EXPECT_TRUE(tx.send(i));
        EXPECT_EQ(memory.allocations(), warm);
        auto other = make_broadcast<int>(1, &memory);
        memory.fail_at(1);
        EXPECT_THROW((void)other.first.send(1), std::bad_alloc);
        EXPECT_FALSE(other.second.try_receive());
        EXPECT_TRUE(other.first.send(2));
        EXPECT_EQ(*other.second.try_receive(), 2);
    }
    EXPECT_EQ(memory.live(), 0U);
}

// --- several threads

coflux::fork<std::uint64_t, pool> follows(coflux::environment&, broadcast_receiver<std::uint64_t> rx) {
    std::uint64_t next = 0;
    while (const auto m = co_await rx.receive()) {
        EXPECT_EQ(*m, next + m.missed());
        next = *m + 1;
    }
    co_return next;
}

coflux::task<void, pool> leads(coflux::environment&, std::size_t capacity, std::uint64_t n) {
    auto&& here = co_await coflux::context();
    auto [tx, rx] = make_broadcast<std::uint64_t>(capacity);
    auto one = follows(here, rx.subscribe());
    auto two = follows(here, std::move(rx));
    for (std::uint64_t i = 0; i != n; ++i) {
        EXPECT_TRUE(tx.send(std::uint64_t{i}));
        if (i % 3 == 0) co_await coflux::yield();
    }
    tx.close();
    auto [a, b] = co_await coflux::when_all(std::move(one), std::move(two));
    EXPECT_EQ(a, n);
    EXPECT_EQ(b, n);
}

TEST(broadcast, accounts_for_every_value_between_threads) {
    pool threads{3};
    auto env = coflux::make_environment(threads);
    for (const std::size_t capacity : {std::size_t{1}, std::size_t{16}})
        leads(env, capacity, coflux_test::race_rounds).get();
}

}  // namespace

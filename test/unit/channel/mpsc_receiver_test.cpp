#include <coflux/channel/mpsc_receiver.hpp>

#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include <coflux/channel/mpsc.hpp>
#include <coflux/channel/unbounded_mpsc.hpp>
#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "support/executors.hpp"
#include "support/iterations.hpp"
#include "support/witness.hpp"
#include "unit/core/stage.hpp"

namespace {

using coflux::borrowed;
using coflux::make_mpsc;
using coflux::make_unbounded_mpsc;
using coflux::mpsc_receiver;
using coflux_test::manual_executor;
using coflux_test::move_only;
using coflux_test::stage;
using pool = coflux::thread_pool_executor;

coflux::fork<std::optional<int>, manual_executor> receives(coflux::environment&, borrowed<mpsc_receiver<int>> rx) {
    co_return co_await rx->receive();
}
coflux::task<std::vector<int>, manual_executor> receives_some(coflux::environment&, borrowed<mpsc_receiver<int>> rx,
                                                              std::size_t room) {
    std::vector<int> values(room);
    values.resize(co_await rx->receive_some(std::span(values)));
    co_return values;
}

TEST(mpsc_receiver, takes_what_is_there_in_one_batch_and_no_more_than_there_is_room) {
    stage<manual_executor> s;
    auto [tx, rx] = make_unbounded_mpsc<int>();
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(tx.send(i));
    const auto first = s.run(receives_some(s.env, borrowed(rx), 70));
    ASSERT_EQ(first.size(), 70U);
    EXPECT_EQ(first.back(), 69);
    const auto second = s.run(receives_some(s.env, borrowed(rx), 70));
    ASSERT_EQ(second.size(), 30U);
    EXPECT_EQ(second.back(), 99);
    tx.close();
    EXPECT_TRUE(s.run(receives_some(s.env, borrowed(rx), 70)).empty());
}

TEST(mpsc_receiver, waits_for_the_first_value_of_a_batch) {
    stage<manual_executor> s;
    auto [tx, rx] = make_unbounded_mpsc<int>();
    auto t = receives_some(s.env, borrowed(rx), 10);
    s.drive();
    ASSERT_FALSE(t.done());
    EXPECT_TRUE(tx.send(1));
    EXPECT_TRUE(tx.send(2));
    s.drive();
    EXPECT_EQ(t.get(), (std::vector<int>{1, 2}));
}

TEST(mpsc_receiver, appends_a_batch_of_values_that_cannot_be_made_from_nothing) {
    stage<manual_executor> s;
    auto [tx, rx] = make_mpsc<move_only>(8);
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(tx.try_send(move_only(i)));
    const auto t = [](coflux::environment&,
                      borrowed<mpsc_receiver<move_only>> in) -> coflux::task<std::size_t, manual_executor> {
        std::vector<move_only> values;
        const std::size_t n = co_await in->receive_some(std::back_inserter(values), 4);
        EXPECT_EQ(values.size(), n);
        EXPECT_EQ(*values.back().value, 3);
        co_return n;
    };
    EXPECT_EQ(s.run(t(s.env, borrowed(rx))), 4U);
}

struct refuses_to_be_assigned {
    int value;
    refuses_to_be_assigned(int v) noexcept : value(v) {}
    refuses_to_be_assigned(refuses_to_be_assigned&&) noexcept = default;
    refuses_to_be_assigned& operator=(refuses_to_be_assigned&& other) {
        if (other.value == 2) throw std::runtime_error("two");
        value = other.value;
        return *this;
    }
    ~refuses_to_be_assigned() = default;
};

TEST(mpsc_receiver, loses_only_the_value_whose_assignment_throws_and_no_slot) {
    stage<manual_executor> s;
    auto [tx, rx] = make_mpsc<refuses_to_be_assigned>(3);
    for (int i = 1; i <= 3; ++i) EXPECT_TRUE(tx.try_send(refuses_to_be_assigned(i)));
    const auto t = [](coflux::environment&,
                      borrowed<mpsc_receiver<refuses_to_be_assigned>> in) -> coflux::task<int, manual_executor> {
        std::array<refuses_to_be_assigned, 3> values{0, 0, 0};
        EXPECT_THROW((void)co_await in->receive_some(std::span(values)), std::runtime_error);
        EXPECT_EQ(values[0].value, 1);
        const auto rest = co_await in->receive();
        co_return rest->value;
    };
    EXPECT_EQ(s.run(t(s.env, borrowed(rx))), 3);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(tx.try_send(refuses_to_be_assigned(i)));
    EXPECT_FALSE(tx.try_send(refuses_to_be_assigned(4)));
}

TEST(mpsc_receiver, that_is_stopped_while_it_waits_takes_nothing) {
    stage<manual_executor> s;
    auto [tx, rx] = make_unbounded_mpsc<int>();
    const auto root = [](coflux::environment&, borrowed<mpsc_receiver<int>> in,
                         borrowed<coflux::unbounded_mpsc_sender<int>> out) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        auto waiting = receives(here, in);
        co_await coflux::yield();
        waiting.request_stop();
        EXPECT_TRUE(out->send(7)) << "after the stop has taken the wait";
        const auto o = co_await coflux::as_outcome(std::move(waiting));
        EXPECT_TRUE(o.is_stopped());
        EXPECT_EQ(co_await in->receive(), 7);
    };
    s.run(root(s.env, borrowed(rx), borrowed(tx)));
}

TEST(mpsc_receiver, that_got_a_value_before_the_stop_keeps_it) {
    stage<manual_executor> s;
    auto [tx, rx] = make_unbounded_mpsc<int>();
    const auto root = [](coflux::environment&, borrowed<mpsc_receiver<int>> in,
                         borrowed<coflux::unbounded_mpsc_sender<int>> out) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        auto waiting = receives(here, in);
        co_await coflux::yield();
        EXPECT_TRUE(out->send(7));
        waiting.request_stop();
        EXPECT_EQ(co_await std::move(waiting), 7);
    };
    s.run(root(s.env, borrowed(rx), borrowed(tx)));
}

TEST(mpsc_receiver, that_was_told_to_stop_before_it_waits_stops_unless_there_is_a_value) {
    stage<manual_executor> s;
    auto [tx, rx] = make_unbounded_mpsc<int>();
    EXPECT_TRUE(tx.send(1));
    auto t = [](coflux::environment&, borrowed<mpsc_receiver<int>> in,
                int* got) -> coflux::task<void, manual_executor> {
        *got = *co_await in->receive();
        (void)co_await in->receive();
        ADD_FAILURE() << "went on after a stop";
    };
    int got = 0;
    auto running = t(s.env, borrowed(rx), &got);
    running.request_stop();
    s.drive();
    EXPECT_THROW(running.get(), coflux::task_stopped);
    EXPECT_EQ(got, 1);
    EXPECT_TRUE(tx.send(2));
    EXPECT_EQ(rx.try_receive(), 2);
}

TEST(mpsc_receiver, waits_again_where_a_stop_took_an_earlier_wait) {
    stage<manual_executor> s;
    auto [tx, rx] = make_unbounded_mpsc<int>();
    for (int i = 0; i < 200; ++i) {
        auto stopped = receives(s.env, borrowed(rx));
        s.drive();
        stopped.request_stop();
        s.drive();
        auto waits = receives(s.env, borrowed(rx));
        s.drive();
        EXPECT_FALSE(waits.done());
        EXPECT_TRUE(tx.send(i));
        s.drive();
        EXPECT_TRUE(waits.done());
        EXPECT_TRUE(stopped.done());
    }
}

coflux::fork<void, pool> receives_one(coflux::environment&, borrowed<mpsc_receiver<int>> rx, int* got) {
    *got = *co_await rx->receive();
}
coflux::fork<void, pool> sends_one(coflux::environment&, borrowed<coflux::unbounded_mpsc_sender<int>> tx) {
    EXPECT_TRUE(tx->send(1));
    co_return;
}

coflux::task<void, pool> stops_receivers(coflux::environment&, std::size_t rounds) {
    auto&& here = co_await coflux::context();
    auto [tx, rx] = make_unbounded_mpsc<int>();
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

TEST(mpsc_receiver, counts_no_value_twice_and_loses_none_when_stops_race_with_sends) {
    pool threads{3};
    auto env = coflux::make_environment(threads);
    stops_receivers(env, coflux_test::race_rounds).get();
}

TEST(mpsc_receiver, can_be_moved_and_closed) {
    auto [tx, rx] = make_unbounded_mpsc<int>();
    EXPECT_TRUE(tx.send(1));
    mpsc_receiver<int> other = std::move(rx);
    other.close();
    EXPECT_TRUE(other.closed());
    EXPECT_FALSE(tx.send(2));
    EXPECT_EQ(other.try_receive(), 1);
    std::array<int, 4> room{};
    EXPECT_EQ(other.try_receive_some(std::span(room)), 0U);
    auto [tx2, rx2] = make_unbounded_mpsc<int>();
    other = std::move(rx2);
    EXPECT_TRUE(tx2.send(3));
    EXPECT_EQ(other.try_receive_some(std::span(room)), 1U);
    EXPECT_EQ(room[0], 3);
}

}  // namespace

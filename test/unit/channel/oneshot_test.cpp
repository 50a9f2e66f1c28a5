#include <coflux/channel/oneshot.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "support/executors.hpp"
#include "support/iterations.hpp"
#include "support/malloc_resource.hpp"
#include "support/witness.hpp"
#include "unit/core/stage.hpp"

namespace {

using coflux::borrowed;
using coflux::make_oneshot;
using coflux::oneshot_receiver;
using coflux::oneshot_sender;
using coflux_test::manual_executor;
using coflux_test::move_only;
using coflux_test::stage;
using pool = coflux::thread_pool_executor;

coflux::task<std::optional<int>, manual_executor> receives(coflux::environment&, borrowed<oneshot_receiver<int>> rx) {
    co_return co_await *rx;
}

TEST(oneshot, gives_the_value_that_was_sent_before) {
    stage<manual_executor> s;
    auto [tx, rx] = make_oneshot<int>();
    EXPECT_FALSE(tx.closed());
    EXPECT_FALSE(rx.closed());
    EXPECT_TRUE(tx.send(7));
    EXPECT_TRUE(tx.closed());
    EXPECT_TRUE(rx.closed());
    EXPECT_FALSE(rx.drained());
    EXPECT_EQ(s.run(receives(s.env, borrowed(rx))), 7);
    EXPECT_TRUE(rx.drained());
    EXPECT_EQ(s.run(receives(s.env, borrowed(rx))), std::nullopt) << "it was taken";
}

TEST(oneshot, gives_the_value_that_is_sent_later_without_running_the_receiver_in_the_send) {
    stage<manual_executor> s;
    auto [tx, rx] = make_oneshot<int>();
    auto t = receives(s.env, borrowed(rx));
    s.drive();
    ASSERT_FALSE(t.done());
    EXPECT_TRUE(tx.send(7));
    EXPECT_FALSE(t.done());
    s.drive();
    EXPECT_EQ(t.get(), 7);
}

TEST(oneshot, gives_nothing_when_the_sender_dies) {
    for (const bool waits : {false, true}) {
        stage<manual_executor> s;
        auto [tx, rx] = make_oneshot<int>();
        std::optional<oneshot_sender<int>> sender(std::move(tx));
        if (!waits) sender.reset();
        auto t = receives(s.env, borrowed(rx));
        s.drive();
        EXPECT_EQ(t.done(), !waits);
        sender.reset();
        s.drive();
        EXPECT_EQ(t.get(), std::nullopt);
        EXPECT_TRUE(rx.closed());
        EXPECT_TRUE(rx.drained());
    }
}

TEST(oneshot, refuses_the_send_and_leaves_the_value_when_the_receiver_is_gone_or_has_closed) {
    for (const bool dies : {false, true}) {
        auto [tx, rx] = make_oneshot<move_only>();
        std::optional<oneshot_receiver<move_only>> receiver(std::move(rx));
        dies ? receiver.reset() : receiver->close();
        EXPECT_TRUE(tx.closed());
        move_only value(3);
        EXPECT_FALSE(tx.send(std::move(value)));
        EXPECT_EQ(*value.value, 3);
    }
}

TEST(oneshot, keeps_what_was_sent_before_the_receiver_closed) {
    auto [tx, rx] = make_oneshot<move_only>();
    EXPECT_TRUE(tx.send(move_only(3)));
    rx.close();
    EXPECT_EQ(*rx.try_receive()->value, 3);
    EXPECT_FALSE(rx.try_receive().has_value());
}

TEST(oneshot, destroys_a_value_that_is_not_taken) {
    const auto value = std::make_shared<int>(1);
    {
        auto [tx, rx] = make_oneshot<std::shared_ptr<int>>();
        EXPECT_TRUE(tx.send(value));
        EXPECT_EQ(value.use_count(), 2);
    }
    EXPECT_EQ(value.use_count(), 1);
}

TEST(oneshot, loses_nothing_to_a_stop_of_the_receive) {
    stage<manual_executor> s;
    auto [tx, rx] = make_oneshot<int>();
    auto before = receives(s.env, borrowed(rx));
    before.request_stop();
    s.drive();
    EXPECT_THROW(before.get(), coflux::task_stopped);
    auto during = receives(s.env, borrowed(rx));
    s.drive();
    during.request_stop();
    s.drive();
    EXPECT_THROW(during.get(), coflux::task_stopped);
    auto after = receives(s.env, borrowed(rx));
    s.drive();
    EXPECT_TRUE(tx.send(1));
    after.request_stop();
    s.drive();
    EXPECT_EQ(after.get(), 1) << "completed stays completed";
}

TEST(oneshot, takes_one_block_and_gives_it_back_with_the_last_end) {
    coflux::counting_resource memory;
    {
        auto [tx, rx] = make_oneshot<int>(&memory);
        EXPECT_EQ(memory.allocations(), 1U);
        auto moved = std::move(rx);
        EXPECT_TRUE(tx.send(1));
        EXPECT_EQ(memory.live(), 1U);
        EXPECT_EQ(moved.try_receive(), 1);
    }
    EXPECT_EQ(memory.live(), 0U);
    memory.fail_at(1);
    EXPECT_THROW((void)make_oneshot<int>(&memory), std::bad_alloc);
}

TEST(oneshot_death, of_a_second_send) {
    auto [tx, rx] = make_oneshot<int>();
    EXPECT_TRUE(tx.send(1));
    EXPECT_DEATH((void)tx.send(2), "has sent");
}

// --- several threads

coflux::fork<void, pool> answers(coflux::environment&, oneshot_sender<std::size_t> tx, std::size_t value) {
    if (value % 3 != 0) {
        EXPECT_TRUE(tx.send(std::size_t{value}));
    }
    co_return;
}
coflux::task<std::size_t, pool> asks(coflux::environment&, std::size_t rounds) {
    auto&& here = co_await coflux::context();
    std::size_t answered = 0;
    for (std::size_t i = 0; i != rounds; ++i) {
        auto [tx, rx] = make_oneshot<std::size_t>();
        answers(here, std::move(tx), i).attach();
        if (i % 2 == 0) co_await coflux::yield();
        const auto v = co_await rx;
        EXPECT_EQ(v.has_value(), i % 3 != 0);
        if (v) {
            EXPECT_EQ(*v, i);
            ++answered;
        }
    }
    co_return answered;
}

TEST(oneshot, loses_no_answer_between_threads) {
    pool threads{3};
    auto env = coflux::make_environment(threads);
    const std::size_t rounds = coflux_test::race_rounds;
    EXPECT_EQ(asks(env, rounds).get(), rounds - (rounds + 2) / 3);
}

TEST(oneshot, is_either_sent_or_closed_when_both_happen_at_once) {
    for (std::size_t i = 0; i != coflux_test::race_rounds / 20; ++i) {
        auto [tx, rx] = make_oneshot<move_only>();
        bool sent = false;
        move_only value(1);
        {
            const std::jthread sender([&sent, &value, &tx = tx] { sent = tx.send(std::move(value)); });
            rx.close();
        }
        const auto v = rx.try_receive();
        EXPECT_EQ(v.has_value(), sent);
        EXPECT_EQ(value.value == nullptr, sent);
    }
}

TEST(oneshot, is_freed_by_the_last_end_when_both_die_at_once) {
    coflux_test::malloc_resource memory;  // a sanitizer sees what is freed here
    for (std::size_t i = 0; i != coflux_test::race_rounds / 50; ++i) {
        auto [tx, rx] = make_oneshot<move_only>(&memory);
        const std::jthread sender([mine = std::move(tx)]() mutable { (void)mine.send(move_only(1)); });
        auto last = std::move(rx);
        (void)last.try_receive();
    }
}

}  // namespace

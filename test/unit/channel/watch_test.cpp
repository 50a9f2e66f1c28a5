#include <coflux/channel/watch.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
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
using coflux::make_watch;
using coflux::watch_receiver;
using coflux::watch_sender;
using coflux_test::manual_executor;
using coflux_test::move_only;
using coflux_test::stage;
using pool = coflux::thread_pool_executor;

coflux::task<bool, manual_executor> changes(coflux::environment&, borrowed<watch_receiver<int>> rx) {
    co_return co_await rx->changed();
}

TEST(watch, shows_the_initial_value_as_seen) {
    auto [tx, rx] = make_watch<int>(7);
    EXPECT_EQ(*rx.borrow(), 7);
    EXPECT_EQ(*tx.borrow(), 7);
    EXPECT_FALSE(rx.has_changed());
    EXPECT_EQ(rx.version(), 0U);
}

TEST(watch, shows_the_latest_value_and_passes_by_those_between) {
    stage<manual_executor> s;
    auto [tx, rx] = make_watch<int>(0);
    for (int i = 1; i <= 3; ++i) EXPECT_TRUE(tx.send(i));
    EXPECT_TRUE(rx.has_changed());
    EXPECT_TRUE(s.run(changes(s.env, borrowed(rx))));
    EXPECT_EQ(*rx.borrow(), 3);
    EXPECT_EQ(rx.version(), 3U);
    EXPECT_FALSE(rx.has_changed());
}

TEST(watch, wakes_every_receiver_that_waits_without_running_it_in_the_send) {
    stage<manual_executor> s;
    auto [tx, rx] = make_watch<int>(0);
    std::vector<watch_receiver<int>> receivers(20, rx);
    std::vector<coflux::task<bool, manual_executor>> waiting;
    for (auto& r : receivers) waiting.push_back(changes(s.env, borrowed(r)));
    s.drive();
    for (auto& w : waiting) ASSERT_FALSE(w.done());
    EXPECT_TRUE(tx.send(1));
    for (auto& w : waiting) EXPECT_FALSE(w.done());
    s.drive();
    for (auto& w : waiting) EXPECT_TRUE(w.get());
}

TEST(watch, ends_with_the_last_value_when_the_sender_dies) {
    stage<manual_executor> s;
    auto [tx, rx] = make_watch<int>(0);
    auto other = rx;
    auto waiting = changes(s.env, borrowed(other));
    s.drive();
    {
        auto last = std::move(tx);
        EXPECT_TRUE(last.send(1));
        s.drive();
        EXPECT_TRUE(waiting.get());
        waiting = changes(s.env, borrowed(other));
        s.drive();
        ASSERT_FALSE(waiting.done());
    }
    s.drive();
    EXPECT_FALSE(waiting.get());
    EXPECT_TRUE(rx.closed());
    EXPECT_TRUE(s.run(changes(s.env, borrowed(rx)))) << "this one has not seen the last value";
    EXPECT_FALSE(s.run(changes(s.env, borrowed(rx))));
    EXPECT_EQ(*rx.borrow(), 1);
}

TEST(watch, marks_as_seen_what_was_borrowed_for_good) {
    auto [tx, rx] = make_watch<int>(0);
    EXPECT_TRUE(tx.send(1));
    EXPECT_EQ(*rx.borrow(), 1);
    EXPECT_TRUE(rx.has_changed());
    EXPECT_EQ(*rx.borrow_and_update(), 1);
    EXPECT_FALSE(rx.has_changed());
}

TEST(watch, keeps_a_borrowed_value_while_newer_ones_come) {
    const auto first = std::make_shared<int>(1);
    const auto second = std::make_shared<int>(2);
    auto [tx, rx] = make_watch<std::shared_ptr<int>>(first);
    {
        auto old = rx.borrow();
        EXPECT_TRUE(tx.send(second));
        EXPECT_TRUE(tx.send(nullptr));
        EXPECT_EQ(second.use_count(), 1) << "no receiver looks at it";
        EXPECT_EQ(first.use_count(), 2);
        EXPECT_EQ(**old, 1);
        auto newer = rx.borrow();
        old = std::move(newer);
        EXPECT_EQ(first.use_count(), 1);
        EXPECT_EQ(old->get(), nullptr);
    }
    { const auto dead = std::move(tx); }
}

TEST(watch, outlives_its_ends_in_a_look) {
    coflux::counting_resource memory;
    {
        std::optional<coflux::watch_ref<std::string>> look;
        {
            auto [tx, rx] = make_watch<std::string>("a value that is too long to be kept in place", &memory);
            look = rx.borrow();
        }
        EXPECT_EQ((*look)->substr(0, 7), "a value");
    }
    EXPECT_EQ(memory.live(), 0U);
}

TEST(watch, without_receivers_keeps_the_value_for_later) {
    auto [tx, rx] = make_watch<move_only>(move_only(0));
    EXPECT_TRUE(tx.has_receivers());
    { const auto dead = std::move(rx); }
    EXPECT_FALSE(tx.has_receivers());
    EXPECT_FALSE(tx.closed()) << "a receiver that subscribes sees the value";
    EXPECT_FALSE(tx.send(move_only(1)));
    auto late = tx.subscribe();
    EXPECT_FALSE(late.has_changed());
    EXPECT_EQ(*late.borrow()->value, 1);
    EXPECT_TRUE(tx.send(move_only(2)));
    EXPECT_TRUE(late.has_changed());
    watch_receiver<move_only> copy(late);
    late = copy;
    EXPECT_TRUE(late.has_changed()) << "a copy has seen what the original has";
}

TEST(watch, loses_nothing_to_a_stop_of_a_wait) {
    stage<manual_executor> s;
    auto [tx, rx] = make_watch<int>(0);
    auto before = changes(s.env, borrowed(rx));
    before.request_stop();
    s.drive();
    EXPECT_THROW(before.get(), coflux::task_stopped);
    auto during = changes(s.env, borrowed(rx));
    s.drive();
    during.request_stop();
    EXPECT_TRUE(tx.send(1));
    s.drive();
    EXPECT_THROW(during.get(), coflux::task_stopped);
    EXPECT_TRUE(rx.has_changed());
    EXPECT_TRUE(s.run(changes(s.env, borrowed(rx))));
    auto after = changes(s.env, borrowed(rx));
    s.drive();
    EXPECT_TRUE(tx.send(2));
    after.request_stop();
    s.drive();
    EXPECT_TRUE(after.get()) << "completed stays completed";
}

TEST(watch, changes_nothing_where_memory_is_missing) {
    coflux::counting_resource memory;
    {
        auto [tx, rx] = make_watch<int>(1, &memory);
        memory.fail_at(1);
        EXPECT_THROW((void)tx.send(2), std::bad_alloc);
        EXPECT_FALSE(rx.has_changed());
        EXPECT_EQ(*rx.borrow(), 1);
        EXPECT_TRUE(tx.send(3));
        const std::size_t warm = memory.allocations();
        for (int i = 0; i < 1000; ++i) EXPECT_TRUE(tx.send(i));
        EXPECT_EQ(memory.allocations(), warm);
    }
    EXPECT_EQ(memory.live(), 0U);
    for (std::size_t n = 1; n != 3; ++n) {
        memory.fail_at(n);
        EXPECT_THROW((void)make_watch<int>(1, &memory), std::bad_alloc);
        EXPECT_EQ(memory.live(), 0U);
    }
}

// --- several threads

/// Torn if its words differ.
struct wide {
    std::array<std::uint64_t, 8> words;
    explicit wide(std::uint64_t v) noexcept { words.fill(v); }
};

coflux::fork<std::uint64_t, pool> follows(coflux::environment&, watch_receiver<wide> rx) {
    std::uint64_t last = 0;
    for (bool more = co_await rx.changed(); more; more = co_await rx.changed()) {
        const auto value = rx.borrow();
        const std::uint64_t now = value->words[0];
        for (const std::uint64_t w : value->words) EXPECT_EQ(w, now);
        EXPECT_GE(now, last);
        EXPECT_GE(now, rx.version());
        last = now;
    }
    co_return last;
}

coflux::task<void, pool> leads(coflux::environment&, std::uint64_t n) {
    auto&& here = co_await coflux::context();
    auto [tx, rx] = make_watch<wide>(wide(0));
    auto one = follows(here, rx);
    auto two = follows(here, std::move(rx));
    for (std::uint64_t i = 1; i <= n; ++i) {
        EXPECT_TRUE(tx.send(wide(i)));
        if (i % 4 == 0) co_await coflux::yield();
    }
    tx.close();
    auto [a, b] = co_await coflux::when_all(std::move(one), std::move(two));
    EXPECT_EQ(a, n);
    EXPECT_EQ(b, n);
}

TEST(watch, shows_whole_values_and_always_the_last_one_between_threads) {
    pool threads{3};
    auto env = coflux::make_environment(threads);
    leads(env, coflux_test::race_rounds).get();
}

}  // namespace

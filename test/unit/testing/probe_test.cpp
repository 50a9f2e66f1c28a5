#include <coflux/testing/probe.hpp>

#include <chrono>
#include <coroutine>
#include <memory>
#include <stdexcept>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "support/foreign_event.hpp"

namespace {

using coflux::testing::await_state;
using coflux::testing::probe;

TEST(probe, tells_an_await_that_does_not_wait) {
    coflux::mutex m;
    probe p([&] { return m.lock(); });
    EXPECT_FALSE(p.done());
    EXPECT_EQ(p.start(), await_state::ready);
    EXPECT_TRUE(p.done());
    EXPECT_EQ(p.wakes(), 0U);
    auto got = p.outcome();
    EXPECT_TRUE(got.has_value());
    EXPECT_FALSE(m.try_lock());
}

TEST(probe, tells_the_wake_from_the_resumption) {
    coflux::mutex m;
    coflux::mutex::guard held = m.try_lock();
    probe p([&] { return m.lock(); });
    EXPECT_EQ(p.start(), await_state::suspended);
    EXPECT_FALSE(p.resume());
    held.unlock();
    EXPECT_EQ(p.wakes(), 1U);
    EXPECT_FALSE(p.done()) << "the unlock ran the waiter";
    EXPECT_TRUE(p.resume());
    EXPECT_TRUE(p.done());
    EXPECT_TRUE(p.outcome().has_value());
}

TEST(probe, tells_a_stop) {
    coflux::manual_reset_event e;
    probe p([&] { return e.wait(); });
    EXPECT_EQ(p.start(), await_state::suspended);
    p.request_stop();
    EXPECT_EQ(p.wakes(), 1U);
    EXPECT_TRUE(p.resume());
    EXPECT_TRUE(p.outcome().is_stopped());
}

TEST(probe, stops_before_the_start_as_well) {
    coflux::manual_reset_event e;
    probe p([&] { return e.wait(); });
    p.request_stop();
    EXPECT_EQ(p.start(), await_state::ready);
    EXPECT_TRUE(p.outcome().is_stopped());
}

TEST(probe, stops_what_it_awaits_when_it_dies) {
    coflux::channel<int[1]> ch;
    {
        probe p([&] { return ch.receive(); });
        EXPECT_EQ(p.start(), await_state::suspended);
    }
    EXPECT_TRUE(ch.try_send(1));
    EXPECT_EQ(ch.try_receive(), 1);  // it was not taken
}

TEST(probe, gives_a_value_that_only_moves) {
    coflux::channel<std::unique_ptr<int>[1]> ch;
    probe p([&] { return ch.receive(); });
    EXPECT_EQ(p.start(), await_state::suspended);
    ASSERT_TRUE(ch.try_send(std::make_unique<int>(4)));
    EXPECT_TRUE(p.resume());
    auto got = p.outcome().value();
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(**got, 4);
}

coflux::call<int> fails(coflux::environment&) {
    co_await coflux::yield();
    throw std::runtime_error("failed");
}

TEST(probe, gives_an_error) {
    auto env = coflux::make_environment();
    probe p([&] { return fails(env); });
    EXPECT_EQ(p.start(), await_state::suspended);
    EXPECT_TRUE(p.resume());
    const auto got = p.outcome();
    ASSERT_TRUE(got.has_error());
    EXPECT_THROW(std::rethrow_exception(got.error()), std::runtime_error);
}

TEST(probe, awaits_what_coflux_makes_an_awaitable_of) {
    probe p(std::chrono::seconds(0));
    EXPECT_EQ(p.start(), await_state::suspended);  // a sleep of no time lets other coroutines run
    EXPECT_TRUE(p.resume());
    EXPECT_TRUE(p.outcome().has_value());
}

TEST(probe, calls_the_members_of_what_coflux_does_not_know) {
    coflux_test::foreign_event e;
    probe p(e);
    EXPECT_EQ(p.start(), await_state::suspended);
    EXPECT_TRUE(e.has_waiter());
    EXPECT_FALSE(p.resume());
    e.set();
    EXPECT_EQ(p.wakes(), 1U);
    EXPECT_TRUE(p.resume());
    EXPECT_TRUE(p.outcome().has_value());
    probe again(e);
    EXPECT_EQ(again.start(), await_state::ready);
}

/// Wakes twice, and says when it dies.
struct hasty {
    bool* dead;
    explicit hasty(bool& d) noexcept : dead(&d) {}
    hasty(hasty&& other) noexcept : dead(std::exchange(other.dead, nullptr)) {}
    hasty& operator=(hasty&&) = delete;
    ~hasty() {
        if (dead != nullptr) *dead = true;
    }
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) const {
        h.resume();
        h.resume();
    }
    int await_resume() const { throw std::runtime_error("hasty"); }
};

TEST(probe, counts_each_wake_of_a_faulty_awaitable) {
    bool dead = false;
    probe p([&] { return hasty(dead); });
    EXPECT_EQ(p.start(), await_state::suspended);
    EXPECT_EQ(p.wakes(), 2U);
    EXPECT_TRUE(p.resume());
    EXPECT_TRUE(p.outcome().has_error());
}

TEST(probe, destroys_a_foreign_awaiter_while_it_waits) {
    bool dead = false;
    probe p([&] { return hasty(dead); });
    p.start();
    EXPECT_FALSE(dead);
    p.destroy();
    EXPECT_TRUE(dead);
}

}  // namespace

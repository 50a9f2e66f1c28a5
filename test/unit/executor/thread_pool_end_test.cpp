// A pool that is destroyed before what runs on it has ended: what is left is named, with its location and the rule.
#include <chrono>
#include <deque>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <support/no_hang.hpp>
#include <support/witness.hpp>

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux_test::flag;
using pool = coflux::thread_pool_executor;
using inbox = coflux::channel<int[4]>;

constexpr const char* rule = "a thread pool outlives what runs in the environments that name it";

/// A message's words for a coroutine that waits in this file, so many lines from here.
std::string at(const char* name, unsigned lines_below, std::source_location where = std::source_location::current()) {
    return std::string(name) + " at [^ ]*thread_pool_end_test\\.cpp:" + std::to_string(where.line() + lines_below) +
           "[^0-9]";
}

/// A pool, what runs on it, and how the pool ends before that.
struct short_lived {
    flag begun;
    inbox ch;
    coflux::manual_reset_event event;
    std::optional<pool> threads{std::in_place, 1U};
    coflux::environment_of<pool&> env{*threads};

    short_lived() { coflux_test::die_rather_than_hang(); }
    /// Until all that was made before has come to its await: the only worker parks when nothing is ready.
    void await_rest() {
        const auto before = threads->counters()[0].sleeps;
        [](coflux::environment&) -> coflux::task<void, pool> { co_return; }(env).join();
        while (threads->counters()[0].sleeps == before) {}
    }
    /// Once what has said that it begins has come to its await: the only worker has nothing else to do.
    void end_pool() {
        begun.wait();
        while (threads->counters()[0].sleeps == 0) {}
        threads.reset();
    }
};

const std::string sleeper_at = at("sleeper", 3);
coflux::task<void, pool> sleeper(coflux::environment&, borrowed<short_lived> in) {
    in->begun.set();
    co_await 10h;
}

const std::string nap_at = at("nap", 2);
coflux::fork<void, pool> nap(coflux::environment&) {
    co_await 10h;
}
const std::string parent_at = at("parent_of_nap", 5);
coflux::task<void, pool> parent_of_nap(coflux::environment&, borrowed<short_lived> in) {
    auto&& here = co_await coflux::context();
    auto child = nap(here);
    in->begun.set();
    co_await std::move(child);
}

const std::string receiver_at = at("receiver", 3);
coflux::task<void, pool> receiver(coflux::environment&, borrowed<short_lived> in) {
    in->begun.set();
    (void)co_await in->ch.receive();
}

const std::string waiter_at = at("waiter", 3);
coflux::task<void, pool> waiter(coflux::environment&, borrowed<short_lived> in) {
    in->begun.set();
    co_await in->event.wait();
}

const std::string silent_at = at("silent", 2);
coflux::fork<void, pool> silent(coflux::environment&, borrowed<short_lived> in) {
    (void)co_await in->ch.receive();
}
const std::string limiting_at = at("limiting", 5);
coflux::task<void, pool> limiting(coflux::environment&, borrowed<short_lived> in) {
    auto&& here = co_await coflux::context();
    auto child = silent(here, in);
    in->begun.set();
    (void)co_await coflux::timeout(std::move(child), 10h);
}

const std::string calling_at = at("calling", 3);
coflux::task<void, pool> calling(coflux::environment&, borrowed<short_lived> in) {
    in->begun.set();
    (void)co_await coflux::timeout(in->ch.receive(), 10h);
}

coflux::task<void, pool> computes(coflux::environment&, borrowed<short_lived> in) {
    in->begun.set();
    std::this_thread::sleep_for(100ms);  // by the clock: nothing outside shows that the pool's end has begun
    co_return;
}

coflux::task<void, pool> late(coflux::environment&) {
    co_return;
}

/// Each reaches the sentence and the names in this order.
#define EXPECT_NAMED(statement, ...) EXPECT_DEATH(statement, in_order({__VA_ARGS__, rule}))

std::string in_order(std::initializer_list<std::string> pieces) {
    std::string all;
    for (const std::string& piece : pieces) all += (all.empty() ? "" : "(.|\n)*") + piece;
    return all;
}

TEST(thread_pool_end_death, names_what_sleeps_on_it) {
    EXPECT_NAMED(
        {
            short_lived s;
            auto t = sleeper(s.env, borrowed(s));
            s.end_pool();
        },
        sleeper_at);
}

TEST(thread_pool_end_death, names_all_that_sleep_on_it) {
    EXPECT_NAMED(
        {
            short_lived s;
            auto first = sleeper(s.env, borrowed(s));
            auto second = parent_of_nap(s.env, borrowed(s));
            s.await_rest();
            s.end_pool();
        },
        sleeper_at, nap_at, parent_at, "2 coroutines");
}

TEST(thread_pool_end_death, names_what_is_limited_on_it) {
    EXPECT_NAMED(
        {
            short_lived s;
            auto t = limiting(s.env, borrowed(s));
            s.end_pool();
        },
        silent_at, limiting_at);
    EXPECT_NAMED(
        {
            short_lived s;
            auto t = calling(s.env, borrowed(s));
            s.end_pool();
        },
        calling_at);
}

TEST(thread_pool_end_death, names_what_begins_to_sleep_while_it_ends) {
    EXPECT_NAMED(
        {
            short_lived s;
            auto first = computes(s.env, borrowed(s));
            s.begun.wait();
            auto t = sleeper(s.env, borrowed(s));  // queued behind it
            s.threads.reset();
        },
        sleeper_at);
}

TEST(thread_pool_end_death, names_what_is_resumed_on_one_that_is_gone) {
    EXPECT_NAMED(
        {
            short_lived s;
            auto t = receiver(s.env, borrowed(s));
            s.end_pool();
            (void)s.ch.try_send(1);
        },
        receiver_at);
    EXPECT_NAMED(
        {
            short_lived s;
            auto t = waiter(s.env, borrowed(s));
            s.end_pool();
            s.event.set();
        },
        waiter_at);
}

TEST(thread_pool_end_death, names_what_is_stopped_on_one_that_is_gone) {
    EXPECT_NAMED(
        {
            short_lived s;
            auto t = receiver(s.env, borrowed(s));
            s.end_pool();
            t.request_stop();
        },
        receiver_at);
}

TEST(thread_pool_end_death, names_what_begins_on_one_that_is_gone) {
    EXPECT_NAMED(
        {
            short_lived s;
            s.threads.reset();
            auto t = late(s.env);
        },
        "late at [^ ]*thread_pool_end_test\\.cpp:");
}

/// The memory of a pool that is gone may be that of the next one.
TEST(thread_pool_end_death, is_not_forgotten_when_another_begins) {
    EXPECT_NAMED(
        {
            short_lived s;
            auto t = receiver(s.env, borrowed(s));
            s.end_pool();
            std::deque<pool> others;
            for (int i = 0; i < 8; ++i) others.emplace_back(1U);
            (void)s.ch.try_send(1);
        },
        receiver_at);
}

TEST(thread_pool_end, with_no_coroutine_left_is_fine_before_that_of_the_environment) {
    std::optional<pool> threads(std::in_place, 1U);
    auto env = coflux::make_environment(*threads);
    late(env).get();
    threads.reset();
}

}  // namespace

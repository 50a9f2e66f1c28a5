#include <coflux/inspect/deadlocks.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/inspect/dump.hpp>

#include <gtest/gtest.h>

#include "support/iterations.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::environment;
using pool = coflux::thread_pool_executor;
namespace inspect = coflux::inspect;

struct locks {
    coflux::mutex a;
    coflux::mutex b;
    coflux::manual_reset_event go;
    std::atomic<int> arrived{0};
};

/// Once there are some: they stay.
std::vector<std::string> deadlocks_once_there() {
    std::vector<std::string> found;
    while ((found = inspect::deadlocks()).empty()) std::this_thread::yield();
    return found;
}
/// Until the dump says that so many wait for the mutex `a`, and no coroutine runs.
void wait_until_suspended(std::size_t n) {
    for (;;) {
        const std::string now = inspect::dump({.format = inspect::format::tree, .limit = std::size_t{1} << 20});
        std::size_t waits = 0;
        for (std::size_t at = now.find("waits for a mutex"); at != std::string::npos;
             at = now.find("waits for a mutex", at + 1))
            ++waits;
        if (waits == n && now.find("queued") == std::string::npos && now.find("runs on") == std::string::npos &&
            now.find("meanwhile") == std::string::npos)
            return;
        std::this_thread::yield();
    }
}

std::size_t count_of(const std::string& text, const std::string& what) {
    std::size_t n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
}

template <typename Root>
void expect_one(Root begin, std::initializer_list<const char*> lines) {
    pool executor{2};
    auto env = coflux::make_environment(executor);
    locks l;
    auto root = begin(env, &l);
    const std::vector<std::string> found = deadlocks_once_there();
    ASSERT_EQ(found.size(), 1U) << inspect::dump();
    for (const char* const line : lines) EXPECT_NE(found[0].find(line), std::string::npos) << line << "\n" << found[0];
    env.request_stop();
    root.join();
    EXPECT_TRUE(inspect::deadlocks().empty());
}

coflux::fork<void, pool> takes(environment&, coflux::mutex* first, coflux::mutex* second, std::atomic<int>* arrived) {
    const auto one = co_await first->lock();
    ++*arrived;
    while (*arrived < 2) co_await coflux::yield();
    const auto other = co_await second->lock();
}
coflux::task<void, pool> crosswise(environment&, locks* l) {
    auto&& here = co_await coflux::context();
    takes(here, &l->a, &l->b, &l->arrived).attach();
    takes(here, &l->b, &l->a, &l->arrived).attach();
    co_return;
}

TEST(deadlocks, names_two_that_lock_two_mutexes_in_different_orders) {
    expect_one(crosswise,
               {"2 coroutines wait for each other:\n", "takes at", "held by the next\n", "held by the first\n"});
}

coflux::task<void, pool> twice(environment&, locks* l) {
    const auto once = co_await l->a.lock();
    const auto again = co_await l->a.lock();
}

TEST(deadlocks, names_one_that_locks_a_mutex_twice) {
    expect_one(twice, {"1 coroutine waits for itself:\n", "twice at", "waits for a mutex at 0x", "held by itself\n"});
}

coflux::fork<void, pool> child(environment&, locks* l) {
    const auto held = co_await l->a.lock();
}
coflux::call<void> called(environment&, locks* l) {
    const auto held = co_await l->a.lock();
}
coflux::task<void, pool> awaits_child(environment&, locks* l) {
    auto&& here = co_await coflux::context();
    const auto held = co_await l->a.lock();
    co_await child(here, l);
}
coflux::task<void, pool> awaits_call(environment&, locks* l) {
    auto&& here = co_await coflux::context();
    const auto held = co_await l->a.lock();
    co_await called(here, l);
}
coflux::task<void, pool> awaits_all(environment&, locks* l) {
    auto&& here = co_await coflux::context();
    const auto held = co_await l->a.lock();
    co_await coflux::when_all(child(here, l), called(here, l));
}
coflux::task<void, pool> awaits_view(environment&, locks* l) {
    auto&& here = co_await coflux::context();
    const auto held = co_await l->a.lock();
    auto handle = child(here, l);
    co_await handle.view();
}
coflux::task<void, pool> joins_object(environment&, locks* l) {
    auto&& here = co_await coflux::context();
    const auto held = co_await l->a.lock();
    auto derived = coflux::make_environment(here);
    child(derived, l).attach();
    co_await derived.join();
}
coflux::task<void, pool> joins_scope(environment&, locks* l) {
    auto&& here = co_await coflux::context();
    const auto held = co_await l->a.lock();
    co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<void> {
        scope.spawn(child, l);
        co_return;
    });
}

TEST(deadlocks, names_one_that_holds_what_a_coroutine_below_it_waits_for) {
    expect_one(awaits_child, {"2 coroutines", "awaits_child at", "awaits the ", "child at", "held by the "});
    expect_one(awaits_call, {"2 coroutines", "awaits_call at", "awaits the ", "called at", "held by the "});
    expect_one(awaits_view, {"2 coroutines", "awaits_view at", "awaits the ", "child at", "held by the "});
    expect_one(joins_object,
               {"2 coroutines", "joins_object at", "the ends of its children, among them the ", "child at"});
    expect_one(joins_scope,
               {"3 coroutines", "joins_scope at", "the ends of its children, among them the ", "child at"});
}

TEST(deadlocks, names_one_that_awaits_several_of_which_one_waits_for_what_it_holds) {
    expect_one(awaits_all, {"awaits_all at", "awaits the ", "held by the "});
}

coflux::fork<void, pool> awaits_other(environment&, const std::optional<coflux::fork_view<void>>* other, locks* l) {
    co_await l->go.wait();
    co_await **other;
}
struct views {
    std::optional<coflux::fork_view<void>> first, second;
};
coflux::task<void, pool> in_a_ring(environment&, locks* l) {
    auto&& here = co_await coflux::context();
    views v;
    auto first = awaits_other(here, &v.second, l);
    auto second = awaits_other(here, &v.first, l);
    v.first.emplace(first.view());
    v.second.emplace(second.view());
    l->go.set();
    co_await coflux::when_all(std::move(first), std::move(second));
}

TEST(deadlocks, names_those_that_await_views_of_each_other) {
    expect_one(in_a_ring, {"2 coroutines wait for each other:\n", "awaits_other at", "awaits the next\n"});
}

/// Waits that may end otherwise.
coflux::task<void, pool> awaits_any(environment&, locks* l) {
    auto&& here = co_await coflux::context();
    const auto held = co_await l->a.lock();
    auto other = [](environment&, locks* of) -> coflux::fork<void, pool> { co_await of->go.wait(); }(here, l);
    (void)co_await coflux::when_any(child(here, l), std::move(other));
}
coflux::task<void, pool> awaits_for_a_time(environment&, locks* l) {
    auto&& here = co_await coflux::context();
    const auto held = co_await l->a.lock();
    (void)co_await coflux::timeout(child(here, l), 1h);
}
coflux::task<void, pool> waits_for_event(environment&, locks* l) {
    auto&& here = co_await coflux::context();
    auto held = co_await l->a.lock();
    child(here, l).attach();
    co_await l->go.wait();
    held.unlock();
}
coflux::fork<void, pool> keeps(environment&, coflux::mutex::guard, locks* l) {
    co_await l->go.wait();
}
coflux::task<void, pool> gave_the_lock_away(environment&, locks* l) {
    auto&& here = co_await coflux::context();
    auto held = co_await l->a.lock();
    keeps(here, std::move(held), l).attach();
    const auto again = co_await l->a.lock();
}

template <typename Root>
void expect_none(Root begin) {
    pool executor{2};
    auto env = coflux::make_environment(executor);
    locks l;
    auto root = begin(env, &l);
    wait_until_suspended(1);
    EXPECT_EQ(inspect::deadlocks(), std::vector<std::string>());
    l.go.set();
    env.request_stop();
    root.join();
}

TEST(deadlocks, names_no_wait_that_something_else_may_end) {
    expect_none(awaits_any);
    expect_none(awaits_for_a_time);
    expect_none(waits_for_event);
}

TEST(deadlocks, follows_no_lock_whose_guard_was_moved) {
    expect_none(gave_the_lock_away);
}

/// Two mutexes, always in the same order, with all the waits that this makes.
coflux::fork<void, pool> contends(environment&, locks* l, const std::atomic<bool>* ends) {
    while (!ends->load(std::memory_order_relaxed)) {
        const auto first = co_await l->a.lock();
        const auto second = co_await l->b.lock();
        co_await coflux::yield();
    }
}
coflux::fork<void, pool> contends_for_one(environment&, locks* l, const std::atomic<bool>* ends) {
    while (!ends->load(std::memory_order_relaxed)) {
        {
            const auto one = co_await l->b.lock();
            co_await coflux::yield();
        }
        const auto other = co_await l->a.lock();
    }
}
coflux::task<void, pool> contend(environment&, locks* l, const std::atomic<bool>* ends) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < 8; ++i) {
        contends(here, l, ends).attach();
        contends_for_one(here, l, ends).attach();
    }
    co_return;
}

TEST(deadlocks, names_none_of_those_that_lock_and_unlock) {
    pool executor{3};
    auto env = coflux::make_environment(executor);
    locks l;
    std::atomic<bool> ends{false};
    auto root = contend(env, &l, &ends);
    std::size_t named = 0;
    for (std::size_t i = 0; i < coflux_test::repetitions(10'000); ++i) named += inspect::deadlocks().size();
    EXPECT_EQ(named, 0U);
    ends.store(true);
    root.join();
}

coflux::task<void, pool> many_rings(environment&, std::vector<locks>* of) {
    auto&& here = co_await coflux::context();
    for (locks& l : *of) {
        takes(here, &l.a, &l.b, &l.arrived).attach();
        takes(here, &l.b, &l.a, &l.arrived).attach();
    }
    co_return;
}

TEST(deadlocks, names_each_of_many) {
    pool executor{2};
    auto env = coflux::make_environment(executor);
    std::vector<locks> many(50);
    auto root = many_rings(env, &many);
    wait_until_suspended(100);
    const std::vector<std::string> found = inspect::deadlocks();
    EXPECT_EQ(found.size(), 50U);
    for (const std::string& text : found) EXPECT_EQ(count_of(text, "held by"), 2U) << text;
    env.request_stop();
    root.join();
}

}  // namespace

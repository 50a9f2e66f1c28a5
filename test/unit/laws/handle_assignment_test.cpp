// One rule for all handles: a move assignment releases what the target held, as its destructor does, and leaves the
// source empty.
#include <coflux/coflux.hpp>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "../core/stage.hpp"
#include "support/witness.hpp"

namespace {

using namespace coflux_test;
using hand = manual_executor;

/// Two handles, of which `released(i)` says whether what it held at first has been released.
template <typename Handle, typename Released>
void expect_rule(const char* what, Handle&& first, Handle&& second, const Released& released) {
    std::optional<Handle> target(std::move(first));
    std::optional<Handle> source(std::move(second));
    EXPECT_FALSE(released(0)) << what;
    *target = std::move(*source);
    EXPECT_TRUE(released(0)) << what;
    EXPECT_FALSE(released(1)) << what;
    source.reset();
    EXPECT_FALSE(released(1)) << what << ": the source was not empty";
    Handle& same = *target;
    *target = std::move(same);
    EXPECT_FALSE(released(1)) << what << ": assigned to itself";
    target.reset();
    EXPECT_TRUE(released(1)) << what;
}

bool has_died(const journal& j, int i) {
    for (const std::string& line : j.lines()) {
        if (line == std::to_string(i) + " dies") return true;
    }
    return false;
}

template <typename Handle>
Handle gives_mortal(coflux::environment&, journal* log, int i) {
    co_return mortal(*log, std::to_string(i));
}
template <typename Handle>
Handle yields_mortal(coflux::environment&, journal* log, int i) {
    const mortal local(*log, std::to_string(i));
    co_yield i;
}

/// A coroutine that has ended dies with its handle, and its result in it.
template <typename Handle>
coflux::call<void> follows_the_rule(coflux::environment&, coflux::environment& here, const char* what) {
    journal j;
    auto a = gives_mortal<Handle>(here, &j, 0);
    auto b = gives_mortal<Handle>(here, &j, 1);
    while (!a.done() || !b.done()) co_await coflux::yield();
    expect_rule(what, std::move(a), std::move(b), [&](int i) { return has_died(j, i); });
}

TEST(handle_assignment, of_forks_and_tasks) {
    stage<hand> s;
    s.run([](coflux::environment&) -> coflux::task<void, hand> {
        auto&& here = co_await coflux::context();
        co_await follows_the_rule<coflux::fork<mortal, hand>>(here, here, "fork");
        co_await follows_the_rule<coflux::task<mortal, hand>>(here, here, "task");
    }(s.env));
}

TEST(handle_assignment, of_a_root_waits_for_the_one_that_the_target_held) {
    stage<coflux::thread_pool_executor> s;
    const auto yields = [](coflux::environment&) -> coflux::task<void, coflux::thread_pool_executor> {
        for (int i = 0; i < 100; ++i) co_await coflux::yield();
    };
    auto first = yields(s.env);
    bool ended = false;
    first.on_value([&]() noexcept { ended = true; });
    first = yields(s.env);
    EXPECT_TRUE(ended);
}

TEST(handle_assignment, of_views) {
    stage<hand> s;
    s.run([](coflux::environment&) -> coflux::task<void, hand> {
        auto&& here = co_await coflux::context();
        const auto gives = [](coflux::environment&,
                              std::shared_ptr<int> p) -> coflux::fork<std::shared_ptr<int>, hand> {
            co_return std::move(p);
        };
        std::array<std::weak_ptr<int>, 2> left;
        std::array<std::optional<coflux::fork_view<std::shared_ptr<int>>>, 2> views;
        for (std::size_t i = 0; i < 2; ++i) {
            auto p = std::make_shared<int>(1);
            left[i] = p;
            auto f = gives(here, std::move(p));
            views[i].emplace(f.view());
            (void)co_await *views[i];
        }
        expect_rule("view", std::move(*views[0]), std::move(*views[1]), [&](int i) { return left[i].expired(); });
    }(s.env));
}

TEST(handle_assignment, of_generators) {
    journal j;
    auto a = [](journal* log) -> coflux::generator<int> {
        const mortal local(*log, "0");
        co_yield 0;
    }(&j);
    auto b = [](journal* log) -> coflux::generator<int> {
        const mortal local(*log, "1");
        co_yield 0;
    }(&j);
    (void)a.begin();
    (void)b.begin();
    expect_rule("generator", std::move(a), std::move(b), [&](int i) { return has_died(j, i); });
    stage<hand> s;
    s.run([](coflux::environment&) -> coflux::task<void, hand> {
        auto&& here = co_await coflux::context();
        journal k;
        auto first = yields_mortal<coflux::async_generator<int>>(here, &k, 0);
        auto second = yields_mortal<coflux::async_generator<int>>(here, &k, 1);
        (void)co_await first.next();
        (void)co_await second.next();
        expect_rule("async_generator", std::move(first), std::move(second), [&](int i) { return has_died(k, i); });
    }(s.env));
}

TEST(handle_assignment, of_guards) {
    std::array<coflux::mutex, 2> m;
    expect_rule("guard", m[0].try_lock(), m[1].try_lock(), [&](int i) { return m[i].try_lock().owns_lock(); });
    std::array<coflux::shared_mutex, 2> s;
    expect_rule("unique guard", s[0].try_lock(), s[1].try_lock(), [&](int i) { return s[i].try_lock().owns_lock(); });
    expect_rule("shared guard", s[0].try_lock_shared(), s[1].try_lock_shared(),
                [&](int i) { return s[i].try_lock().owns_lock(); });
    std::array<coflux::semaphore, 2> p{coflux::semaphore(1), coflux::semaphore(1)};
    expect_rule("permits", p[0].try_acquire_guard(), p[1].try_acquire_guard(),
                [&](int i) { return bool(p[i].try_acquire_guard()); });
}

TEST(handle_assignment, of_permits_of_channels) {
    coflux::channel<int[1]> a;
    coflux::channel<int[1]> b;
    const auto has_place = [&](int i) { return (i == 0 ? a : b).try_reserve().has_value(); };
    expect_rule("permit", std::move(*a.try_reserve()), std::move(*b.try_reserve()), has_place);
    stage<hand> s;
    s.run([](coflux::environment&) -> coflux::task<void, hand> {
        // A value that is sent takes the slot for good, so each is asked until the answer is yes.
        const auto has_had_place = [](auto& x, auto& y) {
            return [&x, &y, yes = std::make_shared<std::array<bool, 2>>()](int i) {
                (*yes)[i] = (*yes)[i] || (i == 0 ? x : y).try_send(1);
                return (*yes)[i];
            };
        };
        auto [tx, rx] = coflux::make_mpsc<int>(1);
        auto [ty, ry] = coflux::make_mpsc<int>(1);
        auto first = co_await tx.reserve();
        auto second = co_await ty.reserve();
        expect_rule("mpsc permit", std::move(*first), std::move(*second), has_had_place(tx, ty));
        auto [tv, rv] = coflux::make_spsc<int>(1);
        auto [tw, rw] = coflux::make_spsc<int>(1);
        auto third = co_await tv.reserve();
        auto fourth = co_await tw.reserve();
        expect_rule("spsc permit", std::move(*third), std::move(*fourth), has_had_place(tv, tw));
    }(s.env));
}

/// The other end of `left` is gone.
bool is_alone(const auto& left) {
    if constexpr (requires { left.has_receivers(); }) {
        return !left.has_receivers();
    } else {
        return left.closed();
    }
}
template <typename A, typename B>
void expect_ends(const char* what, std::pair<A, B> first, std::pair<A, B> second) {
    expect_rule(what, std::move(first.first), std::move(second.first),
                [&](int i) { return is_alone(i == 0 ? first.second : second.second); });
}
template <typename A, typename B>
void expect_both_ends(const char* what, auto make) {
    expect_ends<A, B>(what, make(), make());
    const auto turned = [&] {
        auto made = make();
        return std::pair<B, A>(std::move(made.second), std::move(made.first));
    };
    expect_ends<B, A>(what, turned(), turned());
}

TEST(handle_assignment, of_ends_of_channels) {
    expect_both_ends<coflux::spsc_sender<int>, coflux::spsc_receiver<int>>("spsc",
                                                                           [] { return coflux::make_spsc<int>(1); });
    expect_both_ends<coflux::mpsc_sender<int>, coflux::mpsc_receiver<int>>("mpsc",
                                                                           [] { return coflux::make_mpsc<int>(1); });
    expect_both_ends<coflux::oneshot_sender<int>, coflux::oneshot_receiver<int>>(
        "oneshot", [] { return coflux::make_oneshot<int>(); });
    expect_both_ends<coflux::broadcast_sender<int>, coflux::broadcast_receiver<int>>(
        "broadcast", [] { return coflux::make_broadcast<int>(1); });
    expect_both_ends<coflux::watch_sender<int>, coflux::watch_receiver<int>>("watch",
                                                                             [] { return coflux::make_watch<int>(1); });
}

}  // namespace

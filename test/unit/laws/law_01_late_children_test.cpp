// Law 1, at the very end: children that are made while locals, parameters and results die.
#include <coflux/coflux.hpp>

#include <atomic>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "../core/stage.hpp"

namespace {

using namespace coflux_test;
using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;

struct count {
    std::atomic<int> begun{0};
    std::atomic<int> ended{0};
    [[nodiscard]] bool all_ended(int n) const { return begun == n && ended == n; }
};

template <typename E>
coflux::fork<void, E> cleanup(coflux::environment&, count* of, bool fails) {
    ++of->begun;
    for (int i = 0; i < 3; ++i) co_await coflux::yield();
    ++of->ended;
    if (fails) throw std::runtime_error("cleanup");
}

/// Makes a child while it dies.
template <typename E>
struct forks_at_the_end {
    forks_at_the_end(count& c, coflux::environment* e, bool fails = false) : of(&c), env(e), fails(fails) {}
    forks_at_the_end(forks_at_the_end&& other) noexcept
        : of(other.of),
          env(std::exchange(other.env, nullptr)),
          fails(other.fails) {}
    forks_at_the_end& operator=(forks_at_the_end&&) = delete;
    ~forks_at_the_end() {
        if (env != nullptr) cleanup<E>(*env, of, fails).attach();
    }

    count* of;
    coflux::environment* env;
    bool fails;
};

enum class end { value, error, stop };

template <typename E>
coflux::call<void> ends(coflux::environment&, end how) {
    co_await coflux::yield();
    if (how == end::error) throw 4;
    if (how == end::stop) co_await coflux::this_coroutine::stop();
}
template <typename E>
coflux::fork<void, E> fork_with_locals(coflux::environment&, count* c, end how) {
    auto&& here = co_await coflux::context();
    const forks_at_the_end<E> first(*c, &here);
    const forks_at_the_end<E> second(*c, &here);
    co_await ends<E>(here, how);
}
template <typename E>
coflux::task<void, E> task_with_locals(coflux::environment&, count* c, end how) {
    auto&& here = co_await coflux::context();
    const forks_at_the_end<E> first(*c, &here);
    const forks_at_the_end<E> second(*c, &here);
    co_await ends<E>(here, how);
}
template <typename E>
coflux::call<void> call_with_locals(coflux::environment&, count* c, end how) {
    auto&& here = co_await coflux::context();
    const forks_at_the_end<E> first(*c, &here);
    const forks_at_the_end<E> second(*c, &here);
    co_await ends<E>(here, how);
}
template <typename E>
coflux::fork<void, E> fork_with_parameters(coflux::environment&, forks_at_the_end<E> p, forks_at_the_end<E> q,
                                           end how) {
    auto&& here = co_await coflux::context();
    p.env = &here;
    q.env = &here;
    co_await ends<E>(here, how);
}

template <typename T>
bool ended_as(const coflux::outcome<T>& o, end how) {
    return how == end::value ? o.has_value() : how == end::error ? o.has_error() : o.is_stopped();
}

template <typename E>
coflux::task<void, E> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
    for (const end how : {end::value, end::error, end::stop}) {
        count c;
        const auto of_fork = co_await coflux::as_outcome(fork_with_locals<E>(here, &c, how));
        EXPECT_TRUE(ended_as(of_fork, how));
        EXPECT_TRUE(c.all_ended(2));
        const auto of_task = co_await coflux::as_outcome(task_with_locals<E>(here, &c, how));
        EXPECT_TRUE(ended_as(of_task, how));
        EXPECT_TRUE(c.all_ended(4));
        const auto of_call = co_await coflux::as_outcome(call_with_locals<E>(here, &c, how));
        EXPECT_TRUE(ended_as(of_call, how));
        EXPECT_TRUE(c.all_ended(6));
    }
    count c;
    auto stopped =
        fork_with_parameters<E>(here, forks_at_the_end<E>(c, nullptr), forks_at_the_end<E>(c, nullptr), end::stop);
    const auto of_stopped = co_await coflux::as_outcome(std::move(stopped));
    EXPECT_TRUE(ended_as(of_stopped, end::stop));
    EXPECT_TRUE(c.all_ended(2));
}

TEST(law_01_late_children, of_dying_locals_are_joined_before_the_awaiter_goes_on) {
    stage<manual_executor> by_hand;
    by_hand.run(root<manual_executor>(by_hand.env));
    stage<pool> on_pool;
    for (int i = 0; i < 100; ++i) on_pool.run(root<pool>(on_pool.env));
    stage<pool, noop> on_noop;
    on_noop.run([](coflux::environment&) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        auto t = root<noop>(here);
        co_await std::move(t);
    }(on_noop.env));
    stage<noop> nowhere;
    nowhere.run(root<noop>(nowhere.env));
}

TEST(law_01_late_children, of_a_stopped_root_are_joined_before_its_handle_is_done) {
    stage<pool> s;
    for (int i = 0; i < 100; ++i) {
        count c;
        auto t = task_with_locals<pool>(s.env, &c, end::stop);
        t.join();
        EXPECT_TRUE(c.all_ended(2));
    }
}

TEST(law_01_late_children, that_fail_while_a_stopped_coroutine_dies_fail_it) {
    stage<manual_executor> s;
    s.run([](coflux::environment&) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        count c;
        auto f = [](coflux::environment&, count* of) -> coflux::fork<void, manual_executor> {
            auto&& self = co_await coflux::context();
            const forks_at_the_end<manual_executor> local(*of, &self, true);
            co_await coflux::this_coroutine::stop();
        }(here, &c);
        const auto o = co_await coflux::as_outcome(std::move(f));
        EXPECT_TRUE(o.has_error());
        EXPECT_TRUE(c.all_ended(1));
    }(s.env));
}

struct sleeps_at_the_end {
    coflux::environment& env;
    ~sleeps_at_the_end() {
        [](coflux::environment&)
            -> coflux::fork<void, pool> { co_await coflux::sleep_for(std::chrono::hours(1)); }(env).attach();
    }
};

TEST(law_01_late_children, are_reached_by_a_stop_and_wake_from_a_wait) {
    stage<pool> s;
    auto t = [](coflux::environment&) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        const sleeps_at_the_end local{here};
        co_await coflux::sleep_for(std::chrono::hours(1));
    }(s.env);
    t.request_stop();
    t.join();
}

template <typename E>
coflux::fork<forks_at_the_end<E>, E> gives_one(coflux::environment&, count* c) {
    auto&& here = co_await coflux::context();
    co_await coflux::yield();
    co_return forks_at_the_end<E>(*c, &here);
}

template <typename E>
coflux::task<void, E> with_dying_parameter(coflux::environment&) {
    auto&& here = co_await coflux::context();
    count c;
    co_await fork_with_parameters<E>(here, forks_at_the_end<E>(c, nullptr), forks_at_the_end<E>(c, nullptr),
                                     end::value);
}
template <typename E>
coflux::task<void, E> with_dying_result(coflux::environment&) {
    auto&& here = co_await coflux::context();
    count c;
    auto f = gives_one<E>(here, &c);
    while (!f.done()) co_await coflux::yield();
}
template <typename E>
coflux::task<void, E> with_dying_parameter_of_a_call(coflux::environment&) {
    auto&& here = co_await coflux::context();
    count c;
    auto callee = [](coflux::environment&, forks_at_the_end<E> p) -> coflux::call<void> {
        auto&& self = co_await coflux::context();
        p.env = &self;
        co_await coflux::yield();
    };
    co_await callee(here, forks_at_the_end<E>(c, nullptr));
}

TEST(law_01_late_children_death, of_parameters_and_results_find_the_scope_closed_and_are_named) {
    const auto run = [](auto made) {
        stage<manual_executor> s;
        s.run(made(s.env));
    };
    constexpr const char* named = "coflux: [a-z:() ]*cleanup was made in the environment of a coroutine that has ended";
    EXPECT_DEATH(run(with_dying_parameter<manual_executor>), named);
    EXPECT_DEATH(run(with_dying_result<manual_executor>), named);
    EXPECT_DEATH(run(with_dying_parameter_of_a_call<manual_executor>), named);
}

}  // namespace

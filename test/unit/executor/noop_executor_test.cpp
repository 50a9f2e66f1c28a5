#include <coflux/executor/noop_executor.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include <coflux/coflux.hpp>
#include <support/executors.hpp>
#include <support/foreign_event.hpp>

#include "loose_coroutine.hpp"

namespace {

using coflux::noop_executor;
using coflux_test::foreign_event;
using coflux_test::manual_executor;
using coflux_test::thread_here;
using pool = coflux::thread_pool_executor;

static_assert(coflux::executor<noop_executor>);

coflux::fork<int, noop_executor> marks(auto&&, coflux::borrowed<int> mark) {
    *mark = 1;
    co_return 7;
}

coflux::task<void, manual_executor> makes_one(auto&&, coflux::borrowed<int> mark, coflux::borrowed<bool> ran_in_call) {
    auto&& here = co_await coflux::context();
    auto f = marks(here, mark);
    *ran_in_call = *mark == 1 && f.done();
    EXPECT_EQ(co_await std::move(f), 7);
}

TEST(noop_executor, runs_a_coroutine_inside_the_call_that_makes_it) {
    manual_executor loop;
    auto env = coflux::make_environment(loop);
    int mark = 0;
    bool ran_in_call = false;
    auto root = makes_one(env, coflux::borrowed(mark), coflux::borrowed(ran_in_call));
    EXPECT_EQ(mark, 0);
    EXPECT_EQ(loop.run_all(), 1U);
    EXPECT_TRUE(ran_in_call);
    root.get();
}

coflux::task<std::thread::id, noop_executor> where_it_runs(auto&&) {
    co_return thread_here();
}

TEST(noop_executor, runs_a_root_on_the_thread_that_makes_it) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    auto root = where_it_runs(env);
    EXPECT_TRUE(root.done());
    EXPECT_EQ(root.get(), std::this_thread::get_id());
}

coflux::task<int, noop_executor> suspends_once(auto&&, coflux::borrowed<int> step) {
    *step = 1;
    co_await coflux::yield();
    *step = 2;
    co_return 3;
}

TEST(noop_executor, resumes_a_root_on_the_first_executor_that_schedules) {
    manual_executor first;
    pool second(1);
    auto env = coflux::make_environment(noop_executor{}, first, second);
    int step = 0;
    auto root = suspends_once(env, coflux::borrowed(step));
    EXPECT_EQ(step, 1);
    EXPECT_EQ(first.pending(), 1U);
    EXPECT_TRUE(first.run_one());
    EXPECT_EQ(step, 2);
    EXPECT_EQ(root.get(), 3);
}

coflux::fork<void, noop_executor> suspends_in_a_child(auto&&, coflux::borrowed<foreign_event> event,
                                                      coflux::borrowed<int> step) {
    *step = 1;
    co_await *event;
    *step = 2;
}

template <typename Executor>
coflux::task<void, Executor> parent_on(coflux::environment&, coflux::borrowed<foreign_event> event,
                                       coflux::borrowed<int> step) {
    auto&& here = co_await coflux::context();
    co_await suspends_in_a_child(here, event, step);
}

struct other_executor : manual_executor {};

TEST(noop_executor, resumes_a_child_on_its_parents_executor) {
    manual_executor first;
    other_executor second;
    auto env = coflux::make_environment(first, second);
    foreign_event event;
    int step = 0;
    auto root = parent_on<other_executor>(env, coflux::borrowed(event), coflux::borrowed(step));
    EXPECT_EQ(second.run_all(), 1U);
    EXPECT_EQ(step, 1);
    event.set();
    EXPECT_EQ(step, 1) << "the notifier ran the waiter inside its call";
    EXPECT_EQ(first.pending(), 0U);
    second.run_all();
    EXPECT_EQ(step, 2);
    root.get();
}

TEST(noop_executor, lets_the_thread_that_ends_the_wait_resume_it_where_there_is_no_other_executor) {
    auto env = coflux::make_environment(noop_executor{});
    foreign_event event;
    int step = 0;
    auto root = parent_on<noop_executor>(env, coflux::borrowed(event), coflux::borrowed(step));
    EXPECT_EQ(step, 1);
    EXPECT_FALSE(root.done());
    event.set();
    EXPECT_EQ(step, 2);
    ASSERT_TRUE(root.done());
    root.get();
}

coflux::fork<int, noop_executor> chain(coflux::environment&, coflux::borrowed<foreign_event> event, int levels) {
    if (levels == 0) {
        co_await *event;
        co_return 0;
    }
    auto&& here = co_await coflux::context();
    co_return 1 + co_await chain(here, event, levels - 1);
}

coflux::task<int, noop_executor> start_of_chain(auto&&, coflux::borrowed<foreign_event> event, int levels) {
    auto&& here = co_await coflux::context();
    co_return co_await chain(here, event, levels);
}

TEST(noop_executor, wakes_each_of_a_chain_of_parents) {
    auto env = coflux::make_environment(noop_executor{});
    for (int levels = 0; levels < 10; ++levels) {
        foreign_event event;
        auto root = start_of_chain(env, coflux::borrowed(event), levels);
        EXPECT_FALSE(root.done());
        event.set();
        ASSERT_TRUE(root.done()) << levels << " levels";
        EXPECT_EQ(root.get(), levels);
    }
}

coflux::fork<int, noop_executor> asks_and_waits(auto&&, coflux::borrowed<foreign_event> event) {
    const coflux::stop_token token = co_await coflux::this_coroutine::stop_token();
    if (token.stop_requested()) co_return -1;
    co_await *event;
    co_return 5;
}

coflux::task<int, noop_executor> awaits_one_that_asks(auto&&, coflux::borrowed<foreign_event> event) {
    auto&& here = co_await coflux::context();
    co_return co_await asks_and_waits(here, event);
}

TEST(noop_executor, wakes_its_parent_after_it_asked_for_its_stop_state) {
    auto env = coflux::make_environment(noop_executor{});
    foreign_event event;
    auto root = awaits_one_that_asks(env, coflux::borrowed(event));
    EXPECT_FALSE(root.done());
    event.set();
    ASSERT_TRUE(root.done());
    EXPECT_EQ(root.get(), 5);
}

coflux::fork<int, noop_executor> depth(coflux::environment&, int levels) {
    if (levels == 0) co_return 0;
    auto&& here = co_await coflux::context();
    auto below = depth(here, levels - 1);
    co_return 1 + co_await std::move(below);
}

coflux::task<int, noop_executor> start_of_depth(auto&&, int levels) {
    auto&& here = co_await coflux::context();
    co_return co_await depth(here, levels);
}

TEST(noop_executor, nests) {
    auto env = coflux::make_environment(noop_executor{});
    auto root = start_of_depth(env, 100);
    EXPECT_TRUE(root.done());
    EXPECT_EQ(root.get(), 100);
}

coflux::fork<void, noop_executor> fails(auto&&) {
    throw std::runtime_error("inside");
    co_return;
}

coflux::task<bool, noop_executor> awaits_failure(auto&&) {
    auto&& here = co_await coflux::context();
    auto f = fails(here);  // the call itself does not throw
    try {
        co_await std::move(f);
    } catch (const std::runtime_error&) {
        co_return true;
    }
    co_return false;
}

TEST(noop_executor, keeps_an_error_for_the_await) {
    auto env = coflux::make_environment(noop_executor{});
    EXPECT_TRUE(awaits_failure(env).get());
}

coflux::fork<std::thread::id, pool> where_the_pool_runs(auto&&) {
    co_return thread_here();
}

coflux::task<bool, noop_executor> moves_to_the_pool(auto&&) {
    auto&& here = co_await coflux::context();
    const std::thread::id started = thread_here();
    co_await coflux::yield();  // suspends: an await of a fork that has ended would not
    const std::thread::id resumed = thread_here();
    co_return started != resumed&& co_await where_the_pool_runs(here) == resumed;
}

TEST(noop_executor, goes_on_in_the_pool_once_it_suspended) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    EXPECT_TRUE(moves_to_the_pool(env).get());
}

}  // namespace

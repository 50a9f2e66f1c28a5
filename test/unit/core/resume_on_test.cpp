#include <coflux/core/resume_on.hpp>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "stage.hpp"
#include "support/executors.hpp"
#include "support/witness.hpp"

namespace {

using coflux_test::journal;
using coflux_test::manual_executor;
using coflux_test::stage;
using coflux_test::thread_executor;
using noop = coflux::noop_executor;
using lines = std::vector<std::string>;

struct other_executor : manual_executor {};
using two = stage<manual_executor, other_executor>;

coflux::task<void, manual_executor> moves(auto&&, coflux::borrowed<other_executor> to, journal* j) {
    j->write("before");
    co_await coflux::resume_on(*to);
    j->write("after");
    const coflux::executor_ref own = co_await coflux::this_coroutine::executor();
    EXPECT_TRUE(own.is(*to));
    co_await coflux::yield();
    j->write("later");
}

TEST(resume_on, queues_the_coroutine_on_the_other_executor_where_it_stays) {
    two s;
    journal j;
    auto t = moves(s.env, coflux::borrowed(s.child), &j);
    EXPECT_EQ(s.root.run_all(), 1U);
    EXPECT_EQ(j.lines(), lines{"before"});
    EXPECT_EQ(s.child.run_all(), 2U);
    EXPECT_EQ(j.lines(), (lines{"before", "after", "later"}));
    EXPECT_EQ(s.root.executed(), 1U);
    t.get();
}

TEST(resume_on, goes_through_the_queue_even_where_the_coroutine_is_already) {
    stage<manual_executor> s;
    const auto root = [](coflux::environment&,
                         coflux::borrowed<manual_executor> same) -> coflux::task<void, manual_executor> {
        co_await coflux::resume_on(*same);
    };
    auto t = root(s.env, coflux::borrowed(s.root));
    EXPECT_EQ(s.root.run_all(), 2U);
    t.get();
}

coflux::fork<int> without_executor(auto&&) {
    co_await coflux::yield();
    co_return 1;
}

TEST(resume_on, takes_later_children_without_an_executor_along) {
    two s;
    const auto root = [](coflux::environment&,
                         coflux::borrowed<other_executor> to) -> coflux::task<int, manual_executor> {
        auto&& here = co_await coflux::context();
        co_await coflux::resume_on(*to);
        co_return co_await without_executor(here);
    };
    auto t = root(s.env, coflux::borrowed(s.child));
    s.root.run_all();
    s.child.run_all();
    EXPECT_TRUE(t.done());
    EXPECT_EQ(s.root.executed(), 1U);
    EXPECT_EQ(t.get(), 1);
}

TEST(resume_on, in_a_fork_wakes_the_awaiter_on_the_awaiters_executor) {
    two s;
    const auto root = [](coflux::environment&,
                         coflux::borrowed<other_executor> to) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        auto f = [](coflux::environment&,
                    coflux::borrowed<other_executor> there) -> coflux::fork<void, manual_executor> {
            co_await coflux::resume_on(*there);
        }(here, to);
        co_await std::move(f);
    };
    auto t = root(s.env, coflux::borrowed(s.child));
    s.root.run_all();
    EXPECT_EQ(s.child.run_all(), 1U);
    EXPECT_FALSE(t.done()) << "the root ran on its child's executor";
    EXPECT_EQ(s.root.run_all(), 1U);
    t.get();
}

coflux::call<void> moves_away(auto&&, other_executor& to) {
    co_await coflux::resume_on(to);
}

TEST(resume_on, in_a_call_leaves_the_caller_where_it_was) {
    two s;
    const auto root = [](coflux::environment&, coflux::borrowed<other_executor> to,
                         coflux::borrowed<manual_executor> own) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        co_await moves_away(here, *to);
        const coflux::executor_ref now = co_await coflux::this_coroutine::executor();
        EXPECT_TRUE(now.is(*own));
    };
    auto t = root(s.env, coflux::borrowed(s.child), coflux::borrowed(s.root));
    s.root.run_all();
    EXPECT_EQ(s.child.run_all(), 1U);
    EXPECT_FALSE(t.done()) << "the caller ran on the call's executor";
    EXPECT_EQ(s.root.run_all(), 1U);
    t.get();
}

TEST(resume_on, is_a_stop_point) {
    two s;
    journal j;
    auto t = moves(s.env, coflux::borrowed(s.child), &j);
    t.request_stop();
    s.drive();
    EXPECT_EQ(j.lines(), lines{"before"});
    EXPECT_EQ(s.child.executed(), 0U);
    EXPECT_THROW(t.get(), coflux::task_stopped);
}

TEST(resume_on, may_go_to_an_executor_of_an_outer_environment) {
    two s;
    const auto root = [](coflux::environment&,
                         coflux::borrowed<other_executor> to) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here);
        auto f = [](coflux::environment&,
                    coflux::borrowed<other_executor> there) -> coflux::fork<bool, manual_executor> {
            co_await coflux::resume_on(*there);
            const coflux::executor_ref now = co_await coflux::this_coroutine::executor();
            co_return now.is(*there);
        }(sub, to);
        const bool moved = co_await std::move(f);
        EXPECT_TRUE(moved);
        co_await sub.join();
    };
    s.run(root(s.env, coflux::borrowed(s.child)));
}

TEST(resume_on, carries_a_coroutine_between_threads_and_back) {
    stage<coflux::thread_pool_executor, thread_executor> s;
    const auto root = [](coflux::environment&, coflux::borrowed<coflux::thread_pool_executor> home,
                         coflux::borrowed<thread_executor> away) -> coflux::task<int, coflux::thread_pool_executor> {
        int there = 0;
        for (int i = 0; i < 100; ++i) {
            co_await coflux::resume_on(*away);
            ++there;
            co_await coflux::resume_on(*home);
        }
        co_return there;
    };
    EXPECT_EQ(s.run(root(s.env, coflux::borrowed(s.root), coflux::borrowed(s.child))), 100);
}

void goes_to_a_stranger() {
    auto env = coflux::make_environment(noop{});
    manual_executor stranger;
    [](coflux::environment&, coflux::borrowed<manual_executor> to)
        -> coflux::task<void, noop> { co_await coflux::resume_on(*to); }(env, coflux::borrowed(stranger)).get();
}

TEST(resume_on_death, to_an_executor_that_the_environment_does_not_have_is_refused) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(goes_to_a_stranger(),
                 "resume_on: the environment does not have this executor \\([a-z_:]*manual_executor\\)");
}

}  // namespace

// Law 9: a blocking wait on a thread that runs coroutines is a checked error that names the coroutine, not a hang.
#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "support/executors.hpp"
#include "support/foreign_event.hpp"
#include "support/no_hang.hpp"

namespace {

using coflux_test::foreign_event;
using coflux_test::manual_executor;
using coflux_test::thread_executor;
using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;

class law_09_blocking_death : public testing::Test {
protected:
    // The pool's threads do not survive a fork of the process that does not exec.
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

template <typename E>
coflux::task<int, E> never_ends(coflux::environment&, foreign_event* never) {
    co_await *never;
    co_return 1;
}

template <typename Outer, typename Inner>
coflux::task<void, Outer> gets_inside(coflux::environment&, foreign_event* never) {
    auto&& here = co_await coflux::context();
    auto t = never_ends<Inner>(here, never);
    (void)t.get();
}

template <typename Outer, typename Inner>
coflux::task<void, Outer> joins_inside(coflux::environment&, foreign_event* never) {
    auto&& here = co_await coflux::context();
    auto t = never_ends<Inner>(here, never);
    t.join();
}

coflux::task<void, pool> drops_a_root_inside(coflux::environment&, coflux::environment* root, foreign_event* never) {
    auto&& here = co_await coflux::context();
    (void)here;
    { auto t = never_ends<pool>(*root, never); }
}

template <typename Outer, typename Inner, typename... Executors>
void provoke_get(Executors&... executors) {
    coflux_test::die_rather_than_hang();
    foreign_event never;
    auto env = coflux::make_environment(executors...);
    gets_inside<Outer, Inner>(env, &never).join();
}

template <typename Outer, typename Inner, typename... Executors>
void provoke_join(Executors&... executors) {
    coflux_test::die_rather_than_hang();
    foreign_event never;
    auto env = coflux::make_environment(executors...);
    joins_inside<Outer, Inner>(env, &never).join();
}

void get_on_a_pool() {
    pool workers(2);
    provoke_get<pool, pool>(workers);
}
void join_on_a_pool() {
    pool workers(1);
    provoke_join<pool, pool>(workers);
}
void get_in_a_noop_coroutine() {
    provoke_get<noop, noop>();
}
void join_in_a_noop_coroutine() {
    pool workers(1);
    provoke_join<noop, pool>(workers);
}
void get_on_a_users_executor() {
    thread_executor one;
    provoke_get<thread_executor, thread_executor>(one);
}
void a_roots_handle_dies_on_a_pool() {
    coflux_test::die_rather_than_hang();
    foreign_event never;
    pool workers(2);
    auto env = coflux::make_environment(workers);
    drops_a_root_inside(env, &env, &never).join();
}

constexpr const char* get_message = "a blocking wait for .*never_ends.* in .*gets_inside.*co_await the task instead";
constexpr const char* join_message = "a blocking wait for .*never_ends.* in .*joins_inside.*co_await the task instead";

TEST_F(law_09_blocking_death, get_on_a_pool_thread_is_refused) {
    EXPECT_DEATH(get_on_a_pool(), get_message);
}

TEST_F(law_09_blocking_death, join_on_a_pool_thread_is_refused) {
    EXPECT_DEATH(join_on_a_pool(), join_message);
}

TEST_F(law_09_blocking_death, get_in_a_noop_coroutine_is_refused) {
    EXPECT_DEATH(get_in_a_noop_coroutine(), get_message);
}

TEST_F(law_09_blocking_death, join_in_a_noop_coroutine_of_a_task_on_a_pool_is_refused) {
    EXPECT_DEATH(join_in_a_noop_coroutine(), join_message);
}

TEST_F(law_09_blocking_death, get_on_the_thread_of_a_users_executor_is_refused) {
    EXPECT_DEATH(get_on_a_users_executor(), get_message);
}

TEST_F(law_09_blocking_death, the_death_of_a_roots_handle_on_a_pool_thread_is_refused) {
    EXPECT_DEATH(a_roots_handle_dies_on_a_pool(), "a blocking wait for .*never_ends.* in .*drops_a_root_inside");
}

TEST(law_09_blocking, get_of_a_task_that_has_ended_is_allowed_everywhere) {
    pool workers(1);
    auto env = coflux::make_environment(workers);
    const int got = [](coflux::environment&) -> coflux::task<int, pool> {
        auto&& here = co_await coflux::context();
        auto t = [](coflux::environment&) -> coflux::task<int, noop> { co_return 4; }(here);
        co_return t.get();
    }(env)
                                                    .get();
    EXPECT_EQ(got, 4);
}

TEST(law_09_blocking, get_and_join_are_allowed_on_a_thread_that_no_executor_knows) {
    pool workers(1);
    auto env = coflux::make_environment(workers);
    constexpr auto five = [](coflux::environment&) -> coflux::task<int, pool> {
        co_await coflux::yield();
        co_return 5;
    };
    EXPECT_EQ(five(env).get(), 5);
    EXPECT_NO_THROW(five(env).join());
}

}  // namespace

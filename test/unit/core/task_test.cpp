#include <coflux/core/task.hpp>

#include <array>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
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
using coflux_test::mortal;
using coflux_test::move_only;
using coflux_test::over_aligned;
using coflux_test::stage;
using coflux_test::thread_executor;
using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;
using lines = std::vector<std::string>;

static_assert(std::is_nothrow_move_constructible_v<coflux::task<int, noop>>);
static_assert(!std::is_copy_constructible_v<coflux::task<int, noop>>);

template <typename E, typename F>
coflux::task<std::invoke_result_t<F&>, E> made(coflux::environment&, F f) {
    co_await coflux::yield();
    co_return f();
}

template <typename E>
class task_on : public ::testing::Test {
protected:
    stage<E> stage_;
};
using executors = ::testing::Types<noop, manual_executor, pool, thread_executor>;
TYPED_TEST_SUITE(task_on, executors);

TYPED_TEST(task_on, gives_every_kind_of_result) {
    auto& s = this->stage_;
    int x = 0;
    EXPECT_EQ(s.run(made<TypeParam>(s.env, [] { return std::string(100, 'a'); })), std::string(100, 'a'));
    EXPECT_EQ(*s.run(made<TypeParam>(s.env, [] { return move_only(7); })).value, 7);
    EXPECT_TRUE(s.run(made<TypeParam>(s.env, [] { return over_aligned(8); })).is_aligned());
    EXPECT_EQ(&s.run(made<TypeParam>(s.env, [&x]() -> int& { return x; })), &x);
    s.run(made<TypeParam>(s.env, [&x] { ++x; }));
    EXPECT_EQ(x, 1);
}

TYPED_TEST(task_on, throws_its_error_out_of_get) {
    auto& s = this->stage_;
    EXPECT_THROW(s.run(made<TypeParam>(s.env, []() -> int { throw std::runtime_error("task"); })), std::runtime_error);
}

TYPED_TEST(task_on, throws_its_error_out_of_join) {
    auto t = made<TypeParam>(this->stage_.env, [] { throw std::runtime_error("task"); });
    this->stage_.drive();
    EXPECT_THROW(t.join(), std::runtime_error);
    EXPECT_FALSE(t.valid());
}

TYPED_TEST(task_on, leaves_its_value_where_it_is_when_it_is_joined) {
    auto t = made<TypeParam>(this->stage_.env, [] { return move_only(7); });
    this->stage_.drive();
    t.join();
    t.join();
    EXPECT_TRUE(t.valid());
    EXPECT_EQ(*t.get().value, 7);
    EXPECT_FALSE(t.valid());
}

TYPED_TEST(task_on, that_was_stopped_has_no_value_to_get) {
    auto t = [](coflux::environment&) -> coflux::task<int, TypeParam> {
        co_await coflux::this_coroutine::stop();
        co_return 1;
    }(this->stage_.env);
    this->stage_.drive();
    EXPECT_NO_THROW(t.join());
    EXPECT_THROW((void)t.get(), coflux::task_stopped);
    EXPECT_FALSE(t.valid());
}

TYPED_TEST(task_on, is_waited_for_by_the_destructor_of_its_handle) {
    auto shared = std::make_shared<int>(1);
    {
        [[maybe_unused]] auto t = made<TypeParam>(this->stage_.env, [shared] { return shared; });
        this->stage_.drive();
    }
    EXPECT_EQ(shared.use_count(), 1) << "frame and result are still there";
}

TYPED_TEST(task_on, is_awaited_inside_a_coroutine) {
    const auto root = [](coflux::environment&) -> coflux::task<int, TypeParam> {
        auto&& here = co_await coflux::context();
        auto t = made<TypeParam>(here, [] { return 40; });
        co_return 2 + co_await std::move(t);
    };
    EXPECT_EQ(this->stage_.run(root(this->stage_.env)), 42);
}

TEST(task, starts_at_once) {
    stage<manual_executor> s;
    auto t = made<manual_executor>(s.env, [] { return 1; });
    EXPECT_EQ(s.root.pending(), 1U);
    EXPECT_FALSE(t.done());
    s.drive();
    EXPECT_TRUE(t.done());
    EXPECT_EQ(std::move(t).get(), 1);
}

/// Makes a task in its own scope and gives the handle away; the frame is of a size of its own.
coflux::task<coflux::task<int, pool>, pool> gives_its_task_away(coflux::environment&, bool stops, bool fails) {
    auto&& here = co_await coflux::context();
    std::array<char, 2500> local{};
    local[7] = 1;
    auto t = [](coflux::environment&, bool s, bool f) -> coflux::task<int, pool> {
        co_await coflux::yield();
        if (s) co_await coflux::this_coroutine::stop();
        if (f) throw std::runtime_error("observed");
        co_return 12;
    }(here, stops, fails);
    co_await coflux::yield();
    t.on_error([](const std::exception_ptr&) noexcept {});
    EXPECT_EQ(local[7], 1);
    co_return t;
}

TEST(task, whose_handle_outlives_the_coroutine_it_was_made_in_has_ended_with_it) {
    stage<pool> s;
    for (int i = 0; i < 10; ++i) {
        {
            const auto dropped = gives_its_task_away(s.env, false, false).get();
        }
        { const auto stopped = gives_its_task_away(s.env, true, false).get(); }
        { const auto failed = gives_its_task_away(s.env, false, true).get(); }
        auto kept = gives_its_task_away(s.env, false, false).get();
        EXPECT_TRUE(kept.done());
        EXPECT_EQ(kept.get(), 12);
        auto stopped = gives_its_task_away(s.env, true, false).get();
        EXPECT_THROW(stopped.get(), coflux::task_stopped);
        auto joined = gives_its_task_away(s.env, false, false).get();
        joined.request_stop();
        joined.join();
        auto target = gives_its_task_away(s.env, false, false).get();
        target = std::move(joined);
    }
}

TEST(task, hands_the_error_of_a_root_that_was_stopped_to_the_handler_when_its_handle_dies) {
    static int reports = 0;
    reports = 0;
    stage<pool> s;
    s.env.on_unobserved_error([](const std::exception_ptr&) noexcept { ++reports; });
    {
        auto t = [](coflux::environment&) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            [](coflux::environment&) -> coflux::fork<void, pool> {
                throw std::runtime_error("below");
                co_return;
            }(here)
                                            .attach();
            co_await coflux::this_coroutine::stop();
        }(s.env);
        while (!t.done()) std::this_thread::yield();
    }
    EXPECT_EQ(reports, 1);
}

TEST(task, made_in_a_derived_environment_is_a_child_like_any_other) {
    stage<pool> s;
    journal j;
    const auto root = [](coflux::environment&, journal* log) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here);
        {
            [[maybe_unused]] auto dropped =
                made<pool>(sub, [log] { log->write("dropped"); });  // does not block the worker
        }
        co_await sub.join();
        log->write("joined");
    };
    s.run(root(s.env, &j));
    EXPECT_EQ(j.lines(), (lines{"dropped", "joined"}));
}

TEST(task, made_in_a_coroutine_is_not_waited_for_by_the_death_of_its_handle) {
    stage<manual_executor> s;
    journal j;
    const auto root = [](coflux::environment&, journal* log) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        {
            [[maybe_unused]] auto dropped = made<manual_executor>(here, [log] { log->write("dropped"); });
        }
        log->write("handle is gone");
    };
    s.run(root(s.env, &j));
    EXPECT_EQ(j.lines(), (lines{"handle is gone", "dropped"}));
}

TEST(task, ends_after_all_that_is_below_it) {
    stage<manual_executor> s;
    journal j;
    const auto root = [](coflux::environment&, journal* log) -> coflux::task<int, manual_executor> {
        auto&& here = co_await coflux::context();
        coflux_test::gives<manual_executor>(here, 5, [log] { log->write("child"); }).attach();
        log->write("body");
        co_return 1;
    };
    auto t = root(s.env, &j);
    t.on_value([&j](int) { j.write("ended"); });
    s.drive();
    EXPECT_EQ(j.lines(), (lines{"body", "child", "ended"}));
    EXPECT_EQ(t.get(), 1);
}

TEST(task, may_be_got_on_another_thread_than_the_one_that_made_it) {
    stage<pool> s;
    auto t = made<pool>(s.env, [] { return 7; });
    int got = 0;
    std::thread([&got, moved = std::move(t)]() mutable { got = moved.get(); }).join();
    EXPECT_EQ(got, 7);
}

TEST(task, of_many_roots_gives_each_its_own_value) {
    stage<pool> s;
    std::vector<coflux::task<int, pool>> tasks;
    for (int i = 0; i < 200; ++i) tasks.push_back(made<pool>(s.env, [i] { return i; }));
    for (int i = 199; i >= 0; --i) EXPECT_EQ(tasks[static_cast<std::size_t>(i)].get(), i);
}

coflux::task<int, noop> doubles(coflux::environment&, int x) {
    co_return 2 * x;
}

TEST(task, with_the_concrete_environment_type_may_be_called_through_a_pointer) {
    stage<noop> s;
    coflux::task<int, noop> (*const function)(coflux::environment&, int) = &doubles;
    EXPECT_EQ(function(s.env, 4).get(), 8);
}

TEST(task_stopped, says_that_there_is_no_value) {
    const coflux::task_stopped error;
    EXPECT_STREQ(static_cast<const std::exception&>(error).what(), "coflux: it was stopped, and has no value");
}

TEST(task, may_have_no_coroutine_until_it_is_given_one) {
    auto env = coflux::make_environment(noop{});
    coflux::task<int, noop> t;
    EXPECT_FALSE(t.valid());
    t = made<noop>(env, [] { return 1; });
    EXPECT_EQ(t.get(), 1);
    EXPECT_FALSE(t.valid());
    t = made<noop>(env, [] { return 2; });
    t = coflux::task<int, noop>();
    EXPECT_FALSE(t.valid());
}
TEST(task_death, a_handle_without_a_coroutine_is_refused) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    coflux::task<int, noop> t;
    EXPECT_DEATH((void)t.get(), "a handle was used .* or before it had a coroutine");
    EXPECT_DEATH(t.join(), "a handle was used .* or before it had a coroutine");
}

void gets_twice() {
    auto env = coflux::make_environment(noop{});
    auto t = made<noop>(env, [] { return 1; });
    (void)t.get();
    (void)t.get();
}

TEST(task_death, a_handle_that_was_used_up_is_refused) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(gets_twice(), "a handle was used after it was awaited, moved from or attached");
}

}  // namespace

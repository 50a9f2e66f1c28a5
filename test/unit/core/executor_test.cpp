#include <coflux/core/executor.hpp>

#include <coroutine>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "stage.hpp"
#include "support/executors.hpp"
#include "support/witness.hpp"

namespace {

using coflux_test::journal;
using coflux_test::manual_executor;
using noop = coflux::noop_executor;

struct may_throw {
    void execute(std::coroutine_handle<>) {}
};
struct takes_no_handle {
    void execute(int) noexcept {}
};
static_assert(coflux::executor<manual_executor>);
static_assert(coflux::executor<noop>);
static_assert(coflux::executor<coflux::thread_pool_executor>);
static_assert(!coflux::executor<may_throw>, "an executor that may throw loses coroutines");
static_assert(!coflux::executor<takes_no_handle>);
static_assert(!coflux::executor<int>);
static_assert(!coflux::executor<manual_executor&>);

coflux::fork<int, manual_executor> on_the_first(auto&&) {
    co_return 1;
}
coflux::fork<int, coflux::nth<manual_executor, 1>> on_the_second(auto&&) {
    co_return 2;
}
coflux::fork<int, coflux::nth<manual_executor, 2>> on_the_third(auto&&) {
    co_return 3;
}

coflux::task<int, manual_executor> on_each(auto&&) {
    auto&& here = co_await coflux::context();
    auto a = on_the_first(here);
    auto b = on_the_second(here);
    auto c = on_the_third(here);
    co_return co_await std::move(a) + co_await std::move(b) + co_await std::move(c);
}

TEST(index, picks_among_executors_of_one_type_in_the_order_given) {
    manual_executor first;
    manual_executor second;
    manual_executor third;
    auto env = coflux::make_environment(first, noop{}, second, third);
    auto t = on_each(env);
    EXPECT_EQ(first.pending(), 1U);
    first.run_all();
    EXPECT_EQ(second.pending(), 1U);
    EXPECT_EQ(third.pending(), 1U);
    third.run_all();
    second.run_all();
    first.run_all();
    ASSERT_TRUE(t.done());
    EXPECT_EQ(t.get(), 6);
}

/// Several objects that are one queue.
class shared_queue {
public:
    explicit shared_queue(manual_executor& to) noexcept : to_(&to) {}
    void execute(std::coroutine_handle<> h) noexcept { to_->execute(h); }
    [[nodiscard]] const void* identity() const noexcept { return to_; }

private:
    manual_executor* to_;
};
static_assert(coflux::executor<shared_queue>);

coflux::fork<int, coflux::nth<shared_queue, 1>> on_the_copy(auto&&) {
    co_return 1;
}

TEST(executor, objects_of_one_identity_are_the_same_executor) {
    manual_executor queue;
    shared_queue one(queue);
    shared_queue copy(queue);
    auto env = coflux::make_environment(one, copy);
    auto t = [](coflux::environment&, coflux::borrowed<shared_queue> second) -> coflux::task<int, shared_queue> {
        auto&& here = co_await coflux::context();
        const coflux::executor_ref own = co_await coflux::this_coroutine::executor();
        EXPECT_TRUE(own.is(*second));
        co_return co_await on_the_copy(here);
    }(env, coflux::borrowed(copy));
    // Root and fork: the fork's end goes on with the root in place, because it is on the root's executor.
    EXPECT_EQ(queue.run_all(), 2U);
    EXPECT_EQ(t.get(), 1);
}

void names_an_executor_that_is_not_there() {
    auto env = coflux::make_environment(noop{});
    [](coflux::environment&) -> coflux::task<void, manual_executor> { co_return; }(env).join();
}

void names_a_second_executor_that_is_not_there() {
    manual_executor only;
    auto env = coflux::make_environment(only);
    [](coflux::environment&) -> coflux::task<void, coflux::nth<manual_executor, 1>> { co_return; }(env).join();
}

TEST(executor_death, that_the_environment_does_not_have_is_refused_with_its_name) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(names_an_executor_that_is_not_there(), "the environment has no executor for .*manual_executor");
    EXPECT_DEATH(names_a_second_executor_that_is_not_there(), "manual_executor, index 1 counted from 0");
}

}  // namespace

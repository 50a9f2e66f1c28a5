// Calls on each kind of executor; call_test.cpp has what does not depend on it.
#include <coflux/core/call.hpp>

#include <new>
#include <stdexcept>
#include <string>
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
using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;
using lines = std::vector<std::string>;

template <typename F>
coflux::call<std::invoke_result_t<F&>> called(coflux::environment&, F f) {
    co_return f();
}

template <typename E>
class call_on : public ::testing::Test {
protected:
    stage<E> stage_;
};
using executors = ::testing::Types<noop, manual_executor, pool>;
TYPED_TEST_SUITE(call_on, executors);

TYPED_TEST(call_on, gives_every_kind_of_result) {
    const auto root = [](coflux::environment&, coflux::borrowed<int> x) -> coflux::task<void, TypeParam> {
        auto&& here = co_await coflux::context();
        const std::string object = co_await called(here, [] { return std::string(100, 'a'); });
        EXPECT_EQ(object, std::string(100, 'a'));
        const move_only moved = co_await called(here, [] { return move_only(7); });
        EXPECT_EQ(*moved.value, 7);
        const over_aligned wide = co_await called(here, [] { return over_aligned(8); });
        EXPECT_TRUE(wide.is_aligned());
        int& referent = co_await called(here, [x]() -> int& { return *x; });
        EXPECT_EQ(&referent, &x.get());
        co_await called(here, [x] { ++*x; });
    };
    int x = 0;
    this->stage_.run(root(this->stage_.env, coflux::borrowed(x)));
    EXPECT_EQ(x, 1);
}

TYPED_TEST(call_on, throws_its_error_at_the_await) {
    const auto root = [](coflux::environment&) -> coflux::task<std::string, TypeParam> {
        auto&& here = co_await coflux::context();
        std::string seen;
        try {
            (void)co_await called(here, []() -> int { throw std::runtime_error("call"); });
        } catch (const std::runtime_error& e) {
            seen = e.what();
        }
        co_return seen;
    };
    EXPECT_EQ(this->stage_.run(root(this->stage_.env)), "call");
}

coflux::call<int> sum_to(coflux::environment&, int n) {
    if (n == 0) co_return 0;
    auto&& here = co_await coflux::context();
    co_return n + co_await sum_to(here, n - 1);
}

TYPED_TEST(call_on, calls_itself) {
    const auto root = [](coflux::environment&) -> coflux::task<int, TypeParam> {
        auto&& here = co_await coflux::context();
        co_return co_await sum_to(here, 1'000);
    };
    EXPECT_EQ(this->stage_.run(root(this->stage_.env)), 500'500);
}

template <typename E>
coflux::call<int> forks(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto a = coflux_test::gives<E>(here, 2, [] { return 1; });
    auto b = coflux_test::gives<E>(here, 0, [] { return 2; });
    co_await coflux::yield();
    co_return co_await std::move(a) + co_await std::move(b);
}

TYPED_TEST(call_on, is_an_environment_for_children) {
    const auto root = [](coflux::environment&) -> coflux::task<int, TypeParam> {
        auto&& here = co_await coflux::context();
        const int first = co_await forks<TypeParam>(here);
        co_return first + co_await forks<TypeParam>(here);
    };
    EXPECT_EQ(this->stage_.run(root(this->stage_.env)), 6);
}

coflux::call<bool> has_over_aligned(auto&&, over_aligned parameter) {
    const over_aligned local(parameter.value);
    co_await coflux::yield();
    const over_aligned* const volatile seen = &local;  // the compiler takes the alignment of a local for granted
    co_return parameter.is_aligned() && seen->is_aligned();
}

TYPED_TEST(call_on, keeps_over_aligned_parameters_and_locals_aligned) {
    const auto root = [](coflux::environment&) -> coflux::task<bool, TypeParam> {
        auto&& here = co_await coflux::context();
        co_return co_await has_over_aligned(here, over_aligned(1));
    };
    EXPECT_TRUE(this->stage_.run(root(this->stage_.env)));
}

coflux::call<void> tells(auto&&, journal& j, mortal) {
    const mortal local(j, "local");
    j.write("call");
    co_return;
}

TEST(call_matrix, begins_when_it_is_awaited_and_is_over_when_that_returns) {
    stage<noop> s;
    journal j;
    const auto root = [](coflux::environment&, journal* log) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto&& made = tells(here, *log, mortal(*log, "parameter"));
        log->write("made");
        co_await std::move(made);
        log->write("awaited");
    };
    s.run(root(s.env, &j));
    EXPECT_EQ(j.lines(), (lines{"made", "call", "local dies", "parameter dies", "awaited"}));
}

TEST(call_matrix, runs_on_its_callers_executor_without_a_queue) {
    stage<manual_executor> s;
    const auto root = [](coflux::environment&) -> coflux::task<int, manual_executor> {
        auto&& here = co_await coflux::context();
        int sum = 0;
        for (int i = 0; i < 10; ++i) sum += co_await called(here, [i] { return i; });
        co_return sum;
    };
    EXPECT_EQ(s.run(root(s.env)), 45);
    EXPECT_EQ(s.root.executed(), 1U);
}

TEST(call_matrix, that_was_stopped_stops_its_caller) {
    stage<noop> s;
    journal j;
    const auto root = [](coflux::environment&, journal* log) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto caller = [](coflux::environment&, journal* inner) -> coflux::fork<void, noop> {
            auto&& within = co_await coflux::context();
            const mortal local(*inner, "caller");
            co_await [](coflux::environment&, journal& deep) -> coflux::call<void> {
                const mortal callee(deep, "callee");
                co_await coflux::this_coroutine::stop();
            }(within, *inner);
            inner->write("not reached");
        }(here, log);
        const auto o = co_await coflux::as_outcome(std::move(caller));
        EXPECT_TRUE(o.is_stopped());
    };
    s.run(root(s.env, &j));
    EXPECT_EQ(j.lines(), (lines{"callee dies", "caller dies"}));
}

TEST(call_matrix, that_cannot_have_a_frame_throws_and_has_not_begun) {
    stage<noop> s;
    journal j;
    const auto root = [](coflux::environment&, journal* log,
                         coflux::counting_resource* frames) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        bool refused = false;
        frames->fail_at(1);
        try {
            co_await tells(here, *log, mortal(*log, "parameter"));
        } catch (const std::bad_alloc&) {
            refused = true;
        }
        EXPECT_TRUE(refused);
    };
    s.run(root(s.env, &j, &s.frames()));
    EXPECT_EQ(j.lines(), lines{"parameter dies"});
}

}  // namespace

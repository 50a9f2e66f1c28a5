// Every kind of result, through every way to take one, with the n-th copy or move of it throwing for every n: each
// object dies once, no frame stays, and what was thrown arrives as what the way promises.
#include <coflux/core/detail/promise/end.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "support/odd_results.hpp"

namespace {

using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;

using coflux_test::call_of;
using coflux_test::fork_of;
using coflux_test::ledger;
using coflux_test::number_of;
using coflux_test::odd;
using coflux_test::task_of;
using throwing = odd<true>;
using move_only = odd<false>;
using over_aligned = odd<true, 64>;
using throwing_destructor = odd<true, alignof(void*), false>;

/// How a result is taken; the outcomes never throw.
enum class way {
    fork,
    task,
    call,
    named,
    fork_outcome,
    task_outcome,
    call_outcome,
    callback,
    view,
    viewed,
    view_outcome
};

template <typename T, typename E>
coflux::task<int, pool> takes(coflux::environment&, way how, int yields) {
    auto&& here = co_await coflux::context();
    switch (how) {
    case way::fork: {
        const T r = co_await fork_of<T, E>(here, yields);
        co_return r.is_right();
    }
    case way::task: {
        const T r = co_await task_of<T, E>(here, yields);
        co_return r.is_right();
    }
    case way::call: {
        const T r = co_await call_of<T>(here, yields);
        co_return r.is_right();
    }
    case way::named: {
        auto f = fork_of<T, E>(here, yields);
        const T r = co_await std::move(f);
        co_return r.is_right();
    }
    case way::fork_outcome: {
        const auto o = co_await coflux::as_outcome(fork_of<T, E>(here, yields));
        co_return number_of(o);
    }
    case way::task_outcome: {
        const auto o = co_await coflux::as_outcome(task_of<T, E>(here, yields));
        co_return number_of(o);
    }
    case way::call_outcome: {
        const auto o = co_await coflux::as_outcome(call_of<T>(here, yields));
        co_return number_of(o);
    }
    case way::callback: {
        auto f = fork_of<T, E>(here, yields);
        int right = 0;
        f.on_value([&right](const T& v) { right = v.is_right(); });
        const T r = co_await std::move(f);
        co_return right != 0 && r.is_right();
    }
    default: break;
    }
    if constexpr (std::is_copy_constructible_v<T>) {
        auto f = fork_of<T, E>(here, yields);
        const auto v = f.view();
        if (how == way::view) {
            const T& r = co_await v;
            co_return r.is_right();
        }
        if (how == way::viewed) {
            const T r = co_await std::move(f);
            const T& left = co_await v;
            co_return r.is_right() && left.is_right();
        }
        const auto taken = co_await coflux::as_outcome(std::move(f));
        const auto looked_at = co_await coflux::as_outcome(v);
        co_return number_of(looked_at) == number_of(taken) || looked_at.has_value() ? number_of(taken) : 0;
    }
    co_return 1;
}

template <typename T, typename E>
void check(way how, int yields, int at) {
    SCOPED_TRACE(::testing::Message() << "way " << static_cast<int>(how) << ", " << yields << " yields, throws at "
                                      << at);
    ledger::open(at);
    coflux::counting_resource frames;
    int got = 0;
    bool threw = false;
    {
        pool one{1};
        auto env = coflux::make_environment(one, &frames);
        try {
            got = takes<T, E>(env, how, yields).get();
        } catch (const std::runtime_error&) {
            threw = true;
        }
    }
    const bool as_outcome = got == -1;
    EXPECT_EQ(threw || as_outcome, ledger::has_thrown());
    if (how == way::fork_outcome || how == way::task_outcome || how == way::call_outcome || how == way::view_outcome) {
        EXPECT_FALSE(threw);
    }
    if (!threw && !as_outcome) {
        EXPECT_EQ(got, 1);
    }
    EXPECT_EQ(ledger::alive, 0);
    EXPECT_EQ(ledger::lost, 0);
    EXPECT_EQ(frames.live(), 0U);
}

template <typename T>
class result_matrix : public ::testing::Test {};
using results =
    ::testing::Types<throwing, const throwing, move_only, const move_only, over_aligned, throwing_destructor>;
TYPED_TEST_SUITE(result_matrix, results);

TYPED_TEST(result_matrix, each_result_dies_once_wherever_its_transfer_throws) {
    if constexpr (std::is_const_v<TypeParam> && !std::is_copy_constructible_v<TypeParam>) {
        // A const result that only moves arrives as one.
        ledger::open(0);
        pool one{1};
        auto env = coflux::make_environment(one);
        EXPECT_EQ((takes<TypeParam, pool>(env, way::fork, 1).get()), 1);
    } else {
        for (int how = 0; how <= static_cast<int>(way::view_outcome); ++how) {
            for (const int yields : {0, 2}) {
                for (int at = 0; at < 5; ++at) {
                    check<TypeParam, pool>(static_cast<way>(how), yields, at);
                    check<TypeParam, noop>(static_cast<way>(how), yields, at);
                }
            }
        }
    }
}

TYPED_TEST(result_matrix, get_gives_it_or_throws) {
    for (int at = 0; at < 4; ++at) {
        ledger::open(at);
        coflux::counting_resource frames;
        bool threw = false;
        {
            pool one{1};
            auto env = coflux::make_environment(one, &frames);
            try {
                TypeParam r = task_of<TypeParam, pool>(env, 1).get();
                EXPECT_TRUE(r.is_right());
            } catch (const std::runtime_error&) {
                threw = true;
            }
        }
        EXPECT_EQ(threw, ledger::has_thrown());
        EXPECT_EQ(ledger::alive, 0);
        EXPECT_EQ(ledger::lost, 0);
        EXPECT_EQ(frames.live(), 0U);
    }
}

// --- results that are aligned beyond what a frame is: where they are made, and on an ordinary stack

/// Without a local of the type.
template <typename T>
coflux::task<T, pool> task_of_far_aligned(coflux::environment&, int yields) {
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    co_return 7;
}
template <typename T>
coflux::task<bool, pool> looks(coflux::environment&, int yields) {
    auto&& here = co_await coflux::context();
    auto f = fork_of<T, pool>(here, yields);
    bool called = false;
    f.on_value([&called](const T& v) { called = v.is_right(); });
    const auto view = f.view();
    const T& seen = co_await view;
    auto o = co_await coflux::as_outcome(view);
    const T& again = std::move(o).value();
    co_return called&& seen.is_right() && &seen == &again;
}

template <typename T>
class far_aligned_results : public ::testing::Test {};
using far_aligned = ::testing::Types<odd<true, 128>, odd<true, 4096>>;
TYPED_TEST_SUITE(far_aligned_results, far_aligned);

TYPED_TEST(far_aligned_results, are_aligned_in_their_frame_and_where_get_gives_them) {
    for (const int yields : {0, 2}) {
        ledger::open(0);
        coflux::counting_resource frames;
        {
            pool one{1};
            auto env = coflux::make_environment(one, &frames);
            EXPECT_TRUE(looks<TypeParam>(env, yields).get());
            const TypeParam r = task_of_far_aligned<TypeParam>(env, yields).get();
            EXPECT_TRUE(r.is_right());
        }
        EXPECT_EQ(ledger::alive, 0);
        EXPECT_EQ(ledger::lost, 0);
        EXPECT_EQ(frames.live(), 0U);
    }
}

// --- results that are no objects of their own: references and handles

template <typename E>
coflux::fork<int&, E> refers(coflux::environment&, coflux::borrowed<int> to, int yields) {
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    co_return *to;
}
template <typename E>
coflux::fork<coflux::fork<throwing, E>, E> gives_a_fork(coflux::environment&, int yields) {
    auto&& here = co_await coflux::context();
    co_return fork_of<throwing, E>(here, yields);
}
template <typename E>
coflux::task<bool, pool> takes_handles(coflux::environment&, coflux::borrowed<int> x, int yields) {
    auto&& here = co_await coflux::context();
    int& by_value = co_await refers<E>(here, x, yields);
    auto o = co_await coflux::as_outcome(refers<E>(here, x, yields));
    int& by_outcome = std::move(o).value();
    auto f = refers<E>(here, x, yields);
    const auto v = f.view();
    int& by_view = co_await v;
    co_await std::move(f);

    auto inner = co_await gives_a_fork<E>(here, yields);
    const throwing a = co_await std::move(inner);
    auto outcome_of_inner = co_await coflux::as_outcome(gives_a_fork<E>(here, yields));
    auto second = std::move(outcome_of_inner).value();
    const throwing b = co_await std::move(second);
    auto dropped = co_await gives_a_fork<E>(here, yields);
    co_return &by_value == &*x && &by_outcome == &*x && &by_view == &*x&& a.is_right() && b.is_right() &&
        dropped.valid();
}

TEST(result_matrix, references_and_handles_arrive_as_they_are) {
    for (const int yields : {0, 2}) {
        ledger::open(0);
        coflux::counting_resource frames;
        {
            int x = 0;
            pool one{1};
            auto env = coflux::make_environment(one, &frames);
            EXPECT_TRUE(takes_handles<pool>(env, coflux::borrowed(x), yields).get());
            EXPECT_TRUE(takes_handles<noop>(env, coflux::borrowed(x), yields).get());
        }
        EXPECT_EQ(ledger::alive, 0);
        EXPECT_EQ(ledger::lost, 0);
        EXPECT_EQ(frames.live(), 0U);
    }
}

}  // namespace

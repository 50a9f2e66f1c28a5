// Handles are awaited wherever they come from: chosen by a conditional operator, moved, assigned, swapped.
#include <coflux/core/detail/promise/await.hpp>

#include <string>
#include <utility>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

namespace {

using noop = coflux::noop_executor;
using pool = coflux::thread_pool_executor;

template <typename E>
coflux::fork<int, E> twice(coflux::environment&, int n) {
    co_return 2 * n;
}
coflux::task<int, pool> thrice(coflux::environment&, int n) {
    co_return 3 * n;
}
coflux::call<int> same(coflux::environment&, int n) {
    co_return n;
}
coflux::call<std::string> same_text(coflux::environment&, std::string s) {
    co_return s;
}

enum class operand { fork, noop_fork, task, call, call_of_text, view, outcome, outcome_of_call, combined, limited };

/// Gives 2 where the expression is right.
coflux::task<int, pool> chooses(coflux::environment&, operand what, bool yes) {
    auto&& here = co_await coflux::context();
    const int n = yes ? 1 : 2;
    switch (what) {
    case operand::fork: co_return co_await (yes ? twice<pool>(here, n) : twice<pool>(here, n - 1));
    case operand::noop_fork: co_return co_await (yes ? twice<noop>(here, n) : twice<noop>(here, n - 1));
    case operand::task: co_return co_await (yes ? thrice(here, n) : thrice(here, n - 1)) - 1;
    case operand::call: co_return co_await (yes ? same(here, n + 1) : same(here, n));
    case operand::call_of_text: {
        const std::string s =
            co_await (yes ? same_text(here, "longer than a small string may be") : same_text(here, "no"));
        co_return s.size() == 33 || s.size() == 2 ? 2 : 0;
    }
    case operand::view: {
        auto a = twice<pool>(here, 1);
        auto b = twice<pool>(here, 1);
        co_return co_await (yes ? a.view() : b.view());
    }
    case operand::outcome: {
        auto o = co_await coflux::as_outcome(yes ? twice<pool>(here, n) : twice<pool>(here, n - 1));
        co_return std::move(o).value();
    }
    case operand::outcome_of_call: {
        auto o = co_await coflux::as_outcome(yes ? same(here, n + 1) : same(here, n));
        co_return std::move(o).value();
    }
    case operand::combined: {
        auto [a, b] = co_await coflux::when_all(yes ? twice<pool>(here, n) : twice<pool>(here, n - 1), same(here, 1));
        co_return a* b;
    }
    case operand::limited: {
        const auto in_time =
            co_await coflux::timeout(yes ? twice<pool>(here, n) : twice<pool>(here, n - 1), std::chrono::hours(1));
        co_return in_time.value_or(0);
    }
    }
    co_return 0;
}
int chosen(operand what, bool yes) {
    pool one{1};
    auto env = coflux::make_environment(one);
    return chooses(env, what, yes).get();
}

/// Among handles that exist, and by if.
coflux::task<int, pool> chooses_by_if(coflux::environment&, bool yes) {
    auto&& here = co_await coflux::context();
    auto chosen = yes ? twice<pool>(here, 1) : twice<pool>(here, 2);
    auto a = twice<pool>(here, 3);
    auto b = twice<pool>(here, 4);
    const int later = co_await (yes ? std::move(a) : std::move(b));
    int sum = 0;
    if (yes) {
        sum = co_await twice<pool>(here, 5);
    } else {
        sum = co_await twice<pool>(here, 6);
    }
    co_return co_await std::move(chosen) + later + sum;
}

TEST(awaited_frame, a_handle_is_chosen_in_a_statement_before_or_by_if_or_among_handles_that_exist) {
    pool one{1};
    auto env = coflux::make_environment(one);
    EXPECT_EQ(chooses_by_if(env, true).get(), 18);
    EXPECT_EQ(chooses_by_if(env, false).get(), 24);
}

/// Handles that move are where they are.
coflux::task<int, pool> moves(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto a = twice<pool>(here, 1);
    auto b = std::move(a);
    auto c = twice<pool>(here, 2);
    c = std::move(b);
    std::swap(b, c);
    co_return co_await std::move(b);
}

TEST(awaited_frame, a_handle_that_was_moved_assigned_and_swapped_is_awaited) {
    pool one{1};
    auto env = coflux::make_environment(one);
    EXPECT_EQ(moves(env).get(), 2);
}

TEST(awaited_frame, a_handle_that_a_conditional_operator_makes_is_awaited) {
    for (int what = 0; what <= static_cast<int>(operand::limited); ++what) {
        for (const bool yes : {true, false}) {
            SCOPED_TRACE(::testing::Message() << "operand " << what << (yes ? ", the first" : ", the second"));
            EXPECT_EQ(chosen(static_cast<operand>(what), yes), 2);
        }
    }
}

}  // namespace

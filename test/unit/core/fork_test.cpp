#include <coflux/core/fork.hpp>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "by_hand.hpp"
#include "support/executors.hpp"
#include "support/witness.hpp"

namespace {

using coflux_test::by_hand;
using coflux_test::journal;
using coflux_test::manual_executor;
using coflux_test::move_only;
using coflux_test::over_aligned;
using coflux_test::root_by_hand;
using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;
using lines = std::vector<std::string>;

/// Runs `body` as a root on a manual executor until nothing is left to do; throws what it throws.
template <typename Body>
void run_by_hand(Body body) {
    by_hand s;
    s.play(body(s.env));
}

coflux::fork<int, manual_executor> writes(coflux::environment&, journal* j, const char* line) {
    j->write(line);
    co_return 1;
}

TEST(fork, runs_before_it_is_awaited) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    journal j;
    auto f = writes(env, &j, "ran");
    EXPECT_FALSE(f.done());
    EXPECT_EQ(by_hand.run_all(), 1U);
    EXPECT_TRUE(f.done());
    EXPECT_EQ(j.lines(), lines{"ran"});
}

TEST(fork, on_a_noop_executor_runs_inside_the_call_that_makes_it) {
    auto env = coflux::make_environment();
    journal j;
    auto f = [](coflux::environment&, journal* log) -> coflux::fork<void, noop> {
        log->write("body");
        co_return;
    }(env, &j);
    j.write("after the call");
    EXPECT_TRUE(f.done());
    EXPECT_EQ(j.lines(), (lines{"body", "after the call"}));
}

TEST(fork, forks_of_one_parent_start_in_the_order_of_their_creation_on_a_queue) {
    journal j;
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    auto a = writes(env, &j, "a");
    auto b = writes(env, &j, "b");
    auto c = writes(env, &j, "c");
    by_hand.run_all();
    EXPECT_EQ(j.lines(), (lines{"a", "b", "c"}));
}

TEST(fork, may_be_awaited_in_any_order) {
    run_by_hand([](coflux::environment&) -> root_by_hand {
        auto&& here = co_await coflux::context();
        constexpr auto give = [](coflux::environment&, int x) -> coflux::fork<int, manual_executor> {
            co_await coflux::yield();
            co_return x;
        };
        auto a = give(here, 1);
        auto b = give(here, 2);
        auto c = give(here, 3);
        EXPECT_EQ(co_await std::move(b), 2);
        EXPECT_EQ(co_await std::move(c), 3);
        EXPECT_EQ(co_await std::move(a), 1);
    });
}

TEST(fork, throws_its_error_where_it_is_awaited) {
    run_by_hand([](coflux::environment&) -> root_by_hand {
        auto&& here = co_await coflux::context();
        constexpr auto fail = [](coflux::environment&, bool late) -> coflux::fork<int, manual_executor> {
            if (late) co_await coflux::yield();
            throw std::out_of_range("bad");
        };
        for (const bool late : {false, true}) {
            auto f = fail(here, late);
            EXPECT_THROW((void)co_await std::move(f), std::out_of_range);
        }
    });
}

TEST(fork, that_throws_before_it_suspends_makes_the_await_throw_and_not_the_call) {
    auto env = coflux::make_environment();
    auto root = [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto f = [](coflux::environment&) -> coflux::fork<int, noop> {
            throw std::out_of_range("bad");
            co_return 1;
        }(here);
        EXPECT_TRUE(f.done());
        EXPECT_THROW((void)co_await std::move(f), std::out_of_range);
    }(env);
    root.get();
}

// --- results, parameters, locals ----------------------------------------------------------------------------------

template <typename E>
coflux::fork<move_only, E> gives_move_only(coflux::environment&, move_only m) {
    co_await coflux::yield();
    ++*m.value;
    co_return std::move(m);
}

template <typename E>
coflux::fork<int&, E> gives_reference(coflux::environment&, int* to) {
    co_return *to;
}

template <typename E>
coflux::fork<void, E> gives_nothing(coflux::environment&, int* counter) {
    co_await coflux::yield();
    ++*counter;
}

template <typename E>
coflux::fork<over_aligned, E> gives_over_aligned(coflux::environment&, over_aligned parameter) {
    over_aligned local(parameter.value + 1);
    EXPECT_TRUE(parameter.is_aligned());
    EXPECT_TRUE(local.is_aligned());
    co_await coflux::yield();
    EXPECT_TRUE(local.is_aligned());
    co_return over_aligned(local.value + 1);
}

template <typename E>
coflux::fork<std::string, E> gives_string(coflux::environment&, std::string s) {
    co_return s + s;
}

template <typename E>
coflux::task<void, E> takes_all_kinds(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto m = gives_move_only<E>(here, move_only(1));
    const move_only got = co_await std::move(m);
    EXPECT_EQ(*got.value, 2);

    int target = 5;
    auto r = gives_reference<E>(here, &target);
    int& referred = co_await std::move(r);
    EXPECT_EQ(&referred, &target);

    auto v = gives_nothing<E>(here, &target);
    co_await std::move(v);
    EXPECT_EQ(target, 6);

    auto o = gives_over_aligned<E>(here, over_aligned(1));
    const over_aligned aligned = co_await std::move(o);
    EXPECT_EQ(aligned.value, 3);

    auto s = gives_string<E>(here, std::string(100, 'x'));
    const std::string text = co_await std::move(s);
    EXPECT_EQ(text.size(), 200U);
}

TEST(fork, takes_and_gives_move_only_reference_void_over_aligned_and_owning_types) {
    manual_executor by_hand;
    pool workers(2);
    auto env = coflux::make_environment(by_hand, workers);
    auto t = takes_all_kinds<manual_executor>(env);
    by_hand.run_all();
    t.get();
    takes_all_kinds<pool>(env).get();
    auto nowhere = coflux::make_environment();
    takes_all_kinds<noop>(nowhere).get();
}

TEST(fork, result_is_destroyed_once_whether_it_is_taken_or_not) {
    auto alive = std::make_shared<int>(0);
    auto env = coflux::make_environment();
    [](coflux::environment&, std::shared_ptr<int> shared) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        constexpr auto give = [](coflux::environment&,
                                 std::shared_ptr<int> s) -> coflux::fork<std::shared_ptr<int>, noop> { co_return s; };
        auto taken = give(here, shared);
        { auto got = co_await std::move(taken); }
        give(here, shared).attach();
        auto kept = give(here, shared);
        EXPECT_GT(shared.use_count(), 2);
    }(env, alive)
                                                                 .get();
    EXPECT_EQ(alive.use_count(), 1);
}

// --- the handle ------------------------------------------------------------------------------------------------------

TEST(fork, handle_is_valid_until_it_is_awaited_moved_from_or_attached) {
    auto env = coflux::make_environment();
    [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        constexpr auto one = [](coflux::environment&) -> coflux::fork<int, noop> { co_return 1; };
        auto a = one(here);
        EXPECT_TRUE(a.valid());
        auto b = std::move(a);
        EXPECT_FALSE(a.valid());
        EXPECT_TRUE(b.valid());
        (void)co_await std::move(b);
        EXPECT_FALSE(b.valid());
        auto c = one(here);
        std::move(c).attach();
        EXPECT_FALSE(c.valid());
    }(env)
                                    .get();
}

TEST(fork, handle_may_be_assigned_and_stored) {
    run_by_hand([](coflux::environment&) -> root_by_hand {
        auto&& here = co_await coflux::context();
        constexpr auto give = [](coflux::environment&, int x) -> coflux::fork<int, manual_executor> { co_return x; };
        std::vector<coflux::fork<int, manual_executor>> forks;
        for (int i = 0; i < 10; ++i) forks.push_back(give(here, i));
        forks[3] = give(here, 33);
        int sum = 0;
        for (auto& f : forks) sum += co_await std::move(f);
        EXPECT_EQ(sum, 45 - 3 + 33);
    });
}

TEST(fork, may_be_awaited_by_another_coroutine_than_its_parent) {
    pool workers(2);
    auto env = coflux::make_environment(workers);
    [](coflux::environment&) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        constexpr auto give = [](coflux::environment&, int x) -> coflux::fork<int, pool> {
            co_await coflux::yield();
            co_return x;
        };
        constexpr auto add_one = [](coflux::environment&, coflux::fork<int, pool> f) -> coflux::fork<int, pool> {
            co_return 1 + co_await std::move(f);
        };
        for (int i = 0; i < 1000; ++i) {
            auto a = give(here, i);
            auto b = add_one(here, std::move(a));
            auto c = add_one(here, std::move(b));
            EXPECT_EQ(co_await std::move(c), i + 2);
        }
    }(env)
                                    .get();
}

TEST(fork, without_an_executor_runs_on_its_parents) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    auto root = [](coflux::environment&) -> root_by_hand {
        auto&& here = co_await coflux::context();
        auto f = [](coflux::environment&) -> coflux::fork<int> {
            co_await coflux::yield();
            co_return 3;
        }(here);
        EXPECT_FALSE(f.done());  // queued, not begun in place
        EXPECT_EQ(co_await std::move(f), 3);
    }(env);
    by_hand.run_all();
    ASSERT_TRUE(root.done());
    root.join();
    EXPECT_GE(by_hand.executed(), 3U);  // root, fork, fork after its yield; its end transfers
}

TEST(fork, without_an_executor_below_none_runs_in_place) {
    auto env = coflux::make_environment();
    [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto f = [](coflux::environment&) -> coflux::fork<int> { co_return 3; }(here);
        EXPECT_TRUE(f.done());
        EXPECT_EQ(co_await std::move(f), 3);
    }(env)
                                    .get();
}

struct account {
    using outlives_its_coroutines = void;
    int balance = 10;
    coflux::fork<int, noop> deposit(coflux::environment&, int sum) {
        balance += sum;
        co_return balance;
    }
    static coflux::fork<int, noop> nothing(coflux::environment&) { co_return 0; }
};

TEST(fork, may_be_a_member_function_whose_second_parameter_is_the_environment) {
    auto env = coflux::make_environment();
    account a;
    [](coflux::environment&, account* object) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        EXPECT_EQ(co_await object->deposit(here, 5), 15);
        EXPECT_EQ(co_await account::nothing(here), 0);
    }(env, &a)
                                                     .get();
}

void awaits_twice() {
    auto env = coflux::make_environment();
    [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto f = [](coflux::environment&) -> coflux::fork<int, noop> { co_return 3; }(here);
        (void)co_await std::move(f);
        (void)co_await std::move(f);
    }(env)
                                    .get();
}

TEST(fork, may_have_no_coroutine_until_it_is_given_one) {
    by_hand s;
    s.play([](coflux::environment&) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        journal j;
        coflux::fork<int, manual_executor> f;
        EXPECT_FALSE(f.valid());
        coflux::fork<int, manual_executor> other = std::move(f);
        f = std::move(other);
        EXPECT_FALSE(f.valid());
        f = writes(here, &j, "first");
        EXPECT_TRUE(f.valid());
        EXPECT_EQ(co_await std::move(f), 1);
        EXPECT_FALSE(f.valid());
        std::vector<coflux::fork<int, manual_executor>> many(3);
        for (auto& one : many) one = writes(here, &j, "of many");
        co_await coflux::when_all(std::move(many));
        EXPECT_EQ(j.lines().size(), 4U);
    }(s.env));
}
TEST(fork, that_is_assigned_to_leaves_what_it_had_to_its_scope) {
    journal j;
    by_hand s;
    s.play([](coflux::environment&, journal* log) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        auto f = writes(here, log, "first");
        f = writes(here, log, "second");
        f = coflux::fork<int, manual_executor>();
        EXPECT_FALSE(f.valid());
        log->write("body ends");
    }(s.env, &j));
    EXPECT_EQ(j.lines(), (lines{"body ends", "first", "second"}));
}

void awaits_what_has_no_coroutine(bool as_outcome) {
    auto env = coflux::make_environment();
    [](coflux::environment&, bool outcome) -> coflux::task<void, noop> {
        coflux::fork<int, noop> f;
        if (outcome) (void)co_await coflux::as_outcome(std::move(f));
        (void)co_await std::move(f);
    }(env, as_outcome)
                                                  .get();
}

TEST(fork_death, a_handle_without_a_coroutine_cannot_be_used) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(awaits_what_has_no_coroutine(false), "a handle was used .* or before it had a coroutine");
    EXPECT_DEATH(awaits_what_has_no_coroutine(true), "a handle was used .* or before it had a coroutine");
    const coflux::fork<int, noop> f;
    EXPECT_DEATH((void)f.done(), "a handle was used .* or before it had a coroutine");
    EXPECT_DEATH(f.request_stop(), "a handle was used .* or before it had a coroutine");
    EXPECT_DEATH((void)f.view(), "a handle was used .* or before it had a coroutine");
}

TEST(fork_death, a_handle_that_was_awaited_cannot_be_used_again) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(awaits_twice(), "a handle was used after it was awaited, moved from or attached");
}

}  // namespace

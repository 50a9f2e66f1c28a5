// Law 12: an error that was not observed fails the scope, comes out of the root, or goes to the environment's handler.
#include <coflux/coflux.hpp>

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/executors.hpp"
#include "support/iterations.hpp"

namespace {

using coflux_test::manual_executor;
using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;

std::string text_of(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        return e.what();
    } catch (...) {
        return "?";
    }
}

/// The error of get(), and those that came with it.
struct thrown {
    std::string first;
    std::vector<std::string> others;
};

template <typename Task>
thrown thrown_by(Task t) {
    thrown seen;
    try {
        (void)t.get();
    } catch (const std::exception& e) {
        seen.first = e.what();
        for (const auto& other : coflux::other_errors()) seen.others.push_back(text_of(other));
    }
    return seen;
}

template <typename E>
coflux::fork<void, E> fails(coflux::environment&, const char* what) {
    co_await coflux::this_coroutine::executor();
    throw std::runtime_error(what);
}

template <typename E>
coflux::task<void, E> leaves_a_failing_fork(coflux::environment&) {
    auto&& here = co_await coflux::context();
    fails<E>(here, "not observed").attach();
}

TEST(law_12_errors, a_child_that_fails_unobserved_fails_its_scope) {
    pool workers(2);
    auto env = coflux::make_environment(workers);
    EXPECT_EQ(thrown_by(leaves_a_failing_fork<pool>(env)).first, "not observed");
    EXPECT_EQ(thrown_by(leaves_a_failing_fork<noop>(env)).first, "not observed");
}

TEST(law_12_errors, the_join_of_a_root_throws_its_error_too) {
    auto env = coflux::make_environment();
    auto t = leaves_a_failing_fork<noop>(env);
    EXPECT_THROW(t.join(), std::runtime_error);
}

TEST(law_12_errors, the_first_error_is_thrown_and_the_others_are_reachable_from_it) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    auto root = [](coflux::environment&) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        fails<manual_executor>(here, "first").attach();
        fails<manual_executor>(here, "second").attach();
        fails<manual_executor>(here, "third").attach();
    }(env);
    by_hand.run_all();
    const thrown seen = thrown_by(std::move(root));
    EXPECT_EQ(seen.first, "first");
    EXPECT_EQ(seen.others, (std::vector<std::string>{"second", "third"}));
    EXPECT_TRUE(coflux::other_errors().empty());  // no handler is running
}

TEST(law_12_errors, a_scopes_own_error_comes_before_those_of_its_children) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    auto root = [](coflux::environment&) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        fails<manual_executor>(here, "child").attach();
        throw std::runtime_error("own");
    }(env);
    by_hand.run_all();
    const thrown seen = thrown_by(std::move(root));
    EXPECT_EQ(seen.first, "own");
    EXPECT_EQ(seen.others, std::vector<std::string>{"child"});
}

TEST(law_12_errors, an_unobserved_error_passes_through_every_scope_on_its_way_up) {
    pool workers(2);
    auto env = coflux::make_environment(workers);
    auto root = [](coflux::environment&) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        [](coflux::environment&) -> coflux::fork<void, noop> {
            auto&& below = co_await coflux::context();
            [](coflux::environment&) -> coflux::fork<void, pool> {
                auto&& bottom = co_await coflux::context();
                fails<pool>(bottom, "from below").attach();
            }(below)
                                            .attach();
        }(here)
                                        .attach();
    }(env);
    EXPECT_EQ(thrown_by(std::move(root)).first, "from below");
}

coflux::fork<void, noop> fails_as(coflux::environment&, std::size_t n) {
    co_await coflux::this_coroutine::executor();
    throw std::runtime_error(std::to_string(n));
}
/// The error of the deepest level comes out of all, and each adds one that was not looked at.
coflux::call<void> fails_at_each_level(coflux::environment&, std::size_t levels) {
    auto&& here = co_await coflux::context();
    fails_as(here, levels).attach();
    if (levels == 0) throw std::runtime_error("bottom");
    co_await fails_at_each_level(here, levels - 1);
}
/// Each level fails by itself, and the one below is not looked at: what came with an error has errors that came with
/// it.
coflux::fork<void, noop> fails_above_the_next(coflux::environment&, std::size_t levels) {
    auto&& here = co_await coflux::context();
    if (levels != 0) fails_above_the_next(here, levels - 1).attach();
    throw std::runtime_error(std::to_string(levels));
}

// With a copy at each level these took minutes.
constexpr std::size_t levels = coflux_test::repetitions(80'000) + 10'000;
// Forks in forks lie on the thread's stack, all of which g++'s ThreadSanitizer keeps for each allocation.
constexpr std::size_t forks_in_forks = COFLUX_TEST_TSAN != 0 ? 1'000 : levels;

TEST(law_12_errors, an_error_takes_one_along_from_each_of_the_scopes_that_it_passes) {
    auto env = coflux::make_environment();
    const thrown seen = thrown_by([](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        co_await fails_at_each_level(here, levels - 1);
    }(env));
    EXPECT_EQ(seen.first, "bottom");
    ASSERT_EQ(seen.others.size(), levels);
    for (std::size_t i = 0; i < levels; ++i) ASSERT_EQ(seen.others[i], std::to_string(i));
}

TEST(law_12_errors, an_error_that_comes_along_brings_what_came_with_it) {
    auto env = coflux::make_environment();
    const auto thrown_at = [&env](std::size_t deep) {
        return thrown_by([](coflux::environment&, std::size_t n) -> coflux::task<void, noop> {
            auto&& here = co_await coflux::context();
            fails_above_the_next(here, n).attach();
            if (n < 10) fails_above_the_next(here, 2).attach();
        }(env, deep));
    };
    EXPECT_EQ(thrown_at(2).others, (std::vector<std::string>{"1", "0", "2", "1", "0"}));
    const thrown seen = thrown_at(forks_in_forks);
    EXPECT_EQ(seen.first, std::to_string(forks_in_forks));
    ASSERT_EQ(seen.others.size(), forks_in_forks);
    for (std::size_t i = 0; i < forks_in_forks; ++i) ASSERT_EQ(seen.others[i], std::to_string(forks_in_forks - 1 - i));
}

TEST(law_12_errors, what_came_with_an_error_is_the_same_for_each_that_it_is_thrown_to) {
    auto env = coflux::make_environment();
    [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto failed = fails_above_the_next(here, 3);
        const coflux::fork_view<void> views[] = {failed.view(), failed.view()};
        for (const coflux::fork_view<void>& v : views) {
            std::size_t others = 0;
            try {
                co_await v;
            } catch (const std::runtime_error&) {
                others = coflux::other_errors().size();
                EXPECT_EQ(coflux::other_errors().data(), coflux::other_errors().data());
            }
            EXPECT_EQ(others, 3U);
        }
    }(env)
                                    .get();
}

TEST(law_12_errors, an_error_that_came_alone_has_no_others) {
    auto env = coflux::make_environment();
    try {
        leaves_a_failing_fork<noop>(env).get();
        ADD_FAILURE() << "nothing thrown";
    } catch (const std::runtime_error&) {
        EXPECT_TRUE(coflux::other_errors().empty());
    }
}

TEST(law_12_errors, what_was_awaited_was_observed) {
    pool workers(2);
    auto env = coflux::make_environment(workers);
    auto root = [](coflux::environment&) -> coflux::task<int, pool> {
        auto&& here = co_await coflux::context();
        int caught = 0;
        for (int i = 0; i < 100; ++i) {
            auto f = fails<pool>(here, "seen");
            if (i % 2 == 0) co_await coflux::yield();
            try {
                co_await std::move(f);
            } catch (const std::runtime_error&) {
                ++caught;
            }
        }
        co_return caught;
    }(env);
    EXPECT_EQ(root.get(), 100);
}

TEST(law_12_errors, what_was_asked_as_an_outcome_was_observed) {
    auto env = coflux::make_environment();
    auto root = [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto o = co_await coflux::as_outcome(fails<noop>(here, "seen"));
        EXPECT_TRUE(o.has_error());
    }(env);
    EXPECT_NO_THROW(root.get());
}

TEST(law_12_errors, what_a_callback_got_was_observed) {
    auto env = coflux::make_environment();
    auto root = [](coflux::environment&) -> coflux::task<std::string, noop> {
        auto&& here = co_await coflux::context();
        std::string seen;
        auto f = fails<noop>(here, "called back");
        f.on_error([&seen](const std::exception_ptr& error) { seen = text_of(error); });
        co_return seen;
    }(env);
    EXPECT_EQ(root.get(), "called back");
}

TEST(law_12_errors, what_one_view_threw_was_observed) {
    auto env = coflux::make_environment();
    auto root = [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto f = fails<noop>(here, "viewed");
        auto view = f.view();
        EXPECT_THROW(co_await view, std::runtime_error);
    }(env);
    EXPECT_NO_THROW(root.get());
}

TEST(law_12_errors, the_join_of_a_derived_environment_throws_what_was_not_observed_in_it) {
    auto env = coflux::make_environment();
    auto root = [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here);
        fails<noop>(sub, "left in sub").attach();
        EXPECT_THROW(co_await sub.join(), std::runtime_error);
        co_await sub.join();  // thrown once
    }(env);
    EXPECT_NO_THROW(root.get());
}

// --- no await is left to observe it ----------------------------------------------------------------------------------

std::vector<std::string> handled;

void remember(const std::exception_ptr& error) noexcept {
    handled.push_back(text_of(error));
}

TEST(law_12_errors, a_root_whose_handle_dies_unobserved_hands_its_errors_to_the_handler) {
    handled.clear();
    auto env = coflux::make_environment();
    env.on_unobserved_error(remember);
    {
        auto t = [](coflux::environment&) -> coflux::task<void, noop> {
            auto&& here = co_await coflux::context();
            fails<noop>(here, "child").attach();
            throw std::runtime_error("root");
        }(env);
    }
    EXPECT_EQ(handled, (std::vector<std::string>{"root", "child"}));
}

TEST(law_12_errors, a_root_whose_error_was_thrown_leaves_the_handler_alone) {
    handled.clear();
    auto env = coflux::make_environment();
    env.on_unobserved_error(remember);
    EXPECT_THROW(leaves_a_failing_fork<noop>(env).get(), std::runtime_error);
    {
        auto t = leaves_a_failing_fork<noop>(env);
        EXPECT_THROW(t.join(), std::runtime_error);
    }
    EXPECT_TRUE(handled.empty());
}

TEST(law_12_errors, a_fork_left_in_a_root_environment_hands_its_error_to_the_handler_at_its_end) {
    handled.clear();
    {
        auto env = coflux::make_environment();
        env.on_unobserved_error(remember);
        fails<noop>(env, "left in the environment").attach();
        EXPECT_TRUE(handled.empty());
    }
    EXPECT_EQ(handled, std::vector<std::string>{"left in the environment"});
}

TEST(law_12_errors_death, without_a_handler_the_error_is_printed_and_the_program_terminates) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            auto env = coflux::make_environment();
            { auto t = leaves_a_failing_fork<noop>(env); }
        },
        "an error that was not observed.*not observed");
}

coflux::task<void, noop> fails_upon_a_failure(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto failing = fails<noop>(here, "the cause");
    try {
        co_await std::move(failing);
    } catch (...) {
        std::throw_with_nested(std::logic_error("the effect"));
    }
}

TEST(law_12_errors_death, without_a_handler_the_cause_of_an_error_is_printed_and_where_the_root_stood) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            auto env = coflux::make_environment();
            { auto t = fails_upon_a_failure(env); }
        },
        "  error: the effect\n    caused by: the cause\n    in .*fails_upon_a_failure at .*law_12_errors_test.cpp:");
}

TEST(law_12_errors_death, without_a_handler_every_error_is_printed_whatever_its_type) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto leaves_two = [] {
        auto env = coflux::make_environment();
        auto t = [](coflux::environment&) -> coflux::task<void, noop> {
            auto&& here = co_await coflux::context();
            fails<noop>(here, "the first").attach();
            [](coflux::environment&) -> coflux::fork<void, noop> {
                co_await coflux::this_coroutine::executor();
                throw 7;
            }(here)
                                            .attach();
        }(env);
    };
    EXPECT_DEATH(leaves_two(), "error: the first");
    EXPECT_DEATH(leaves_two(), "also: not derived from std::exception");
}

}  // namespace

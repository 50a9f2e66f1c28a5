// when_all and when_all_outcomes of a std::array of handles: used where it lies, and given back as a std::array.
#include <coflux/combine/when_all.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

namespace {

using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;

/// Runs a task on one worker, where each fork that is awaited from the youngest on runs nested, and on two.
template <typename Make>
void on_pools(Make make) {
    for (const std::size_t threads : {1, 2}) {
        pool workers{threads};
        auto env = coflux::make_environment(workers);
        make(env).get();
    }
}

coflux::fork<int, pool> number(coflux::environment&, int n) {
    co_return n;
}
coflux::fork<int, pool> suspends(coflux::environment&, int n) {
    co_await coflux::yield();
    co_return n;
}
coflux::fork<std::string, pool> text(coflux::environment&, int n) {
    co_return std::to_string(n);
}
coflux::fork<std::unique_ptr<int>, pool> owned(coflux::environment&, int n) {
    co_return std::make_unique<int>(n);
}
coflux::fork<void, pool> counts(coflux::environment&, coflux::borrowed<std::atomic<int>> at) {
    at->fetch_add(1);
    co_return;
}
coflux::fork<int&, pool> refers(coflux::environment&, coflux::borrowed<int> to) {
    co_return to.get();
}
coflux::fork<int, noop> at_once(coflux::environment&, int n) {
    co_return n;
}
coflux::fork<int, pool> fails(coflux::environment&, std::string why) {
    throw std::runtime_error(why);
    co_return 0;
}
coflux::fork<int, pool> stops(coflux::environment&) {
    co_await coflux::this_coroutine::stop();
    co_return 0;
}
coflux::fork<int, pool> waits(coflux::environment&) {
    co_await coflux::sleep_for(std::chrono::hours(1));
    co_return 0;
}

TEST(when_all_array, gives_an_array_in_the_order_of_the_handles_and_empties_them) {
    on_pools([](coflux::environment& env) {
        return [](coflux::environment&) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            std::array forks{number(here, 0), suspends(here, 1), number(here, 2), suspends(here, 3), number(here, 4)};
            auto values = co_await coflux::when_all(std::move(forks));
            static_assert(std::is_same_v<decltype(values), std::array<int, 5>>);
            for (int i = 0; i < 5; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], i);
            for (const auto& f : forks) EXPECT_FALSE(f.valid());
        }(env);
    });
}

TEST(when_all_array, takes_a_temporary) {
    on_pools([](coflux::environment& env) {
        return [](coflux::environment&) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            const auto [a, b, c] =
                co_await coflux::when_all(std::array{number(here, 1), suspends(here, 2), number(here, 3)});
            EXPECT_EQ(a * 100 + b * 10 + c, 123);
        }(env);
    });
}

TEST(when_all_array, has_results_that_fit_into_no_word) {
    on_pools([](coflux::environment& env) {
        return [](coflux::environment&) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            const auto texts = co_await coflux::when_all(std::array{text(here, 1), text(here, 22)});
            EXPECT_EQ(texts[0] + texts[1], "122");
            auto pointers = co_await coflux::when_all(std::array{owned(here, 3), owned(here, 4)});
            EXPECT_EQ(*pointers[0] * 10 + *pointers[1], 34);
        }(env);
    });
}

TEST(when_all_array, gives_nothing_for_void_and_wrappers_for_references) {
    on_pools([](coflux::environment& env) {
        return [](coflux::environment&) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            std::atomic<int> count{0};
            std::array given{counts(here, coflux::borrowed(count)), counts(here, coflux::borrowed(count))};
            co_await coflux::when_all(std::move(given));
            EXPECT_EQ(count.load(), 2);
            int x = 1;
            int y = 2;
            std::array given_2{refers(here, coflux::borrowed(x)), refers(here, coflux::borrowed(y))};
            auto refs = co_await coflux::when_all(std::move(given_2));
            static_assert(std::is_same_v<decltype(refs), std::array<std::reference_wrapper<int>, 2>>);
            refs[1].get() = 7;
            EXPECT_EQ(&refs[0].get(), &x);
            EXPECT_EQ(y, 7);
        }(env);
    });
}

TEST(when_all_array, takes_handles_that_began_in_their_maker_and_shared_ones) {
    on_pools([](coflux::environment& env) {
        return [](coflux::environment&) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            std::array given{at_once(here, 1), at_once(here, 2)};
            const auto begun = co_await coflux::when_all(std::move(given));
            EXPECT_EQ(begun[0] * 10 + begun[1], 12);
            std::array forks{number(here, 1), number(here, 2), suspends(here, 3)};
            int told = 0;
            auto view = forks[1].view();
            forks[2].on_value([&told](int v) { told = v; });
            const auto values = co_await coflux::when_all(std::move(forks));
            EXPECT_EQ(values, (std::array{1, 2, 3}));
            EXPECT_EQ(co_await view, 2);
            EXPECT_EQ(told, 3);
        }(env);
    });
}

TEST(when_all_array, throws_the_first_error_with_the_others_and_drops_the_rest) {
    on_pools([](coflux::environment& env) {
        return [](coflux::environment&) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            std::array forks{number(here, 0), fails(here, "first"), number(here, 2), fails(here, "second"),
                             number(here, 4)};
            try {
                (void)co_await coflux::when_all(std::move(forks));
                ADD_FAILURE() << "no error";
            } catch (const std::runtime_error& e) {
                EXPECT_STREQ(e.what(), "first");
                EXPECT_EQ(coflux::other_errors().size(), 1U);
            }
            for (const auto& f : forks) EXPECT_FALSE(f.valid());
        }(env);
    });
}

TEST(when_all_array, is_stopped_by_a_stopped_child) {
    on_pools([](coflux::environment& env) {
        return [](coflux::environment&) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            std::array forks{number(here, 0), stops(here), number(here, 2)};
            EXPECT_TRUE((co_await coflux::as_outcome(coflux::when_all(std::move(forks)))).is_stopped());
            for (const auto& f : forks) EXPECT_FALSE(f.valid());
            std::array again{number(here, 0), number(here, 1)};
            const auto o = co_await coflux::as_outcome(coflux::when_all(std::move(again)));
            EXPECT_EQ((*o)[1], 1);
        }(env);
    });
}

TEST(when_all_array, passes_a_stop_on_to_those_that_still_run) {
    on_pools([](coflux::environment& env) {
        return [](coflux::environment&) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            auto stopped = [](coflux::environment&) -> coflux::call<int> {
                auto&& inner = co_await coflux::context();
                std::array forks{waits(inner), number(inner, 1), waits(inner), number(inner, 3)};
                const auto values = co_await coflux::when_all(std::move(forks));
                co_return values[0];
            };
            EXPECT_EQ(co_await coflux::timeout(stopped(here), std::chrono::milliseconds(5)), std::nullopt);
        }(env);
    });
}

TEST(when_all_array, with_stop_on_error_gives_an_array_too) {
    on_pools([](coflux::environment& env) {
        return [](coflux::environment&) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            std::array given{number(here, 1), suspends(here, 2)};
            auto values = co_await coflux::when_all(coflux::stop_on_error, std::move(given));
            static_assert(std::is_same_v<decltype(values), std::array<int, 2>>);
            EXPECT_EQ(values, (std::array{1, 2}));
            std::array forks{waits(here), fails(here, "why"), waits(here)};
            try {
                (void)co_await coflux::when_all(coflux::stop_on_error, std::move(forks));
                ADD_FAILURE() << "no error";
            } catch (const std::runtime_error& e) {
                EXPECT_STREQ(e.what(), "why");
            }
        }(env);
    });
}

TEST(when_all_array, of_outcomes_gives_an_array_of_them) {
    on_pools([](coflux::environment& env) {
        return [](coflux::environment&) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            std::array forks{number(here, 1), fails(here, "why"), stops(here)};
            auto all = co_await coflux::when_all_outcomes(std::move(forks));
            static_assert(std::is_same_v<decltype(all), std::array<coflux::outcome<int>, 3>>);
            EXPECT_EQ(*all[0], 1);
            EXPECT_TRUE(all[1].has_error());
            EXPECT_TRUE(all[2].is_stopped());
        }(env);
    });
}

TEST(when_all_array, of_tasks_waits_for_those_of_another_root) {
    pool workers{2};
    auto env = coflux::make_environment(workers);
    const auto number_of = [](coflux::environment&, int n) -> coflux::task<int, pool> { co_return n; };
    [](coflux::environment&, coflux::task<int, pool> a, coflux::task<int, pool> b) -> coflux::task<void, pool> {
        std::array given{std::move(a), std::move(b)};
        const auto values = co_await coflux::when_all(std::move(given));
        EXPECT_EQ(values, (std::array{1, 2}));
    }(env, number_of(env, 1), number_of(env, 2))
                                                                                          .get();
}

/// A child of another root: a stop of the awaiting coroutine does not reach it by itself.
coflux::task<int, pool> sleeps_elsewhere(coflux::environment&) {
    co_await coflux::sleep_for(std::chrono::hours(1));
    co_return 0;
}
coflux::task<int, pool> fails_elsewhere(coflux::environment&) {
    co_await coflux::yield();
    throw std::runtime_error("elsewhere");
}

TEST(when_all_array, passes_a_stop_on_to_a_child_of_another_root_beside_those_that_have_freed_themselves) {
    on_pools([](coflux::environment& env) {
        return [](coflux::environment&, coflux::task<int, pool> elsewhere) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            auto stopped = [](coflux::environment&, coflux::task<int, pool> elsewhere) -> coflux::call<int> {
                auto&& inner = co_await coflux::context();
                const auto mine = [](coflux::environment&, int n) -> coflux::task<int, pool> { co_return n; };
                std::array all{std::move(elsewhere), mine(inner, 1), mine(inner, 2), mine(inner, 3)};
                const auto values = co_await coflux::when_all(std::move(all));
                co_return values[0];
            };
            EXPECT_EQ(co_await coflux::timeout(stopped(here, std::move(elsewhere)), std::chrono::milliseconds(5)),
                      std::nullopt);
        }(env, sleeps_elsewhere(env));
    });
}

TEST(when_all_array, throws_the_error_of_a_child_of_another_root_beside_those_that_have_freed_themselves) {
    on_pools([](coflux::environment& env) {
        return [](coflux::environment&, coflux::task<int, pool> elsewhere) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            const auto mine = [](coflux::environment&, int n) -> coflux::task<int, pool> { co_return n; };
            std::array all{std::move(elsewhere), mine(here, 1), mine(here, 2)};
            const auto o = co_await coflux::as_outcome(coflux::when_all(std::move(all)));
            EXPECT_TRUE(o.has_error());
        }(env, fails_elsewhere(env));
    });
}

TEST(when_all_array, is_longer_than_a_round) {
    on_pools([](coflux::environment& env) {
        return [](coflux::environment&) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            for (int round = 0; round < 100; ++round) {
                auto forks = [&here]<std::size_t... I>(std::index_sequence<I...>) {
                    return std::array{number(here, static_cast<int>(I))...};
                }(std::make_index_sequence<100>());
                const auto values = co_await coflux::when_all(std::move(forks));
                for (int i = 0; i < 100; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], i);
            }
        }(env);
    });
}

}  // namespace

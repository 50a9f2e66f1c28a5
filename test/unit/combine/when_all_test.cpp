#include <coflux/combine/when_all.hpp>

#include <memory>
#include <ranges>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

namespace {

using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;

coflux::fork<int, pool> number(coflux::environment&, int n) {
    co_return n;
}
coflux::fork<void, pool> nothing(coflux::environment&) {
    co_return;
}
coflux::fork<int, pool> fails(coflux::environment&, std::string why) {
    throw std::runtime_error(why);
    co_return 0;
}
coflux::fork<int, pool> stops(coflux::environment&) {
    co_await coflux::this_coroutine::stop();
    co_return 0;
}
coflux::call<int> called(coflux::environment&, int n, std::vector<int>& order) {
    order.push_back(n);
    co_return n;
}
coflux::fork<std::unique_ptr<int>, pool> moves(coflux::environment&) {
    co_return std::make_unique<int>(7);
}

/// Runs a task made by `make` on a pool of two.
template <typename Make>
auto on_pool(Make make) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    return make(env).get();
}

TEST(when_all, gives_the_values_in_the_order_of_the_arguments) {
    on_pool([](coflux::environment& env) {
        return [](coflux::environment&) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            auto [one, none, owned] = co_await coflux::when_all(number(here, 1), nothing(here), moves(here));
            EXPECT_EQ(one, 1);
            EXPECT_EQ(none, std::monostate{});
            EXPECT_EQ(*owned, 7);
        }(env);
    });
}

/// A fork whose parent has ended before the handle is used, and has left no trace.
coflux::fork<coflux::fork<int, noop>, pool> gives_a_child(coflux::environment&) {
    auto&& here = co_await coflux::context();
    co_return [](coflux::environment&) -> coflux::fork<int, noop> { co_return 1; }(here);
}
coflux::fork<int, pool> yields(coflux::environment&) {
    for (int i = 0; i < 10; ++i) co_await coflux::yield();
    co_return 2;
}

TEST(when_all, takes_a_child_that_has_ended_like_its_parent_beside_one_that_it_waits_for) {
    on_pool([](coflux::environment& env) {
        return [](coflux::environment&) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            auto orphan = co_await gives_a_child(here);
            auto [one, two] = co_await coflux::when_all(std::move(orphan), yields(here));
            EXPECT_EQ(one + two, 3);
        }(env);
    });
}

TEST(when_all, consumes_a_range_and_gives_a_vector_in_its_order) {
    on_pool([](coflux::environment& env) {
        return [](coflux::environment&) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            std::vector<coflux::fork<int, pool>> forks;
            for (int i = 0; i < 1000; ++i) forks.push_back(number(here, i));
            const auto values = co_await coflux::when_all(std::move(forks));
            EXPECT_EQ(values.size(), 1000U);
            for (int i = 0; i < 1000; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], i);
        }(env);
    });
}

TEST(when_all, of_an_empty_range_is_ready) {
    on_pool([](coflux::environment& env) {
        return [](coflux::environment&) -> coflux::task<void, pool> {
            const auto values = co_await coflux::when_all(std::vector<coflux::fork<int, pool>>{});
            EXPECT_TRUE(values.empty());
        }(env);
    });
}

TEST(when_all, of_nothing_is_ready) {
    on_pool([](coflux::environment& env) {
        return [](coflux::environment&) -> coflux::task<void, pool> {
            const std::tuple<> nothing_at_all = co_await coflux::when_all();
            (void)nothing_at_all;
            const auto o = co_await coflux::as_outcome(coflux::when_all());
            EXPECT_TRUE(o.has_value());
        }(env);
    });
}

TEST(when_all, begins_calls_in_order_and_awaits_views) {
    on_pool([](coflux::environment& env) {
        return [](coflux::environment&) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            std::vector<int> order;
            auto f = number(here, 5);
            auto [a, b, c] = co_await coflux::when_all(called(here, 1, order), called(here, 2, order), f.view());
            EXPECT_EQ(a + b + c, 8);
            EXPECT_EQ(order, (std::vector<int>{1, 2}));
            EXPECT_EQ(co_await std::move(f), 5);
        }(env);
    });
}

TEST(when_all, throws_the_first_error_in_order_and_gives_the_others) {
    on_pool([](coflux::environment& env) {
        return [](coflux::environment&) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            try {
                (void)co_await coflux::when_all(number(here, 1), fails(here, "first"), fails(here, "second"));
                ADD_FAILURE() << "no error";
            } catch (const std::runtime_error& e) {
                EXPECT_STREQ(e.what(), "first");
                EXPECT_EQ(coflux::other_errors().size(), 1U);
            }
        }(env);
    });
}

TEST(when_all, with_a_stopped_child_stops_its_caller_once_all_have_ended) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    auto t = [](coflux::environment&) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        (void)co_await coflux::when_all(number(here, 1), stops(here));
        ADD_FAILURE() << "went on after a stop";
    }(env);
    EXPECT_THROW(std::move(t).get(), coflux::task_stopped);
}

TEST(when_all, loses_no_error_to_a_stop) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    auto t = [](coflux::environment&) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        (void)co_await coflux::when_all(stops(here), fails(here, "kept"));
    }(env);
    EXPECT_THROW(std::move(t).get(), std::runtime_error);
}

coflux::fork<void, noop> moves_away(coflux::environment&, coflux::borrowed<pool> to) {
    co_await coflux::resume_on(*to);
}

/// Waits for a range that, while its elements are fetched, first begins a fork in another environment and then throws.
coflux::task<bool, pool> waits_for_a_range_that_throws(coflux::environment& env, coflux::borrowed<pool> threads) {
    auto&& here = co_await coflux::context();
    auto f = nothing(here);
    auto g = nothing(here);
    const std::vector<coflux::fork_view<void>> views{f.view(), g.view()};
    int fetched = 0;
    const auto filter = [&](const auto&) {
        if (fetched++ != 0) throw std::runtime_error("range");
        moves_away(env, threads).attach();
        return true;
    };
    try {
        co_await coflux::when_all(views | std::views::filter(filter));
    } catch (const std::runtime_error&) {
        co_return true;
    }
    co_return false;
}

TEST(when_all, of_a_range_that_throws_leaves_no_coroutine_waiting_for_what_was_not_begun) {
    pool threads{1};
    auto env = coflux::make_environment(threads);
    EXPECT_TRUE(waits_for_a_range_that_throws(env, coflux::borrowed(threads)).get());
    auto joins = [](coflux::environment&,
                    coflux::borrowed<coflux::environment_object> all) -> coflux::task<void, pool> {
        co_await all->join();
    };
    auto around = coflux::make_environment(threads);
    joins(around, coflux::borrowed<coflux::environment_object>(env)).join();
}

TEST(when_all, takes_a_view_that_makes_the_forks_as_it_is_read) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    auto t = [](coflux::environment&) -> coflux::task<int, pool> {
        auto&& here = co_await coflux::context();
        int sum = 0;
        for (const int n : co_await coflux::when_all(std::views::iota(1, 5) |
                                                     std::views::transform([&](int n) { return number(here, n); }))) {
            sum += n;
        }
        co_return sum;
    };
    EXPECT_EQ(t(env).get(), 10);
}

TEST(when_all, of_a_range_of_views_gives_what_stands_for_references) {
    on_pool([](coflux::environment& env) {
        return [](coflux::environment&) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            auto f = moves(here);
            auto g = number(here, 4);
            auto h = number(here, 5);
            const std::vector<coflux::fork_view<int>> views{g.view(), h.view()};
            int sum = 0;
            for (const int& n : co_await coflux::when_all(views)) sum += n;
            EXPECT_EQ(sum, 9);
            const auto values = co_await coflux::when_all(views);
            EXPECT_EQ(&values[1].get(), &co_await views[1]);
            (void)co_await std::move(f);
        }(env);
    });
}

TEST(when_all, takes_views_that_the_range_makes_as_it_is_read) {
    on_pool([](coflux::environment& env) {
        return [](coflux::environment&) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            std::vector<coflux::fork<int, pool>> forks;
            for (int i = 0; i < 5; ++i) forks.push_back(number(here, i));
            int sum = 0;
            const auto view_of = [](const coflux::fork<int, pool>& f) { return f.view(); };
            for (const int n : co_await coflux::when_all(forks | std::views::transform(view_of))) sum += n;
            EXPECT_EQ(sum, 10);
        }(env);
    });
}

TEST(when_all, as_an_outcome_gives_values_error_and_stop) {
    on_pool([](coflux::environment& env) {
        return [](coflux::environment&) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            auto values = co_await coflux::as_outcome(coflux::when_all(number(here, 1), number(here, 2)));
            EXPECT_EQ(std::move(values).value(), (std::tuple<int, int>(1, 2)));
            auto error = co_await coflux::as_outcome(coflux::when_all(fails(here, "why"), stops(here)));
            EXPECT_TRUE(error.has_error());
            for (int i = 0; i < 3; ++i) {
                auto stop = co_await coflux::as_outcome(coflux::when_all(number(here, 1), stops(here)));
                EXPECT_TRUE(stop.is_stopped());
            }
            std::vector<coflux::fork<int, pool>> forks;
            forks.push_back(stops(here));
            EXPECT_TRUE((co_await coflux::as_outcome(coflux::when_all(std::move(forks)))).is_stopped());
        }(env);
    });
}

}  // namespace

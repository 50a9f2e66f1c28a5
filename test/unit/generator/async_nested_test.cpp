// Asynchronous generators that yield one another.
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/memory/counting_resource.hpp>

#include <gtest/gtest.h>

#include "support/executors.hpp"
#include "support/iterations.hpp"
#include "support/witness.hpp"

namespace {

using coflux::async_generator;
using coflux::elements_of;
using coflux_test::journal;
using coflux_test::manual_executor;
using coflux_test::mortal;
using lines = std::vector<std::string>;
using root = coflux::task<void, manual_executor>;
template <typename T = void>
using fork = coflux::fork<T, manual_executor>;

/// Runs what `make(env)` makes by hand; true if it was stopped. No frame is left.
template <typename Make>
bool run(Make make) {
    coflux::counting_resource frames;
    bool was_stopped = false;
    {
        manual_executor by_hand;
        auto env = coflux::make_environment(&frames, by_hand);
        auto t = make(env);
        by_hand.run_all();
        EXPECT_TRUE(t.done()) << "it hangs";
        try {
            std::move(t).get();
        } catch (const coflux::task_stopped&) {
            was_stopped = true;
        }
    }
    EXPECT_EQ(frames.live(), 0U);
    return was_stopped;
}

async_generator<int> range(auto&&, int first, int last) {
    for (int i = first; i < last; ++i) {
        if (i % 2 == 1) co_await coflux::yield();
        co_yield i;
    }
}
/// first, first + 1, …, each from a generator in the one before.
async_generator<int> chain(auto&&, int first, int last) {
    auto&& here = co_await coflux::context();
    co_yield first;
    if (first + 1 < last) co_yield elements_of(chain(here, first + 1, last));
}
/// The same from the innermost outwards, and waits on the way.
async_generator<int> from_below(auto&&, int depth) {
    auto&& here = co_await coflux::context();
    if (depth > 0) co_yield elements_of(from_below(here, depth - 1));
    co_await coflux::yield();
    co_yield depth;
}

TEST(async_nested, generators_give_their_elements_in_place) {
    EXPECT_FALSE(run([](auto&& env) {
        return [](auto&&) -> root {
            auto&& here = co_await coflux::context();
            auto g = [](auto&&) -> async_generator<int> {
                auto&& inside = co_await coflux::context();
                co_yield 0;
                co_yield elements_of(range(inside, 1, 5));
                co_yield elements_of(range(inside, 0, 0));
                co_yield 5;
                co_yield elements_of(from_below(inside, 3));
            }(here);
            std::vector<int> all;
            while (const int* const x = co_await g.next()) all.push_back(*x);
            EXPECT_EQ(all, (std::vector<int>{0, 1, 2, 3, 4, 5, 0, 1, 2, 3}));
        }(env);
    }));
}

TEST(async_nested, generator_that_was_begun_goes_on_where_it_is_and_one_that_has_ended_gives_nothing) {
    EXPECT_FALSE(run([](auto&& env) {
        return [](auto&&) -> root {
            auto&& here = co_await coflux::context();
            auto begun = chain(here, 0, 5);
            for (int i = 0; i < 3; ++i) EXPECT_EQ(*co_await begun.next(), i);
            auto ended = range(here, 0, 0);
            EXPECT_EQ(co_await ended.next(), nullptr);
            auto g = [](auto&&, async_generator<int> first, async_generator<int> second) -> async_generator<int> {
                co_yield elements_of(std::move(first));
                co_yield elements_of(std::move(second));
                co_yield 9;
            }(here, std::move(ended), std::move(begun));
            for (const int expected : {3, 4, 9}) EXPECT_EQ(*co_await g.next(), expected);
            EXPECT_EQ(co_await g.next(), nullptr);
        }(env);
    }));
}

TEST(async_nested, generators_of_great_depth_use_constant_stack_and_can_be_left_anywhere) {
    EXPECT_FALSE(run([](auto&& env) {
        return [](auto&&) -> root {
            auto&& here = co_await coflux::context();
            const auto depth = static_cast<int>(coflux_test::repetitions(100'000));
            auto down = chain(here, 0, depth);
            auto up = from_below(here, depth);
            for (int i = 0; i < depth; ++i) EXPECT_EQ(*co_await down.next(), i);
            EXPECT_EQ(co_await down.next(), nullptr);
            for (int i = 0; i <= depth / 2; ++i) EXPECT_EQ(*co_await up.next(), i);
            auto left = chain(here, 0, depth);
            for (int i = 0; i < depth; ++i) (void)co_await left.next();
        }(env);
    }));
}

TEST(async_nested, error_comes_out_of_the_co_yield_and_can_be_caught_there) {
    EXPECT_FALSE(run([](auto&& env) {
        return [](auto&&) -> root {
            auto&& here = co_await coflux::context();
            auto g = [](auto&&) -> async_generator<int> {
                auto&& inside = co_await coflux::context();
                constexpr auto fails = [](auto&&) -> async_generator<int> {
                    co_yield 1;
                    co_await coflux::yield();
                    throw std::runtime_error("of the inner");
                };
                try {
                    co_yield elements_of(fails(inside));
                } catch (const std::runtime_error&) {}
                co_yield 2;
                co_yield elements_of(fails(inside));
            }(here);
            for (const int expected : {1, 2, 1}) EXPECT_EQ(*co_await g.next(), expected);
            const auto o = co_await coflux::as_outcome(g.next());
            EXPECT_TRUE(o.has_error());
        }(env);
    }));
}

async_generator<int> stops_after_one(auto&&, journal* log) {
    const mortal local(*log, "inner's local");
    co_yield 1;
    co_await coflux::this_coroutine::stop();
}
async_generator<int> around(auto&&, journal* log, async_generator<int> inner) {
    const mortal local(*log, "outer's local");
    co_yield elements_of(std::move(inner));
    log->write("went past");
}

TEST(async_nested, stop_of_the_inner_one_stops_the_outer_one_and_the_consumer) {
    journal log;
    EXPECT_TRUE(run([&log](auto&& env) {
        return [](auto&&, journal* in) -> root {
            auto&& here = co_await coflux::context();
            const mortal local(*in, "consumer's local");
            auto g = around(here, in, stops_after_one(here, in));
            (void)co_await g.next();
            (void)co_await g.next();
            in->write("went past");
        }(env, &log);
    }));
    EXPECT_EQ(log.lines(), (lines{"inner's local dies", "outer's local dies", "consumer's local dies"}));
}

TEST(async_nested, generator_that_was_stopped_before_stops_the_one_that_yields_it) {
    journal log;
    EXPECT_FALSE(run([&log](auto&& env) {
        return [](auto&&, journal* in) -> root {
            auto&& here = co_await coflux::context();
            auto inner = stops_after_one(here, in);
            (void)co_await inner.next();
            (void)co_await coflux::as_outcome(inner.next());
            auto g = around(here, in, std::move(inner));
            const auto o = co_await coflux::as_outcome(g.next());
            EXPECT_TRUE(o.is_stopped());
        }(env, &log);
    }));
    EXPECT_EQ(log.lines(), (lines{"inner's local dies", "outer's local dies"}));
}

TEST(async_nested, stop_of_the_outer_one_is_found_at_an_element_of_an_inner_one_from_elsewhere) {
    journal log;
    EXPECT_FALSE(run([&log](auto&& env) {
        return [](auto&&, journal* in) -> root {
            auto&& here = co_await coflux::context();
            auto sub = coflux::make_environment(here);
            auto g = around(sub, in, range(here, 0, 9));
            (void)co_await g.next();
            sub.request_stop();
            const auto o = co_await coflux::as_outcome(g.next());
            EXPECT_TRUE(o.is_stopped());
            co_await sub.join();
        }(env, &log);
    }));
    EXPECT_EQ(log.lines(), (lines{"outer's local dies"}));
}

fork<> runs_on(auto&&, journal* log, std::string name) {
    const mortal local(*log, name + "'s child");
    for (;;) co_await coflux::yield();
}
async_generator<int> forks_and_yields(auto&&, journal* log, std::string name) {
    auto&& here = co_await coflux::context();
    const mortal local(*log, name + "'s local");
    runs_on(here, log, name).attach();
    for (;;) co_yield 1;
}
async_generator<int> forks_and_yields_inner(auto&&, journal* log) {
    auto&& here = co_await coflux::context();
    const mortal local(*log, "outer's local");
    runs_on(here, log, "outer").attach();
    co_yield elements_of(forks_and_yields(here, log, "inner"));
}

TEST(async_nested, generators_with_children_are_unwound_from_the_innermost_when_they_are_left) {
    journal log;
    EXPECT_FALSE(run([&log](auto&& env) {
        return [](auto&&, journal* in) -> root {
            auto&& here = co_await coflux::context();
            {
                auto g = forks_and_yields_inner(here, in);
                (void)co_await g.next();
                (void)co_await g.next();
            }
            in->write("goes on");
        }(env, &log);
    }));
    lines all = log.lines();
    ASSERT_EQ(all.size(), 5U);
    EXPECT_EQ(all.front(), "goes on");
    std::erase_if(all, [](const std::string& line) { return line.find("child") != std::string::npos; });
    EXPECT_EQ(all, (lines{"goes on", "inner's local dies", "outer's local dies"}));
}

fork<> fails_when_stopped_is_of_no_use(auto&&) {
    throw std::runtime_error("of a child");
    co_return;
}
async_generator<int> has_a_child_that_fails(auto&&) {
    auto&& here = co_await coflux::context();
    fails_when_stopped_is_of_no_use(here).attach();
    for (;;) co_yield 1;
}

TEST(async_nested, error_of_an_inner_child_does_not_let_an_outer_one_that_was_left_go_on) {
    journal log;
    EXPECT_FALSE(run([&log](auto&& env) {
        return [](auto&&, journal* in) -> root {
            auto&& here = co_await coflux::context();
            {
                auto g = [](auto&&, journal* log) -> async_generator<int> {
                    auto&& inside = co_await coflux::context();
                    const mortal local(*log, "outer's local");
                    try {
                        co_yield elements_of(has_a_child_that_fails(inside));
                    } catch (const std::runtime_error&) {
                        log->write("caught");
                    }
                    co_yield 2;
                    log->write("went past");
                }(here, in);
                (void)co_await g.next();
            }
            in->write("goes on");
        }(env, &log);
    }));
    EXPECT_EQ(log.lines(), (lines{"goes on", "caught", "outer's local dies"}));
}

TEST(async_nested, end_of_an_outer_one_that_was_left_is_an_end_like_any_other) {
    EXPECT_THROW(run([](auto&& env) {
                     return [](auto&&) -> root {
                         auto&& here = co_await coflux::context();
                         auto g = [](auto&&) -> async_generator<int> {
                             auto&& inside = co_await coflux::context();
                             co_yield elements_of(has_a_child_that_fails(inside));
                         }(here);
                         (void)co_await g.next();
                     }(env);
                 }),
                 std::runtime_error);
}

}  // namespace

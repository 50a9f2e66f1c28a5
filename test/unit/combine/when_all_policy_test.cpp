// when_all with error_policy::stop_on_error: the first child that gives no value has its siblings stopped.
#include <coflux/combine/when_all.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "contenders.hpp"
#include "support/executors.hpp"
#include "support/witness.hpp"

namespace {

using coflux::borrowed;
using coflux_test::ends_after;
using coflux_test::fails_after;
using coflux_test::fails_when_stopped;
using coflux_test::gives_after;
using coflux_test::gives_when_stopped;
using coflux_test::hand;
using coflux_test::journal;
using coflux_test::runs_until_stopped;
using coflux_test::stops_after;

using lines = std::vector<std::string>;

/// Runs a coroutine on an executor that is driven by hand, and gives what it wrote.
template <typename Body>
lines run(Body body) {
    journal log;
    hand executor;
    auto env = coflux::make_environment(executor);
    auto t = body(env, &log);
    executor.run_all();
    try {
        t.get();
    } catch (const std::exception& e) {
        log.write(std::string("throws ") + e.what());
        for (const std::exception_ptr& other : coflux::other_errors()) {
            try {
                std::rethrow_exception(other);
            } catch (const std::exception& along) {
                log.write(std::string("with ") + along.what());
            }
        }
    }
    return log.lines();
}
using root = coflux::task<void, hand>;

TEST(when_all_policy, gives_the_values_in_the_order_of_the_arguments) {
    const lines log = run([](coflux::environment&, journal* out) -> root {
        auto&& here = co_await coflux::context();
        auto [text, none, owned] =
            co_await coflux::when_all(coflux::stop_on_error, gives_after(here, 2, std::string("text")),
                                      ends_after(here, 1), gives_after(here, 0, std::make_unique<int>(7)));
        static_assert(std::is_same_v<decltype(none), std::monostate>);
        out->write(text + std::to_string(*owned));
    });
    EXPECT_EQ(log, lines{"text7"});
}

TEST(when_all_policy, an_error_stops_the_siblings_and_is_thrown_after_they_have_ended) {
    const lines log = run([](coflux::environment&, journal* out) -> root {
        auto&& here = co_await coflux::context();
        (void)co_await coflux::when_all(coflux::stop_on_error, runs_until_stopped(here, out, "first"),
                                        fails_after(here, 3, "bad"), runs_until_stopped(here, out, "last"));
    });
    EXPECT_EQ(log, (lines{"last dies", "first dies", "throws bad"}));  // the queue comes to the last one next
}

TEST(when_all_policy, lets_the_siblings_finish_by_default) {
    const lines log = run([](coflux::environment&, journal* out) -> root {
        auto&& here = co_await coflux::context();
        auto late = [](coflux::environment&, journal* log) -> coflux::fork<void, hand> {
            for (int i = 0; i < 5; ++i) co_await coflux::yield();
            log->write("finishes");
        };
        (void)co_await coflux::when_all(late(here, out), fails_after(here, 1, "bad"));
    });
    EXPECT_EQ(log, (lines{"finishes", "throws bad"}));
}

TEST(when_all_policy, throws_the_error_that_came_first_and_brings_the_rest_along) {
    const lines log = run([](coflux::environment&, journal*) -> root {
        auto&& here = co_await coflux::context();
        (void)co_await coflux::when_all(coflux::stop_on_error, fails_when_stopped(here, "late"),
                                        fails_after(here, 2, "early"));
    });
    EXPECT_EQ(log, (lines{"throws early", "with late"}));
}

TEST(when_all_policy, a_value_that_a_sibling_gives_in_spite_of_the_stop_is_dropped) {
    const lines log = run([](coflux::environment&, journal*) -> root {
        auto&& here = co_await coflux::context();
        (void)co_await coflux::when_all(coflux::stop_on_error, gives_when_stopped(here, 1),
                                        fails_after(here, 2, "bad"));
    });
    EXPECT_EQ(log, lines{"throws bad"});
}

TEST(when_all_policy, a_stopped_child_stops_the_siblings_and_the_waiter) {
    const lines log = run([](coflux::environment&, journal* out) -> root {
        auto&& here = co_await coflux::context();
        auto waits = [](coflux::environment&, journal* log) -> coflux::fork<void, hand> {
            auto&& inner = co_await coflux::context();
            (void)co_await coflux::when_all(coflux::stop_on_error, stops_after(inner, 2),
                                            runs_until_stopped(inner, log, "it"));
            log->write("goes on");
        };
        const auto end = co_await coflux::as_outcome(waits(here, out));
        out->write(end.is_stopped() ? "stopped" : "not stopped");
    });
    EXPECT_EQ(log, (lines{"it dies", "stopped"}));
}

TEST(when_all_policy, a_child_that_has_failed_before_decides_at_once) {
    const lines log = run([](coflux::environment&, journal* out) -> root {
        auto&& here = co_await coflux::context();
        auto failed = fails_after(here, 0, "bad");
        for (int i = 0; i < 5; ++i) co_await coflux::yield();
        (void)co_await coflux::when_all(coflux::stop_on_error, runs_until_stopped(here, out, "it"), std::move(failed));
    });
    EXPECT_EQ(log, (lines{"it dies", "throws bad"}));
}

TEST(when_all_policy, of_a_range_gives_a_vector_in_its_order) {
    const lines log = run([](coflux::environment&, journal* out) -> root {
        auto&& here = co_await coflux::context();
        std::vector<coflux::fork<int, hand>> forks;
        for (int i = 0; i < 4; ++i) forks.push_back(gives_after(here, 4 - i, i));
        const auto values = co_await coflux::when_all(coflux::stop_on_error, std::move(forks));
        static_assert(std::is_same_v<decltype(values), const std::pmr::vector<int>>);
        for (const int v : values) out->write(std::to_string(v));
    });
    EXPECT_EQ(log, (lines{"0", "1", "2", "3"}));
}

TEST(when_all_policy, of_a_range_stops_the_siblings_of_the_first_error) {
    const lines log = run([](coflux::environment&, journal* out) -> root {
        auto&& here = co_await coflux::context();
        std::vector<coflux::fork<int, hand>> forks;
        forks.push_back(runs_until_stopped(here, out, "a"));
        forks.push_back(fails_after(here, 1, "bad"));
        forks.push_back(runs_until_stopped(here, out, "b"));
        (void)co_await coflux::when_all(coflux::stop_on_error, std::move(forks));
    });
    EXPECT_EQ(log, (lines{"b dies", "a dies", "throws bad"}));
}

TEST(when_all_policy, of_a_range_of_void_gives_nothing_and_of_nothing_is_ready) {
    const lines log = run([](coflux::environment&, journal* out) -> root {
        auto&& here = co_await coflux::context();
        std::vector<coflux::fork<void, hand>> forks;
        forks.push_back(ends_after(here, 1));
        co_await coflux::when_all(coflux::stop_on_error, std::move(forks));
        const auto none = co_await coflux::when_all(coflux::stop_on_error, std::vector<coflux::fork<int, hand>>());
        const std::tuple<> nothing = co_await coflux::when_all(coflux::stop_on_error);
        (void)nothing;
        out->write(std::to_string(none.size()));
    });
    EXPECT_EQ(log, lines{"0"});
}

TEST(when_all_policy, a_stop_of_the_waiter_reaches_all_and_joins_them) {
    const lines log = run([](coflux::environment&, journal* out) -> root {
        auto&& here = co_await coflux::context();
        auto waits = [](coflux::environment&, journal* log) -> coflux::fork<void, hand> {
            auto&& inner = co_await coflux::context();
            (void)co_await coflux::when_all(coflux::stop_on_error, runs_until_stopped(inner, log, "a"),
                                            runs_until_stopped(inner, log, "b"));
        };
        auto waiter = waits(here, out);
        for (int i = 0; i < 3; ++i) co_await coflux::yield();
        waiter.request_stop();
        const auto end = co_await coflux::as_outcome(std::move(waiter));
        out->write(end.is_stopped() ? "stopped" : "not stopped");
    });
    EXPECT_EQ(log, (lines{"a dies", "b dies", "stopped"}));
}

TEST(when_all_policy, as_an_outcome_gives_the_error_as_a_value) {
    const lines log = run([](coflux::environment&, journal* out) -> root {
        auto&& here = co_await coflux::context();
        const auto end = co_await coflux::as_outcome(
            coflux::when_all(coflux::stop_on_error, fails_after(here, 1, "bad"), runs_until_stopped(here, out, "it")));
        out->write(end.has_error() ? "error" : "none");
    });
    EXPECT_EQ(log, (lines{"it dies", "error"}));
}

TEST(when_all_policy, takes_calls_and_sleeps_as_it_takes_forks) {
    coflux::thread_pool_executor threads{2};
    auto env = coflux::make_environment(threads);
    [](coflux::environment&) -> coflux::task<void, coflux::thread_pool_executor> {
        auto&& here = co_await coflux::context();
        auto fails = [](coflux::environment&) -> coflux::call<int> {
            co_await coflux::yield();
            throw std::runtime_error("bad");
        };
        EXPECT_THROW((void)co_await coflux::when_all(coflux::stop_on_error, coflux::sleep_for(std::chrono::hours(1)),
                                                     fails(here)),
                     std::runtime_error);
    }(env)
                                    .get();
}

}  // namespace

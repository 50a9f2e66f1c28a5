#include <coflux/combine/completed.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/chooser.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/simulation.hpp>

#include "../core/stage.hpp"
#include "contenders.hpp"
#include "support/cpu_clock.hpp"
#include "support/iterations.hpp"

namespace {

using namespace coflux_test;
using namespace std::chrono_literals;
using pool = coflux::thread_pool_executor;
using lines = std::vector<std::string>;
using root = coflux::task<void, hand>;
using forks = std::vector<coflux::fork<int, hand>>;

template <typename... Forks>
forks range_of(Forks... each) {
    forks all;
    (all.push_back(std::move(each)), ...);
    return all;
}

TEST(completed, gives_each_result_with_its_index_as_the_children_finish) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        auto done = coflux::completed(
            here, range_of(gives_after(here, 9, 10), gives_after(here, 3, 11), gives_after(here, 6, 12)));
        std::vector<std::size_t> order;
        EXPECT_EQ(done.size(), 3U);
        while (auto got = co_await done.next()) {
            const auto& [index, value] = *got;
            EXPECT_EQ(value, static_cast<int>(index) + 10);
            order.push_back(index);
        }
        EXPECT_EQ(order, (std::vector<std::size_t>{1, 2, 0}));
        EXPECT_TRUE(done.empty());
        EXPECT_FALSE((co_await done.next()).has_value());
    }(s.env));
}

TEST(completed, gives_children_that_had_ended_before_in_their_order) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        forks all = range_of(gives_after(here, 0, 0), gives_after(here, 1, 1), gives_after(here, 2, 2));
        for (int i = 0; i != 8; ++i) co_await coflux::yield();
        auto done = coflux::completed(here, std::move(all));
        for (int i = 0; i != 3; ++i) EXPECT_EQ((co_await done.next())->value(), i);
        EXPECT_FALSE((co_await done.next()).has_value());
    }(s.env));
}

TEST(completed, of_no_children_is_at_its_end) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        auto done = coflux::completed(here, forks());
        EXPECT_FALSE((co_await done.next()).has_value());
        EXPECT_FALSE((co_await done.next_outcome()).has_value());
    }(s.env));
}

coflux::fork<int&, hand> refers(coflux::environment&, int* to) {
    co_await coflux::yield();
    co_return *to;
}
coflux::task<std::unique_ptr<int>, hand> owns(coflux::environment&) {
    co_await coflux::yield();
    co_return std::make_unique<int>(5);
}

TEST(completed, gives_nothing_references_and_what_only_moves) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        coflux::completions<void> ended(here);
        ended.add(ends_after(here, 2));
        ended.add(ends_after(here, 0));
        EXPECT_EQ((co_await ended.next())->index(), 1U);
        EXPECT_EQ((co_await ended.next_outcome())->index(), 0U);
        int x = 0;
        coflux::completions<int&> referring(here);
        referring.add(refers(here, &x));
        EXPECT_EQ(&(co_await referring.next())->value(), &x);
        coflux::completions<std::unique_ptr<int>> owned(here);
        owned.add(owns(here));
        EXPECT_EQ(*(co_await owned.next())->value(), 5);
    }(s.env));
}

TEST(completed, throws_an_error_at_its_next_and_goes_on) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        auto done = coflux::completed(
            here, range_of(fails_after(here, 2, "two"), gives_after(here, 1, 11), gives_after(here, 4, 12)));
        EXPECT_EQ((co_await done.next())->value(), 11);
        EXPECT_THROW((void)co_await done.next(), std::runtime_error);
        EXPECT_EQ((co_await done.next())->value(), 12);
        EXPECT_FALSE((co_await done.next()).has_value());
    }(s.env));
}

TEST(completed, gives_errors_and_stops_as_outcomes_with_their_index) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        auto done = coflux::completed(
            here, range_of(fails_after(here, 4, "no"), stops_after(here, 2), gives_after(here, 6, 12)));
        auto stopped = co_await done.next_outcome();
        EXPECT_EQ(stopped->index(), 1U);
        EXPECT_TRUE(stopped->value().is_stopped());
        auto failed = co_await done.next_outcome();
        EXPECT_EQ(failed->index(), 0U);
        EXPECT_TRUE(failed->value().has_error());
        EXPECT_EQ(*(co_await done.next_outcome())->value(), 12);
    }(s.env));
}

coflux::call<void> takes_all(coflux::environment&, coflux::completions<int>& of, int& taken) {
    while (co_await of.next()) ++taken;
}

TEST(completed, is_stopped_in_turn_by_a_child_that_was_stopped_and_then_goes_on) {
    for (const int before : {0, 9}) {  // the consumer waits, or comes when it has ended
        stage<hand> s;
        s.run([](coflux::environment&, int yields) -> root {
            auto&& here = co_await coflux::context();
            auto done = coflux::completed(
                here, range_of(gives_after(here, 1, 1), stops_after(here, 3), gives_after(here, 5, 2)));
            for (int i = 0; i != yields; ++i) co_await coflux::yield();
            int taken = 0;
            EXPECT_TRUE((co_await coflux::as_outcome(takes_all(here, done, taken))).is_stopped());
            EXPECT_EQ(taken, 1);
            EXPECT_TRUE((co_await coflux::as_outcome(takes_all(here, done, taken))).has_value());
            EXPECT_EQ(taken, 2);
        }(s.env, before));
    }
}

TEST(completed, takes_more_children_at_any_time) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        coflux::completions<int> done(here);
        std::size_t begun = 0;
        int sum = 0;
        for (; begun != 3; ++begun) done.add(gives_after(here, 3, 1));
        while (auto got = co_await done.next()) {
            sum += got->value();
            if (begun != 10) {
                done.add(gives_after(here, 1, 1));
                ++begun;
            }
            EXPECT_LE(done.size(), 3U);
        }
        EXPECT_EQ(sum, 10);
    }(s.env));
}

coflux::fork<void, hand> leaves_early(coflux::environment&, journal* log) {
    auto&& here = co_await coflux::context();
    auto done = coflux::completed(here, range_of(gives_after(here, 1, 1), runs_until_stopped(here, log, "a"),
                                                 runs_until_stopped(here, log, "b")));
    EXPECT_EQ((co_await done.next())->index(), 0U);
}

TEST(completed, stops_the_rest_when_the_consumer_leaves_and_its_scope_joins_them) {
    stage<hand> s;
    journal log;
    s.run([](coflux::environment&, journal* in) -> root {
        auto&& here = co_await coflux::context();
        co_await leaves_early(here, in);
        EXPECT_EQ(in->lines().size(), 2U);
    }(s.env, &log));
    EXPECT_EQ(log.lines().size(), 2U);
}

TEST(completed, stops_and_gives_the_rest_on_request) {
    stage<hand> s;
    journal log;
    s.run([](coflux::environment&, journal* in) -> root {
        auto&& here = co_await coflux::context();
        auto done = coflux::completed(
            here, range_of(gives_after(here, 1, 1), runs_until_stopped(here, in, "a"), gives_when_stopped(here, 3)));
        EXPECT_EQ((co_await done.next())->value(), 1);
        done.request_stop();
        std::size_t values = 0;
        std::size_t stops = 0;
        while (auto got = co_await done.next_outcome()) ++(got->value().has_value() ? values : stops);
        EXPECT_EQ(values, 1U);
        EXPECT_EQ(stops, 1U);
    }(s.env, &log));
}

coflux::fork<void, hand> waits_in_next(coflux::environment&, journal* log) {
    auto&& here = co_await coflux::context();
    const mortal local(*log, "consumer");
    auto done = coflux::completed(here, range_of(runs_until_stopped(here, log, "child")));
    (void)co_await done.next();
    ADD_FAILURE();
}

TEST(completed, is_stopped_with_its_consumer) {
    stage<hand> s;
    journal log;
    s.run([](coflux::environment&, journal* in) -> root {
        auto&& here = co_await coflux::context();
        auto consumer = waits_in_next(here, in);
        for (int i = 0; i != 4; ++i) co_await coflux::yield();
        consumer.request_stop();
        EXPECT_TRUE((co_await coflux::as_outcome(std::move(consumer))).is_stopped());
    }(s.env, &log));
    EXPECT_EQ(log.lines(), (lines{"child dies", "consumer dies"}));
}

// --- children made elsewhere

coflux::fork<void, hand> takes_one(coflux::environment&, forks given) {
    auto&& here = co_await coflux::context();
    auto done = coflux::completed(here, std::move(given));
    EXPECT_EQ((co_await done.next())->index(), 0U);
}

TEST(completed, leaves_children_that_were_made_elsewhere_to_their_scope) {
    stage<hand> s;
    journal log;
    s.run([](coflux::environment&, journal* in) -> root {
        auto&& here = co_await coflux::context();
        coflux::task_scope scope(here);
        co_await takes_one(
            here, range_of(gives_after(scope, 1, 1), runs_until_stopped(scope, in, "a"), gives_when_stopped(scope, 2)));
        co_await scope.join();
        EXPECT_EQ(in->lines().size(), 1U);
    }(s.env, &log));
}

TEST(completed, loses_no_error_of_a_child_that_it_leaves) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        coflux::task_scope scope(here, coflux::collect_all);
        co_await takes_one(here, range_of(gives_after(scope, 1, 1), fails_when_stopped(scope, "late")));
        EXPECT_THROW(co_await scope.join(), std::runtime_error);
    }(s.env));
}

coflux::fork<void, hand> leaves_an_error(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto done = coflux::completed(here, range_of(gives_after(here, 0, 1), fails_after(here, 1, "left")));
    (void)co_await done.next();
    for (int i = 0; i != 6; ++i) co_await coflux::yield();
}
coflux::fork<void, hand> leaves_an_error_and_is_stopped(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto done = coflux::completed(here, range_of(fails_after(here, 1, "left")));
    for (int i = 0; i != 6; ++i) co_await coflux::yield();
    co_await coflux::this_coroutine::stop();
}

TEST(completed, gives_an_error_that_was_not_taken_to_the_scope_of_its_environment) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        EXPECT_THROW(co_await leaves_an_error(here), std::runtime_error);
        EXPECT_THROW(co_await leaves_an_error_and_is_stopped(here), std::runtime_error);
    }(s.env));
}

TEST(completed, stops_no_scope_for_an_error_that_it_takes) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        coflux::task_scope scope(here);  // stop_on_error
        auto done = coflux::completed(here, range_of(fails_after(scope, 1, "one"), gives_after(scope, 5, 2)));
        EXPECT_TRUE((co_await done.next_outcome())->value().has_error());
        EXPECT_EQ((co_await done.next())->value(), 2);
        co_await scope.join();
    }(s.env));
}

// --- children that borrow, and roots

coflux::fork<int, hand> looks_at(coflux::environment&, coflux::borrowed<int> x) {
    co_await coflux::yield();
    co_await coflux::yield();
    co_return *x;
}

TEST(completed, takes_children_that_borrow) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        int x = 4;
        auto done = coflux::completed(here, range_of(looks_at(here, coflux::borrowed(x))));
        EXPECT_EQ((co_await done.next())->value(), 4);
        // In a with_scope the rest may be left: it is joined before what it borrows dies.
        co_await coflux::with_scope(here, [&x](coflux::task_scope& scope) -> coflux::call<void> {
            auto all = coflux::completed(
                scope, range_of(looks_at(scope, coflux::borrowed(x)), looks_at(scope, coflux::borrowed(x))));
            EXPECT_EQ((co_await all.next())->value(), 4);
        });
    }(s.env));
}

TEST(completed_death, leaves_no_child_that_borrows) {
    EXPECT_DEATH(
        {
            stage<hand> s;
            s.run([](coflux::environment&) -> root {
                auto&& here = co_await coflux::context();
                int x = 4;
                const auto done = coflux::completed(here, range_of(looks_at(here, coflux::borrowed(x))));
            }(s.env));
        },
        "completions died before a child that borrows has ended: .*looks_at");
}

coflux::task<int, hand> yields_for_long(coflux::environment&) {
    for (int i = 0; i != 100; ++i) co_await coflux::yield();
    co_return 1;
}

TEST(completed_death, leaves_no_root) {
    EXPECT_DEATH(
        {
            stage<hand> s;
            s.run([](coflux::environment&, coflux::task<int, hand> given) -> root {
                auto&& here = co_await coflux::context();
                coflux::completions<int> done(here);
                done.add(std::move(given));
            }(s.env, yields_for_long(s.env)));
        },
        "completions died before a child that is a root has ended: .*yields_for_long");
}

coflux::fork<void, hand> awaits_next(coflux::environment&, coflux::borrowed<coflux::completions<int>> of) {
    (void)co_await of->next();
}

TEST(completed_death, has_one_consumer) {
    EXPECT_DEATH(
        {
            stage<hand> s;
            s.run([](coflux::environment&) -> root {
                auto&& here = co_await coflux::context();
                coflux::completions<int> done(here);
                done.add(gives_after(here, 9, 1));
                auto first = awaits_next(here, coflux::borrowed(done));
                auto second = awaits_next(here, coflux::borrowed(done));
                co_await coflux::when_all(std::move(first), std::move(second));
            }(s.env));
        },
        "whose next\\(\\) is being awaited");
}

TEST(completed_death, names_what_was_moved_from) {
    EXPECT_DEATH(
        {
            stage<hand> s;
            s.run([](coflux::environment&) -> root {
                auto&& here = co_await coflux::context();
                coflux::completions<int> done(here);
                const coflux::completions<int> other = std::move(done);
                (void)co_await done.next();
            }(s.env));
        },
        "completions were used after they were moved from");
}

// --- with limits, and as a case

using sim = coflux::testing::sim_executor;

coflux::fork<int, sim> sleeps(coflux::environment&, std::chrono::milliseconds d, int value) {
    co_await coflux::sleep_for(d);
    co_return value;
}

TEST(completed, loses_nothing_where_a_limit_cuts_next_short) {
    coflux::testing::fifo_chooser in_order;
    coflux::testing::simulation world(in_order);
    sim executor;
    auto env = coflux::make_environment(executor);
    [](coflux::environment&) -> coflux::task<void, sim> {
        auto&& here = co_await coflux::context();
        coflux::completions<int> done(here);
        for (int i = 0; i != 3; ++i) done.add(sleeps(here, 10ms * (i + 1), i));
        int waits = 0;
        int next = 0;
        while (!done.empty()) {
            auto got = co_await coflux::timeout(done.next(), 4ms);
            ++waits;
            if (got.timed_out()) continue;
            EXPECT_EQ((*got)->value(), next++);
        }
        EXPECT_EQ(next, 3);
        EXPECT_GT(waits, 6);
    }(env)
                                    .get();
}

TEST(completed, is_a_case_of_a_select_that_takes_nothing_if_it_loses) {
    coflux::testing::fifo_chooser in_order;
    coflux::testing::simulation world(in_order);
    sim executor;
    auto env = coflux::make_environment(executor);
    [](coflux::environment&) -> coflux::task<void, sim> {
        auto&& here = co_await coflux::context();
        coflux::completions<int> done(here);
        for (int i = 0; i != 20; ++i) done.add(sleeps(here, 1ms * (i / 2), i));
        coflux::channel<int[20]> ch;
        for (int i = 0; i != 20; ++i) EXPECT_TRUE(co_await ch.send(i));
        ch.close();
        int taken = 0;
        int received = 0;
        bool open = true;
        while (open || !done.empty()) {
            auto got = co_await coflux::select(done.next(), ch.receive());
            if (got.index() == 0) {
                if (get<0>(got)) ++taken;
            } else if (get<1>(got)) {
                ++received;
            } else {
                open = false;
                co_await coflux::sleep_for(1ms);
            }
        }
        EXPECT_EQ(taken, 20);
        EXPECT_EQ(received, 20);
    }(env)
                                    .get();
}

TEST(completed, cuts_its_children_off_with_a_limit_around_it) {
    coflux::testing::fifo_chooser in_order;
    coflux::testing::simulation world(in_order);
    sim executor;
    auto env = coflux::make_environment(executor);
    [](coflux::environment&) -> coflux::task<void, sim> {
        auto&& here = co_await coflux::context();
        int taken = 0;
        const auto in_time = co_await coflux::timeout(
            [](coflux::environment&, int& out) -> coflux::call<int> {
                auto&& in = co_await coflux::context();
                coflux::completions<int> done(in);
                for (int i = 0; i != 4; ++i) done.add(sleeps(in, 10ms * (i + 1), i));
                while (co_await done.next()) ++out;
                co_return out;
            }(here, taken),
            25ms);
        EXPECT_FALSE(in_time.has_value());
        EXPECT_EQ(taken, 2);
    }(env)
                                    .get();
}

// --- many, on pools

coflux::fork<std::size_t, pool> counts(coflux::environment&, std::size_t i) {
    if (i % 3 == 0) co_await coflux::yield();
    if (i % 7 == 3) throw std::runtime_error("planned");
    co_return i;
}

TEST(completed, gives_each_of_many_once_on_busy_pools_and_on_one_worker) {
    for (const std::size_t workers : {1U, 2U, 4U}) {
        pool on(workers);
        auto env = coflux::make_environment(on);
        [](coflux::environment&) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            constexpr std::size_t n = repetitions(400'000);
            std::vector<coflux::fork<std::size_t, pool>> all;
            all.reserve(n);
            for (std::size_t i = 0; i != n; ++i) all.push_back(counts(here, i));
            auto done = coflux::completed(here, std::move(all));
            std::vector<int> seen(n);
            std::size_t errors = 0;
            while (auto got = co_await done.next_outcome()) {
                ++seen[got->index()];
                if (got->value()) {
                    EXPECT_EQ(*got->value(), got->index());
                } else {
                    ++errors;
                }
            }
            for (const int times : seen) EXPECT_EQ(times, 1);
            EXPECT_EQ(errors, n / 7 + (n % 7 > 3 ? 1 : 0));
        }(env)
                                        .get();
    }
}

coflux::fork<void, pool> leaves_at(coflux::environment&, std::size_t n, std::size_t taken) {
    auto&& here = co_await coflux::context();
    coflux::completions<std::size_t> done(here);
    for (std::size_t i = 0; i != n; ++i) done.add(counts(here, 1));
    for (std::size_t i = 0; i != taken; ++i) (void)co_await done.next();
}

TEST(completed, may_be_left_while_children_end_on_other_threads) {
    pool on(2);
    auto env = coflux::make_environment(on);
    [](coflux::environment&) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        for (std::size_t i = 0; i != repetitions(80'000); ++i) co_await leaves_at(here, 6, i % 7);
    }(env)
                                    .get();
}

TEST(completed, takes_blocks_of_the_frame_pool_and_nothing_of_its_environment) {
    stage<hand> s;
    std::size_t beside_children = 0;
    s.run([](coflux::environment&, coflux::counting_resource* frames, std::size_t* out) -> root {
        auto&& here = co_await coflux::context();
        forks all = range_of(gives_after(here, 2, 1), gives_after(here, 1, 2));
        const std::size_t before = frames->allocations();
        auto done = coflux::completed(here, std::move(all));
        while (co_await done.next()) {}
        *out = frames->allocations() - before;
    }(s.env, &s.frames(), &beside_children));
    EXPECT_EQ(beside_children, 0U);
    EXPECT_EQ(sizeof(coflux::detail::completion_node), 96U);
}

TEST(completed, costs_each_child_the_same_however_many_there_are) {
    const auto time_for = [](std::size_t n) {
        stage<hand> s;
        const auto before = thread_cpu_time();
        s.run([](coflux::environment&, std::size_t many) -> root {
            auto&& here = co_await coflux::context();
            coflux::completions<int> done(here);
            for (std::size_t i = 0; i != many; ++i) done.add(gives_after(here, static_cast<int>(i % 5), 1));
            while (co_await done.next()) {}
        }(s.env, n));
        return thread_cpu_time() - before;
    };
    (void)time_for(10'000);
    // A walk over the children for each of them would make it 256 times as long.
    EXPECT_LT(time_for(16'000), 64 * time_for(1'000));
}

}  // namespace

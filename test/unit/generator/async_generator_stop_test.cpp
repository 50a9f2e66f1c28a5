// How an async_generator is stopped, and how it goes when it has children.
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/memory/counting_resource.hpp>

#include <gtest/gtest.h>

#include "support/executors.hpp"
#include "support/gate.hpp"
#include "support/iterations.hpp"
#include "support/witness.hpp"

namespace {

using coflux::async_generator;
using coflux::borrowed;
using coflux_test::gate;
using coflux_test::journal;
using coflux_test::manual_executor;
using coflux_test::mortal;
using pool = coflux::thread_pool_executor;
using lines = std::vector<std::string>;
template <typename T = void>
using fork = coflux::fork<T, manual_executor>;
using root = coflux::task<void, manual_executor>;

/// A root on an executor that is run by hand, until nothing is left to do.
struct by_hand {
    coflux::counting_resource frames;
    manual_executor executor;
    journal log;

    /// Runs what `make(env, log)` makes; true if it was stopped. Its exceptions come out.
    template <typename Make>
    bool run(Make make) {
        bool was_stopped = false;
        {
            auto env = coflux::make_environment(&frames, executor);
            auto t = make(env, &log);
            executor.run_all();
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
};

fork<> ends_slowly(auto&&, journal* log, std::string name, int steps = 3) {
    const mortal local(*log, name + "'s local");
    for (int i = 0; i < steps; ++i) co_await coflux::yield();
    log->write(name + " ends");
}
/// Begins when its executor comes to it; fails whether or not its stop has been requested.
fork<> fails(auto&&, std::string why) {
    throw std::runtime_error(why);
    co_return;
}
async_generator<int> with_child(auto&&, journal* log, std::string name = "generator") {
    auto&& here = co_await coflux::context();
    const mortal local(*log, name + "'s local");
    ends_slowly(here, log, name + "'s child").attach();
    for (int i = 0;; ++i) co_yield i;
}

TEST(async_generator_stop, of_itself_stops_its_consumer) {
    by_hand here;
    EXPECT_TRUE(here.run([](auto&& env, journal* log) {
        return [](auto&&, journal* in) -> root {
            auto&& inside = co_await coflux::context();
            const mortal local(*in, "consumer's local");
            auto g = [](auto&&, journal* log) -> async_generator<int> {
                const mortal own(*log, "generator's local");
                co_yield 1;
                co_await coflux::this_coroutine::stop();
                log->write("went past");
            }(inside, in);
            (void)co_await g.next();
            (void)co_await g.next();
            in->write("went past");
        }(env, log);
    }));
    EXPECT_EQ(here.log.lines(), (lines{"generator's local dies", "consumer's local dies"}));
}

TEST(async_generator_stop, is_an_outcome_where_it_is_asked_for_and_stays_one) {
    by_hand here;
    EXPECT_TRUE(here.run([](auto&& env, journal* log) {
        return [](auto&&, journal* in) -> root {
            auto&& inside = co_await coflux::context();
            auto g = [](auto&&) -> async_generator<int> {
                co_yield 1;
                co_await coflux::this_coroutine::stop();
            }(inside);
            (void)co_await g.next();
            for (int i = 0; i < 2; ++i) {
                const auto o = co_await coflux::as_outcome(g.next());
                EXPECT_TRUE(o.is_stopped());
            }
            in->write("asks plainly");
            (void)co_await g.next();
            in->write("went past");
        }(env, log);
    }));
    EXPECT_EQ(here.log.lines(), (lines{"asks plainly"}));
}

TEST(async_generator_stop, of_the_consumer_before_next_leaves_the_generator_where_it_is) {
    by_hand here;
    EXPECT_TRUE(here.run([](auto&& env, journal* log) {
        return [](auto&&, journal* in) -> root {
            auto&& inside = co_await coflux::context();
            auto g = [](auto&&, journal* log) -> async_generator<int> {
                const mortal own(*log, "generator's local");
                co_yield 1;
                log->write("went on");
            }(inside, in);
            (void)co_await g.next();
            inside.request_stop();
            in->write("asked");
            (void)co_await g.next();
            in->write("went past");
        }(env, log);
    }));
    EXPECT_EQ(here.log.lines(), (lines{"asked", "generator's local dies"}));
}

TEST(async_generator_stop, is_found_at_the_co_yield_when_it_is_asked_for_the_next_element) {
    by_hand here;
    EXPECT_FALSE(here.run([](auto&& env, journal* log) {
        return [](auto&&, journal* in) -> root {
            auto&& inside = co_await coflux::context();
            auto sub = coflux::make_environment(inside);
            {
                auto fresh = with_child(sub, in);
                auto g = with_child(sub, in);
                (void)co_await g.next();
                sub.request_stop();
                const auto o = co_await coflux::as_outcome(g.next());
                EXPECT_TRUE(o.is_stopped());
                const auto never = co_await coflux::as_outcome(fresh.next());
                EXPECT_TRUE(never.is_stopped());
                in->write("goes on");
            }
            co_await sub.join();
        }(env, log);
    }));
    EXPECT_EQ(here.log.lines(), (lines{"generator's child's local dies", "generator's local dies", "goes on"}));
}

TEST(async_generator_stop, cuts_short_what_the_generator_waits_for) {
    by_hand here;
    EXPECT_FALSE(here.run([](auto&& env, journal* log) {
        return [](auto&&, journal* in) -> root {
            auto&& inside = co_await coflux::context();
            gate closed;
            auto sub = coflux::make_environment(inside);
            auto g = [](auto&&, gate* of, journal* log) -> async_generator<int> {
                const mortal own(*log, "generator's local");
                co_yield 1;
                co_await of->wait();
                log->write("went past");
            }(sub, &closed, in);
            (void)co_await g.next();
            auto stopper = [](auto&&, borrowed<decltype(sub)> of, gate* at) -> fork<> {
                while (!at->has_waiter()) co_await coflux::yield();
                of->request_stop();
            }(inside, borrowed(sub), &closed);
            const auto o = co_await coflux::as_outcome(g.next());
            EXPECT_TRUE(o.is_stopped());
            co_await std::move(stopper);
            co_await sub.join();
            in->write("goes on");
        }(env, log);
    }));
    EXPECT_EQ(here.log.lines(), (lines{"generator's local dies", "goes on"}));
}

// --- children ------------------------------------------------------------------------------------------------------

TEST(async_generator_children, are_joined_before_the_consumer_learns_of_the_end) {
    by_hand here;
    EXPECT_FALSE(here.run([](auto&& env, journal* log) {
        return [](auto&&, journal* in) -> root {
            auto&& inside = co_await coflux::context();
            auto g = [](auto&&, journal* log) -> async_generator<int> {
                auto&& own = co_await coflux::context();
                ends_slowly(own, log, "child").attach();
                co_yield 1;
            }(inside, in);
            while (co_await g.next() != nullptr) in->write("element");
            in->write("goes on");
        }(env, log);
    }));
    EXPECT_EQ(here.log.lines(), (lines{"element", "child ends", "child's local dies", "goes on"}));
}

TEST(async_generator_children, of_a_generator_that_is_destroyed_are_stopped_and_joined_before_its_locals_die) {
    by_hand here;
    EXPECT_FALSE(here.run([](auto&& env, journal* log) {
        return [](auto&&, journal* in) -> root {
            auto&& inside = co_await coflux::context();
            {
                auto g = with_child(inside, in);
                (void)co_await g.next();
                (void)co_await g.next();
            }
            in->write("goes on");
        }(env, log);
    }));
    EXPECT_EQ(here.log.lines(), (lines{"goes on", "generator's child's local dies", "generator's local dies"}));
}

TEST(async_generator_children, end_before_the_locals_of_a_consumer_that_is_stopped_at_an_element) {
    for (const bool asked : {false, true}) {
        by_hand here;
        EXPECT_TRUE(here.run([asked](auto&& env, journal* log) {
            return [](auto&&, journal* in, bool ask) -> root {
                auto&& inside = co_await coflux::context();
                const mortal local(*in, "consumer's local");
                auto g = with_child(inside, in);
                (void)co_await g.next();
                if (ask) inside.request_stop();
                co_await coflux::this_coroutine::stop();
            }(env, log, asked);
        }));
        lines expected{"generator's child's local dies", "generator's local dies", "consumer's local dies"};
        if (!asked) expected.insert(expected.begin(), "generator's child ends");
        EXPECT_EQ(here.log.lines(), expected);
    }
}

TEST(async_generator_children, end_before_the_locals_of_its_maker_when_another_consumes_it) {
    by_hand here;
    EXPECT_TRUE(here.run([](auto&& env, journal* log) {
        return [](auto&&, journal* in) -> root {
            auto&& inside = co_await coflux::context();
            const mortal local(*in, "maker's local");
            auto consumer = [](auto&&, journal* log, async_generator<int> g) -> fork<> {
                const mortal own(*log, "consumer's local");
                (void)co_await g.next();
                co_await coflux::this_coroutine::stop();
            };
            co_await consumer(inside, in, with_child(inside, in));
        }(env, log);
    }));
    const lines all = here.log.lines();
    EXPECT_EQ(all, (lines{"consumer's local dies", "generator's child's local dies", "generator's local dies",
                          "maker's local dies"}));
}

/// Yields generators that it has made, and which have children.
async_generator<async_generator<int>> groups(auto&&, journal* log) {
    auto&& here = co_await coflux::context();
    const mortal local(*log, "groups' local");
    for (int i = 0; i < 2; ++i) co_yield with_child(here, log, "group " + std::to_string(i));
}

TEST(async_generator_children, of_generators_that_a_generator_has_made_are_joined_by_both) {
    by_hand here;
    EXPECT_FALSE(here.run([](auto&& env, journal* log) {
        return [](auto&&, journal* in) -> root {
            auto&& inside = co_await coflux::context();
            auto all = groups(inside, in);
            while (async_generator<int>* const group = co_await all.next()) {
                (void)co_await group->next();
                in->write("has one");
            }
            in->write("goes on");
        }(env, log);
    }));
    // Each is destroyed when the one that made it goes on; the end of that is noted after theirs.
    EXPECT_EQ(here.log.lines(),
              (lines{"has one", "has one", "groups' local dies", "group 0's child's local dies", "group 0's local dies",
                     "group 1's child's local dies", "group 1's local dies", "goes on"}));
}

TEST(async_generator_children, of_generators_that_a_generator_has_made_end_before_the_locals_of_a_stopped_consumer) {
    by_hand here;
    EXPECT_TRUE(here.run([](auto&& env, journal* log) {
        return [](auto&&, journal* in) -> root {
            auto&& inside = co_await coflux::context();
            const mortal local(*in, "consumer's local");
            auto all = groups(inside, in);
            async_generator<int>* const group = co_await all.next();
            (void)co_await group->next();
            co_await coflux::this_coroutine::stop();
        }(env, log);
    }));
    EXPECT_EQ(here.log.lines(), (lines{"group 0's child ends", "group 0's child's local dies", "group 0's local dies",
                                       "groups' local dies", "consumer's local dies"}));
}

TEST(async_generator_children, of_a_derived_environment_are_joined_with_it) {
    by_hand here;
    EXPECT_FALSE(here.run([](auto&& env, journal* log) {
        return [](auto&&, journal* in) -> root {
            auto&& inside = co_await coflux::context();
            auto sub = coflux::make_environment(inside);
            auto g = with_child(sub, in);
            (void)co_await g.next();
            co_await sub.join();
            in->write("joined");
        }(env, log);
    }));
    EXPECT_EQ(here.log.lines(),
              (lines{"generator's child ends", "generator's child's local dies", "joined", "generator's local dies"}));
}

async_generator<int> with_failing_child(auto&&, bool endless) {
    auto&& here = co_await coflux::context();
    fails(here, "of a child").attach();
    co_yield 1;
    while (endless) co_yield 2;
}

TEST(async_generator_children, that_fail_unobserved_fail_the_next_that_finds_the_end) {
    by_hand here;
    EXPECT_FALSE(here.run([](auto&& env, journal* log) {
        return [](auto&&, journal*) -> root {
            auto&& inside = co_await coflux::context();
            auto g = with_failing_child(inside, false);
            EXPECT_EQ(*co_await g.next(), 1);
            const auto o = co_await coflux::as_outcome(g.next());
            EXPECT_TRUE(o.has_error());
        }(env, log);
    }));
}

TEST(async_generator_children, that_fail_unobserved_fail_the_scope_that_a_destroyed_generator_belongs_to) {
    for (const int steps : {0, 3}) {  // with the child alive, and after it has failed
        by_hand here;
        EXPECT_THROW(here.run([steps](auto&& env, journal* log) {
            return [](auto&&, journal*, int wait) -> root {
                auto&& inside = co_await coflux::context();
                auto g = with_failing_child(inside, true);
                (void)co_await g.next();
                for (int i = 0; i < wait; ++i) co_await coflux::yield();
            }(env, log, steps);
        }),
                     std::runtime_error)
            << steps;
    }
}

TEST(async_generator_children, that_fail_unobserved_are_not_lost_when_the_consumer_is_stopped) {
    for (const int steps : {0, 3}) {
        by_hand here;
        EXPECT_THROW(here.run([steps](auto&& env, journal* log) {
            return [](auto&&, journal*, int wait) -> root {
                auto&& inside = co_await coflux::context();
                auto g = with_failing_child(inside, true);
                (void)co_await g.next();
                for (int i = 0; i < wait; ++i) co_await coflux::yield();
                co_await coflux::this_coroutine::stop();
            }(env, log, steps);
        }),
                     std::runtime_error)
            << steps;
    }
}

coflux::fork<void, pool> computes(auto&&) {
    for (int i = 0; i < 5; ++i) co_await coflux::yield();
}
async_generator<int> forks_on(auto&&) {
    auto&& here = co_await coflux::context();
    for (int i = 0;; ++i) {
        computes(here).attach();
        co_yield i;
    }
}

TEST(async_generator_children, leave_no_frame_whenever_and_wherever_their_generator_is_destroyed) {
    coflux::counting_resource frames;
    {
        pool threads{2};
        auto env = coflux::make_environment(&frames, threads);
        auto t = [](auto&&) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            auto round = [](auto&&, int n) -> coflux::fork<void, pool> {
                auto&& inside = co_await coflux::context();
                auto g = forks_on(inside);
                for (int i = 0; i <= n % 7; ++i) (void)co_await g.next();
                for (int i = 0; i < n % 9; ++i) co_await coflux::yield();
                if (n % 3 == 0) co_await coflux::this_coroutine::stop();
            };
            const auto rounds = static_cast<int>(coflux_test::repetitions(40'000));
            for (int i = 0; i < rounds; ++i) (void)co_await coflux::as_outcome(round(here, i));
        }(env);
        t.get();
    }
    EXPECT_EQ(frames.live(), 0U);
}

coflux::call<void> calls_a_fork(auto&&) {
    auto&& here = co_await coflux::context();
    co_await computes(here);
}
async_generator<int> waits_for_all(auto&&) {
    auto&& here = co_await coflux::context();
    for (int i = 0;; ++i) {
        co_await coflux::when_all(calls_a_fork(here), calls_a_fork(here), computes(here));
        co_yield i;
    }
}

TEST(async_generator_children, that_have_just_ended_on_another_thread_are_no_hindrance_to_a_stopped_consumer) {
    coflux::counting_resource frames;
    {
        pool threads{2};
        auto env = coflux::make_environment(&frames, threads);
        auto t = [](auto&&) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            auto round = [](auto&&) -> coflux::fork<void, pool> {
                auto&& inside = co_await coflux::context();
                auto g = waits_for_all(inside);
                (void)co_await g.next();
                co_await coflux::this_coroutine::stop();
            };
            const auto rounds = static_cast<int>(coflux_test::repetitions(40'000));
            for (int i = 0; i < rounds; ++i) {
                auto a = round(here);
                auto b = round(here);
                const auto end_of_a = co_await coflux::as_outcome(std::move(a));
                EXPECT_TRUE(end_of_a.is_stopped());
                const auto end_of_b = co_await coflux::as_outcome(std::move(b));
                EXPECT_TRUE(end_of_b.is_stopped());
            }
        }(env);
        t.get();
    }
    EXPECT_EQ(frames.live(), 0U);
}

}  // namespace

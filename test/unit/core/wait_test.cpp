#include <coflux/core/detail/wait/wait_operation.hpp>

#include <atomic>
#include <cstddef>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "stage.hpp"
#include "support/executors.hpp"
#include "support/gate.hpp"
#include "support/iterations.hpp"
#include "support/witness.hpp"

namespace {

using coflux_test::gate;
using coflux_test::journal;
using coflux_test::manual_executor;
using coflux_test::mortal;
using coflux_test::stage;
using noop = coflux::noop_executor;
using pool = coflux::thread_pool_executor;
using lines = std::vector<std::string>;

template <typename E>
coflux::fork<int, E> passes(coflux::environment&, coflux::borrowed<gate> g, int value) {
    co_await g->wait();
    co_return value;
}

template <typename E>
coflux::fork<void, E> passes_and_returns(coflux::environment&, coflux::borrowed<gate> g) {
    co_await g->wait();
}

template <typename E>
coflux::fork<void, E> passes_and_tells(coflux::environment&, coflux::borrowed<gate> g, journal* log, std::string name) {
    const mortal local(*log, name);
    co_await g->wait();
    log->write(name + " passed");
}

TEST(wait, ends_when_it_is_woken_and_the_waker_does_not_run_the_waiter) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    gate g;
    auto t = [](coflux::environment&, coflux::borrowed<gate> in) -> coflux::task<int, manual_executor> {
        co_await in->wait();
        co_return 7;
    }(env, coflux::borrowed(g));
    by_hand.run_all();
    ASSERT_TRUE(g.has_waiter());
    g.open();
    EXPECT_FALSE(t.done()) << "it is queued, not run";
    EXPECT_EQ(by_hand.pending(), 1U);
    by_hand.run_all();
    EXPECT_EQ(t.get(), 7);
}

TEST(wait, of_coroutines_without_an_executor_ends_one_after_the_other) {
    auto env = coflux::make_environment(noop{});
    gate g;
    journal j;
    auto t = [](coflux::environment&, coflux::borrowed<gate> in, journal* log) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto first = passes_and_tells<noop>(here, in, log, "first");
        auto second = passes_and_tells<noop>(here, in, log, "second");
        in->open();
        EXPECT_EQ(coflux::detail::this_thread.current, &here) << "the waker still is the one that runs";
        co_await coflux::when_all(std::move(first), std::move(second));
    }(env, coflux::borrowed(g), &j);
    t.get();
    EXPECT_EQ(j.lines(), (lines{"first passed", "first dies", "second passed", "second dies"}));
}

TEST(wait, of_coroutines_without_an_executor_ends_after_a_pause_of_resumptions) {
    auto env = coflux::make_environment(noop{});
    gate g;
    journal j;
    auto first = passes_and_tells<noop>(env, coflux::borrowed(g), &j, "first");
    auto second = passes_and_tells<noop>(env, coflux::borrowed(g), &j, "second");
    {
        const coflux::detail::resumption_pause pause;
        g.open();
        EXPECT_TRUE(j.lines().empty()) << "no coroutine runs inside the pause";
    }
    EXPECT_TRUE(first.done());
    EXPECT_TRUE(second.done());
    EXPECT_EQ(j.lines(), (lines{"first passed", "first dies", "second passed", "second dies"}));
}

TEST(wait, is_cut_short_by_a_stop_of_its_own_coroutine) {
    stage<manual_executor> s;
    gate g;
    journal j;
    const auto root = [](coflux::environment&, coflux::borrowed<gate> in,
                         journal* log) -> coflux::task<bool, manual_executor> {
        auto&& here = co_await coflux::context();
        auto waiting = passes_and_tells<manual_executor>(here, in, log, "waiting");
        auto beside = passes_and_tells<manual_executor>(here, in, log, "beside");
        co_await coflux::yield();
        waiting.request_stop();
        log->write("asked");
        const auto o = co_await coflux::as_outcome(std::move(waiting));
        log->write("joined");
        in->open();
        co_await std::move(beside);
        co_return o.is_stopped();
    };
    EXPECT_TRUE(s.run(root(s.env, coflux::borrowed(g), &j)));
    EXPECT_EQ(j.lines(), (lines{"asked", "waiting dies", "joined", "beside passed", "beside dies"}));
}

coflux::call<void> passes_in_a_call(coflux::environment&, gate& g, int depth) {
    auto&& here = co_await coflux::context();
    if (depth == 0) {
        co_await g.wait();
    } else {
        co_await passes_in_a_call(here, g, depth - 1);
    }
}

template <typename E>
coflux::fork<void, E> waits_below(coflux::environment&, coflux::borrowed<gate> g, int depth) {
    auto&& here = co_await coflux::context();
    if (depth == 0) {
        co_await passes_in_a_call(here, *g, 3);
    } else {
        co_await waits_below<E>(here, g, depth - 1);
    }
}

TEST(wait, is_cut_short_by_a_stop_of_anything_above_it) {
    for (const int depth : {0, 1, 5}) {
        stage<manual_executor> s;
        gate g;
        auto root = [](coflux::environment&, coflux::borrowed<gate> in, int d) -> coflux::task<void, manual_executor> {
            auto&& here = co_await coflux::context();
            co_await waits_below<manual_executor>(here, in, d);
        }(s.env, coflux::borrowed(g), depth);
        s.drive();
        ASSERT_TRUE(g.has_waiter());
        s.env.request_stop();
        EXPECT_FALSE(g.has_waiter()) << "claimed by the request itself";
        s.drive();
        EXPECT_THROW(root.get(), coflux::task_stopped);
    }
}

TEST(wait, in_a_chain_of_a_hundred_thousand_forks_is_found_without_recursion) {
    stage<manual_executor> s;
    gate g;
    constexpr auto depth = static_cast<int>(coflux_test::repetitions(100'000));
    auto root = waits_below<manual_executor>(s.env, coflux::borrowed(g), depth);
    s.drive();
    ASSERT_TRUE(g.has_waiter());
    s.env.request_stop();
    s.drive();
    EXPECT_TRUE(root.done());
}

TEST(wait, that_begins_after_the_request_does_not_begin) {
    stage<manual_executor> s;
    gate g;
    auto root = [](coflux::environment&, coflux::borrowed<gate> in) -> coflux::task<void, manual_executor> {
        co_await in->wait();
    }(s.env, coflux::borrowed(g));
    s.env.request_stop();
    s.drive();
    EXPECT_FALSE(g.has_waiter());
    EXPECT_THROW(root.get(), coflux::task_stopped);
}

TEST(wait, that_was_woken_before_the_request_has_ended) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    gate g;
    bool passed = false;
    auto t = [](coflux::environment&, coflux::borrowed<gate> in, bool* p) -> coflux::task<void, manual_executor> {
        co_await in->wait();
        *p = true;
        co_await coflux::yield();
    }(env, coflux::borrowed(g), &passed);
    by_hand.run_all();
    g.open();
    t.request_stop();
    by_hand.run_all();
    EXPECT_TRUE(passed) << "what has completed stays completed";
    EXPECT_THROW(t.get(), coflux::task_stopped) << "and it stops at its next stop point";
}

TEST(wait, in_another_subtree_is_left_alone) {
    stage<manual_executor> s;
    gate g;
    const auto root = [](coflux::environment&, coflux::borrowed<gate> in) -> coflux::task<int, manual_executor> {
        auto&& here = co_await coflux::context();
        std::vector<coflux::fork<int, manual_executor>> forks;
        for (int i = 0; i < 10; ++i) forks.push_back(passes<manual_executor>(here, in, i));
        co_await coflux::yield();
        for (int i = 0; i < 10; i += 2) forks[static_cast<std::size_t>(i)].request_stop();
        in->open();
        int sum = 0;
        for (auto& f : forks) {
            auto o = co_await coflux::as_outcome(std::move(f));
            if (o) sum += std::move(o).value();
        }
        co_return sum;
    };
    EXPECT_EQ(s.run(root(s.env, coflux::borrowed(g))), 1 + 3 + 5 + 7 + 9);
}

TEST(wait, in_a_call_of_a_stopped_call_is_cut_short_and_that_of_its_caller_is_not) {
    stage<manual_executor> s;
    gate inner;
    gate outer;
    const auto root = [](coflux::environment&, coflux::borrowed<gate> in,
                         coflux::borrowed<gate> out) -> coflux::task<bool, manual_executor> {
        auto&& here = co_await coflux::context();
        auto beside = passes<manual_executor>(here, out, 1);
        const auto callee = [](coflux::environment&, gate& g) -> coflux::call<void> {
            auto&& mine = co_await coflux::context();
            auto stopper = [](coflux::environment&,
                              coflux::borrowed<coflux::environment> of) -> coflux::fork<void, manual_executor> {
                of->request_stop();
                co_return;
            }(mine, coflux::borrowed(mine));
            co_await passes_in_a_call(mine, g, 1);
        };
        const auto o = co_await coflux::as_outcome(callee(here, *in));
        EXPECT_TRUE(o.is_stopped());
        EXPECT_TRUE(out->has_waiter()) << "a child of the caller is not below the call";
        out->open();
        co_return co_await std::move(beside) == 1;
    };
    EXPECT_TRUE(s.run(root(s.env, coflux::borrowed(inner), coflux::borrowed(outer))));
}

TEST(wait, below_a_derived_environment_is_cut_short_by_its_stop) {
    stage<manual_executor> s;
    gate g;
    const auto root = [](coflux::environment&, coflux::borrowed<gate> in) -> coflux::task<bool, manual_executor> {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here);
        auto f = waits_below<manual_executor>(sub, in, 2);
        co_await coflux::yield();
        co_await coflux::yield();
        co_await coflux::yield();
        EXPECT_TRUE(in->has_waiter());
        sub.request_stop();
        const auto o = co_await coflux::as_outcome(std::move(f));
        co_await sub.join();
        co_return o.is_stopped();
    };
    EXPECT_TRUE(s.run(root(s.env, coflux::borrowed(g))));
}

// A sanitizer sees the record of the environment look for that of the coroutine.
TEST(wait, below_a_derived_environment_leaves_nothing_that_a_stop_of_its_owner_could_miss) {
    stage<manual_executor> s;
    gate g;
    const auto stops = [](coflux::environment&, coflux::borrowed<gate> in) -> coflux::fork<void, manual_executor> {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here);
        auto below = coflux::make_environment(sub);
        passes_and_returns<manual_executor>(sub, in).attach();
        passes_and_returns<manual_executor>(below, in).attach();
        co_await coflux::yield();
        in->open();
        co_await below.join();
        co_await sub.join();
        co_await coflux::this_coroutine::stop();
    };
    const auto root = [](coflux::environment&, coflux::borrowed<gate> in,
                         auto child) -> coflux::task<bool, manual_executor> {
        auto&& here = co_await coflux::context();
        const auto o = co_await coflux::as_outcome(child(here, in));
        co_return o.is_stopped();
    };
    EXPECT_TRUE(s.run(root(s.env, coflux::borrowed(g), stops)));
}

TEST(wait, keeps_the_failures_of_the_scope_that_it_stands_in) {
    stage<manual_executor> s;
    gate g;
    auto root = [](coflux::environment&, coflux::borrowed<gate> in) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        const auto fails = [](coflux::environment&, int n) -> coflux::fork<void, manual_executor> {
            throw n;
            co_return;
        };
        fails(here, 1).attach();
        co_await coflux::yield();
        auto f = passes<manual_executor>(here, in, 0);
        co_await coflux::yield();
        fails(here, 2).attach();
        co_await in->wait();
        co_await std::move(f);
    }(s.env, coflux::borrowed(g));
    s.drive();
    g.open();
    s.drive();
    try {
        root.get();
        FAIL() << "an error was lost";
    } catch (const int first) {
        EXPECT_EQ(first, 1);
        EXPECT_EQ(coflux::other_errors().size(), 1U);
    }
}

TEST(wait, gives_back_what_its_record_took) {
    stage<manual_executor> s;
    static constexpr auto rounds = static_cast<int>(coflux_test::repetitions(100'000));
    const auto root = [](coflux::environment&) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        for (int i = 0; i < rounds; ++i) {
            gate g;
            auto f = passes<manual_executor>(here, coflux::borrowed(g), i);
            co_await coflux::yield();
            g.let_one();
            EXPECT_EQ(co_await std::move(f), i);
        }
    };
    s.run(root(s.env));
}

TEST(wait, of_a_call_that_was_stopped_leaves_nothing_in_the_record_above) {
    stage<manual_executor> s;
    gate g;
    const auto root = [](coflux::environment&, coflux::borrowed<gate> in) -> coflux::task<int, manual_executor> {
        auto&& here = co_await coflux::context();
        const auto callee = [](coflux::environment&, gate& waits) -> coflux::call<void> {
            auto&& mine = co_await coflux::context();
            auto stopper = [](coflux::environment&,
                              coflux::borrowed<coflux::environment> of) -> coflux::fork<void, manual_executor> {
                of->request_stop();
                co_return;
            }(mine, coflux::borrowed(mine));
            co_await waits.wait();
        };
        int stopped = 0;
        // The second request looks at what the first left.
        for (int i = 0; i < 2; ++i) stopped += (co_await coflux::as_outcome(callee(here, *in))).is_stopped() ? 1 : 0;
        co_return stopped;
    };
    EXPECT_EQ(s.run(root(s.env, coflux::borrowed(g))), 2);
}

TEST(wait, in_a_call_that_another_coroutine_awaits_is_left_alone_by_the_stop_of_a_call_beside_it) {
    stage<manual_executor> s;
    gate inner;
    gate outer;
    const auto root = [](coflux::environment&, coflux::borrowed<gate> in,
                         coflux::borrowed<gate> out) -> coflux::task<bool, manual_executor> {
        auto&& here = co_await coflux::context();
        // Its wait is in the record of the root, as that of the callee.
        auto beside = [](coflux::environment&, coflux::borrowed<coflux::environment> of,
                         coflux::borrowed<gate> g) -> coflux::fork<int, manual_executor> {
            co_await passes_in_a_call(*of, *g, 0);
            co_return 1;
        }(here, coflux::borrowed(here), out);
        co_await coflux::yield();
        const auto callee = [](coflux::environment&, gate& g) -> coflux::call<void> {
            auto&& mine = co_await coflux::context();
            auto stopper = [](coflux::environment&,
                              coflux::borrowed<coflux::environment> of) -> coflux::fork<void, manual_executor> {
                of->request_stop();
                co_return;
            }(mine, coflux::borrowed(mine));
            co_await g.wait();
        };
        const auto o = co_await coflux::as_outcome(callee(here, *in));
        EXPECT_TRUE(o.is_stopped());
        EXPECT_TRUE(out->has_waiter());
        out->open();
        co_return co_await std::move(beside) == 1;
    };
    EXPECT_TRUE(s.run(root(s.env, coflux::borrowed(inner), coflux::borrowed(outer))));
}

// A sanitizer sees the record of the wrapping fork outlive it.
TEST(wait, in_a_call_of_when_all_leaves_nothing_below_its_caller) {
    stage<manual_executor> s;
    gate g;
    auto root = [](coflux::environment&, coflux::borrowed<gate> in) -> coflux::task<bool, manual_executor> {
        auto&& here = co_await coflux::context();
        const auto callee = [](coflux::environment&, gate& waits) -> coflux::call<void> {
            auto&& mine = co_await coflux::context();
            co_await coflux::when_all(passes_in_a_call(mine, waits, 0), passes_in_a_call(mine, waits, 1));
            mine.request_stop();
            co_await coflux::yield();
        };
        co_return (co_await coflux::as_outcome(callee(here, *in))).is_stopped();
    }(s.env, coflux::borrowed(g));
    s.drive();
    g.open();
    s.drive();
    EXPECT_TRUE(root.get());
}

TEST(wait, in_a_call_of_when_all_is_cut_short) {
    stage<manual_executor> s;
    gate g;
    auto root = [](coflux::environment&, coflux::borrowed<gate> in) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        co_await coflux::when_all(passes_in_a_call(here, *in, 0), passes_in_a_call(here, *in, 1));
    }(s.env, coflux::borrowed(g));
    s.drive();
    ASSERT_TRUE(g.has_waiter());
    s.env.request_stop();
    EXPECT_FALSE(g.has_waiter());
    s.drive();
    EXPECT_THROW(root.get(), coflux::task_stopped);
}

TEST(wait, that_is_stopped_between_its_publication_and_its_queue_does_not_begin) {
    stage<manual_executor> s;
    gate g;
    auto root = [](coflux::environment&, coflux::borrowed<gate> in) -> coflux::task<void, manual_executor> {
        co_await in->wait();
    }(s.env, coflux::borrowed(g));
    g.before_queueing = [&] { s.env.request_stop(); };
    s.drive();
    EXPECT_FALSE(g.has_waiter());
    g.open();
    s.drive();
    EXPECT_THROW(root.get(), coflux::task_stopped);
}

// --- threads -------------------------------------------------------------------------------------------------------

TEST(wait, and_stop_and_wake_meet_on_two_threads_and_each_wait_ends_once) {
    static constexpr auto rounds = static_cast<int>(coflux_test::repetitions(20'000));
    stage<pool> s;
    const auto root = [](coflux::environment&) -> coflux::task<int, pool> {
        auto&& here = co_await coflux::context();
        int ended = 0;
        for (int round = 0; round < rounds; ++round) {
            gate g;
            auto waiting = passes<pool>(here, coflux::borrowed(g), 1);
            auto waker = [](coflux::environment&, coflux::borrowed<gate> in) -> coflux::fork<void, pool> {
                in->open();
                co_return;
            }(here, coflux::borrowed(g));
            waiting.request_stop();
            const auto o = co_await coflux::as_outcome(std::move(waiting));
            EXPECT_FALSE(o.has_error());
            co_await std::move(waker);
            ++ended;
        }
        co_return ended;
    };
    EXPECT_EQ(s.run(root(s.env)), rounds);
}

coflux::fork<void, pool> tree_of_waits(coflux::environment&, coflux::borrowed<gate> g, int depth,
                                       coflux::borrowed<std::atomic<int>> begun) {
    auto&& here = co_await coflux::context();
    if (depth > 0) {
        auto a = tree_of_waits(here, g, depth - 1, begun);
        auto b = tree_of_waits(here, g, depth - 1, begun);
        co_await coflux::when_all(std::move(a), std::move(b));
    } else {
        begun->fetch_add(1);
        co_await passes_in_a_call(here, *g, 2);
    }
}

TEST(wait, trees_that_grow_while_they_are_stopped_end) {
    static constexpr auto rounds = static_cast<int>(coflux_test::repetitions(400));
    for (int round = 0; round < rounds; ++round) {
        stage<pool> s;
        gate g;
        std::atomic<int> begun = 0;
        auto root = [](coflux::environment&, coflux::borrowed<gate> in,
                       coflux::borrowed<std::atomic<int>> count) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            co_await tree_of_waits(here, in, 6, count);
        }(s.env, coflux::borrowed(g), coflux::borrowed(begun));
        // Stopped from outside at a different moment of the tree's growth each time: the number of leaves that have
        // begun.
        while (begun.load() < round % 64) std::this_thread::yield();
        s.env.request_stop();
        EXPECT_NO_THROW(root.join());
        EXPECT_FALSE(g.has_waiter());
    }
}

// ThreadSanitizer sees a record that is freed while a request looks at it, whichever is faster.
TEST(wait, that_is_over_leaves_a_record_that_lives_while_a_request_looks_at_it) {
    static constexpr auto rounds = static_cast<int>(coflux_test::repetitions(40'000));
    stage<pool> s;
    const auto root = [](coflux::environment&) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        for (int round = 0; round < rounds; ++round) {
            gate g;
            std::atomic<bool> passed = false;
            auto waiting = [](coflux::environment&, coflux::borrowed<gate> in,
                              coflux::borrowed<std::atomic<bool>> requested, int spins) -> coflux::fork<void, pool> {
                co_await in->wait();
                requested->store(true, std::memory_order_relaxed);  // orders nothing: the records' own locks have to
                for (int i = 0; i < spins; ++i) coflux::detail::cpu_pause();
            }(here, coflux::borrowed(g), coflux::borrowed(passed), round % 64);
            while (!g.has_waiter()) co_await coflux::yield();
            g.open();
            while (!passed.load(std::memory_order_relaxed)) co_await coflux::yield();
            waiting.request_stop();
            (void)co_await coflux::as_outcome(std::move(waiting));
        }
    };
    s.run(root(s.env));
}

}  // namespace

#include <coflux/executor/worker.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <support/no_hang.hpp>

#include "loose_coroutine.hpp"
#include "watchdog.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::worker_executor;
using coflux::worker_group;
using coflux_test::loose;
using coflux_test::thread_here;
using coflux_test::watchdog;
using order = std::vector<int>;

order up_to(int n) {
    order all;
    for (int i = 0; i < n; ++i) all.push_back(i);
    return all;
}

coflux::fork<void, worker_executor> notes(coflux::environment&, borrowed<order> seen, int number) {
    seen->push_back(number);
    co_return;
}
coflux::task<void, worker_executor> makes_forks(coflux::environment&, borrowed<order> seen, int forks) {
    auto&& here = co_await coflux::context();
    co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<void> {
        for (int i = 0; i < forks; ++i) scope.spawn(notes, seen, i);
        seen->push_back(-1);
        co_return;
    });
}

TEST(worker, runs_what_its_coroutines_make_in_the_order_in_which_they_make_it) {
    worker_executor on;
    auto env = coflux::make_environment(on);
    order seen;
    makes_forks(env, borrowed(seen), 3).get();
    EXPECT_EQ(seen, (order{-1, 0, 1, 2}));
}

TEST(worker, runs_what_is_posted_from_outside_in_the_order_of_the_posts) {
    order seen;
    {
        worker_executor on;
        for (int i = 0; i < 10'000; ++i) on.execute(loose([&seen, i] { seen.push_back(i); }));
    }
    EXPECT_EQ(seen, up_to(10'000));
}

TEST(worker, runs_what_its_coroutines_post_in_the_order_of_the_posts) {
    order seen;
    {
        worker_executor on;
        on.execute(loose([&] {
            for (int i = 0; i < 3000; ++i) on.execute(loose([&seen, i] { seen.push_back(i); }));
        }));
    }
    EXPECT_EQ(seen, up_to(3000));
}

TEST(worker, runs_all_on_one_thread) {
    std::vector<std::thread::id> ids;
    {
        worker_executor on;
        std::vector<std::thread> posters;
        for (int i = 0; i < 3; ++i) {
            posters.emplace_back([&] {
                for (int n = 0; n < 200; ++n) on.execute(loose([&] { ids.push_back(thread_here()); }));
            });
        }
        for (std::thread& t : posters) t.join();
    }
    ASSERT_EQ(ids.size(), 600U);
    EXPECT_TRUE(std::all_of(ids.begin(), ids.end(), [&](std::thread::id id) { return id == ids[0]; }));
    EXPECT_NE(ids[0], std::this_thread::get_id());
}

coflux::task<int, worker_executor> gives(coflux::environment&, int x) {
    co_await coflux::yield();
    co_return x;
}

TEST(worker, may_end_right_after_the_last_get) {
    const watchdog guard("the end of a worker");
    for (int i = 0; i < 300; ++i) {
        worker_executor on;
        auto env = coflux::make_environment(on);
        EXPECT_EQ(gives(env, i).get(), i);
    }
}

TEST(worker, stands_for_the_same_thread_after_a_move) {
    std::optional<worker_executor> first(std::in_place);
    const void* const identity = first->identity();
    auto env = coflux::make_environment(*first);
    auto task = gives(env, 3);
    worker_executor second(std::move(*first));
    first.reset();
    worker_executor third;
    third = std::move(second);
    EXPECT_EQ(third.identity(), identity);
    EXPECT_EQ(task.get(), 3);
    EXPECT_EQ(gives(env, 4).get(), 4);
}

TEST(worker, belongs_to_the_environment_that_is_given_it_by_value) {
    auto env = coflux::make_environment(worker_executor());
    EXPECT_EQ(gives(env, 4).get(), 4);
}

TEST(worker, has_the_name_and_the_processor_that_it_is_given) {
    worker_executor on({.name = "named", .pin = 0});
    auto env = coflux::make_environment(on);
    EXPECT_EQ(gives(env, 4).get(), 4);
}

coflux::task<bool, worker_executor> sleeps(coflux::environment&, std::chrono::nanoseconds time) {
    const auto begin = coflux::clock::now();
    co_await coflux::sleep_for(time);
    co_return coflux::clock::now() - begin >= time;
}

TEST(worker, wakes_its_sleepers_whatever_it_looks_for) {
    const watchdog guard("sleeps on a worker");
    for (const coflux::worker_options& options :
         {coflux::worker_options{}, coflux::worker_options{.spin = 0ns}, coflux::worker_options{.timer_spin = 1ms},
          coflux::worker_options{.spin = 0ns, .keep_memory = 0ns}}) {
        worker_executor on(options);
        auto env = coflux::make_environment(on);
        for (int i = 0; i < 5; ++i) EXPECT_TRUE(sleeps(env, 500us).get());
    }
}

// --- law 8 -----------------------------------------------------------------------------------------------------------

coflux::fork<void, worker_executor> nothing(coflux::environment&) {
    co_return;
}
coflux::fork<void, worker_executor> marks(coflux::environment&, borrowed<bool> mark) {
    *mark = true;
    co_return;
}
coflux::fork<void, worker_executor> marks_later(coflux::environment&, borrowed<bool> mark) {
    co_await coflux::sleep_for(1us);
    *mark = true;
}
struct bystanders {
    bool fork_began = false;
    bool posted_ran = false;
    bool timer_came = false;
};
enum class way { forks, yields };

/// Steps until the fork and the post were served; the timer is served at last, or the program hangs.
coflux::task<std::size_t, worker_executor> steps_beside(coflux::environment&, borrowed<bystanders> by,
                                                        borrowed<worker_executor> on, way w, int before) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < before; ++i) co_await nothing(here);
    auto timer = marks_later(here, borrowed(by->timer_came));
    auto fork = marks(here, borrowed(by->fork_began));
    std::thread([&] { on->execute(loose([by = &*by] { by->posted_ran = true; })); }).join();
    std::size_t steps = 0;
    while (!by->fork_began || !by->posted_ran || !by->timer_came) {
        if (!by->fork_began || !by->posted_ran) ++steps;
        if (w == way::forks) {
            co_await nothing(here);
        } else {
            co_await coflux::yield();
        }
    }
    co_await coflux::when_all(std::move(timer), std::move(fork));
    co_return steps;
}

TEST(worker, lets_all_begin_within_200_steps_of_one_that_never_waits) {
    const watchdog guard("one that never waits on a worker");
    worker_executor on;
    auto env = coflux::make_environment(on);
    for (const way w : {way::forks, way::yields}) {
        for (int before = 0; before < 200; before += 7) {
            bystanders by;
            EXPECT_LE(steps_beside(env, borrowed(by), borrowed(on), w, before).get(), 200U) << before;
        }
    }
}

// --- groups ----------------------------------------------------------------------------------------------------------

using group = worker_group<3>;

template <std::size_t I>
coflux::fork<std::thread::id, group::worker<I>> where(coflux::environment&) {
    co_return thread_here();
}
coflux::task<void, group::worker<0>> looks_around(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const std::thread::id own = thread_here();
    EXPECT_EQ(co_await where<0>(here), own);
    const std::thread::id second = co_await where<1>(here);
    const std::thread::id third = co_await where<2>(here);
    EXPECT_NE(second, own);
    EXPECT_NE(third, own);
    EXPECT_NE(second, third);
    EXPECT_EQ(thread_here(), own);
}

TEST(worker_group, runs_a_fork_on_the_worker_that_its_type_names) {
    group workers;
    static_assert(group::size() == 3);
    auto env = coflux::make_environment(workers.get<0>(), workers.get<1>(), workers.get<2>());
    looks_around(env).get();
}

TEST(worker_group, pins_each_to_the_next_processor) {
    worker_group<2> workers({.name = "pair", .pin = 0});
    auto env = coflux::make_environment(workers.get<0>());
    const auto task = [](coflux::environment&) -> coflux::task<int, worker_group<2>::worker<0>> { co_return 1; };
    EXPECT_EQ(task(env).get(), 1);
}

using numbers = coflux::channel<int[4]>;

template <std::size_t I>
coflux::fork<void, group::worker<I>> produces(coflux::environment&, coflux::channel_sender<numbers> out, int count) {
    for (int i = 1; i <= count; ++i) {
        const bool sent = co_await out.send(i);
        EXPECT_TRUE(sent);
    }
}
template <std::size_t I>
coflux::fork<int, group::worker<I>> consumes(coflux::environment&, coflux::channel_receiver<numbers> in) {
    int sum = 0;
    while (auto next = co_await in.receive()) sum += *next;
    co_return sum;
}
coflux::task<int, group::worker<0>> pipeline(coflux::environment&) {
    auto&& here = co_await coflux::context();
    numbers n;
    co_return co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<int> {
        auto sum = consumes<2>(scope, n.receiver());
        auto other = consumes<1>(scope, n.receiver());
        scope.spawn(produces<0>, n.sender(), 500);
        scope.spawn(produces<1>, n.sender(), 500);
        const auto [x, y] = co_await coflux::when_all(std::move(sum), std::move(other));
        co_return x + y;
    });
}

TEST(worker_group, shares_channels_between_its_workers) {
    const watchdog guard("a channel between three workers");
    group workers;
    auto env = coflux::make_environment(workers.get<0>(), workers.get<1>(), workers.get<2>());
    for (int i = 0; i < 5; ++i) EXPECT_EQ(pipeline(env).get(), 2 * 500 * 501 / 2);
}

// --- checked errors --------------------------------------------------------------------------------------------------

/// Threads of earlier tests may be there: a child that runs from the beginning has none of them.
class worker_death : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
    void TearDown() override { GTEST_FLAG_SET(death_test_style, "fast"); }
};

coflux::task<void, worker_executor> blocks(coflux::environment&, borrowed<coflux::task<int, worker_executor>> other) {
    (void)co_await coflux::context();
    (void)other->get();
}

TEST_F(worker_death, dies_of_a_blocking_wait_in_one_of_its_coroutines) {
    const auto waits = [] {
        coflux_test::die_rather_than_hang();
        worker_executor on;
        worker_executor away;
        auto env = coflux::make_environment(on);
        auto elsewhere = coflux::make_environment(away);
        away.execute(loose([] {
            for (;;) std::this_thread::yield();
        }));
        auto other = gives(elsewhere, 1);
        blocks(env, borrowed(other)).get();
    };
    EXPECT_DEATH(waits(), "a blocking wait for .* on a thread that runs coroutines, in .*blocks.*: co_await the task");
}

TEST_F(worker_death, dies_of_an_end_on_its_own_thread) {
    const auto ends = [] {
        coflux_test::die_rather_than_hang();
        auto on = std::make_unique<worker_executor>();
        worker_executor& posts = *on;
        posts.execute(loose([own = std::move(on)]() mutable { own.reset(); }));
        for (;;) std::this_thread::yield();
    };
    EXPECT_DEATH(ends(), "a worker is destroyed on its own thread");
}

TEST_F(worker_death, dies_with_a_coroutine_asleep_on_it_and_names_it) {
    const auto leaves = [] {
        coflux_test::die_rather_than_hang();
        std::optional<worker_executor> on(std::in_place);
        auto env = coflux::make_environment(*on);
        auto task = sleeps(env, 1h);
        (void)gives(env, 1).get();  // the other one sleeps by now
        on.reset();
    };
    EXPECT_DEATH(leaves(), "a worker ends with 1 coroutine on it \\(listed above\\), first .*worker_test.cpp:[0-9]* ");
}

TEST_F(worker_death, names_a_coroutine_that_would_go_on_upon_one_that_is_gone) {
    const auto comes_late = [] {
        coflux_test::die_rather_than_hang();
        std::optional<worker_executor> on(std::in_place);
        auto env = coflux::make_environment(*on);
        coflux::manual_reset_event set;
        const auto waiter = [](coflux::environment&,
                               borrowed<coflux::manual_reset_event> e) -> coflux::task<void, worker_executor> {
            co_await e->wait();
        };
        auto task = waiter(env, borrowed(set));
        (void)gives(env, 1).get();
        on.reset();
        set.set();
    };
    EXPECT_DEATH(comes_late(), "worker_test.cpp:[0-9]* would go on upon a worker that is gone: it outlives what runs");
}

TEST(worker_process, says_that_it_is_not_in_the_child_of_a_process) {
    worker_executor on;
    EXPECT_DEATH(on.execute(std::noop_coroutine()), "a worker that was made before fork\\(\\) is used in the child");
}

}  // namespace

#include <coflux/executor/strand.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/manual_executor.hpp>
#include <support/iterations.hpp>
#include <support/no_hang.hpp>

#include "loose_coroutine.hpp"
#include "watchdog.hpp"

namespace {

using coflux::borrowed;
using coflux::testing::manual_executor;
using coflux_test::loose;
using coflux_test::watchdog;
using pool = coflux::thread_pool_executor;
using serial = coflux::strand<pool>;
using manual_strand = coflux::strand<manual_executor>;
using order = std::vector<int>;

/// Returns when what was posted before has had its turn.
void wait_for_turn(serial& on) {
    std::atomic<bool> came{false};
    on.execute(loose([&came] { came = true; }));
    while (!came) std::this_thread::yield();
}

order up_to(int n) {
    order all;
    for (int i = 0; i < n; ++i) all.push_back(i);
    return all;
}

/// Notices two coroutines that are inside at the same time.
struct exclusive {
    std::atomic<int> inside{0};
    int entered = 0;  // not atomic: ThreadSanitizer sees what the strand does not order
    bool overlapped = false;

    void visit() {
        overlapped = overlapped || inside.fetch_add(1) != 0;
        ++entered;
        inside.fetch_sub(1);
    }
};

coflux::fork<void, serial> visits(coflux::environment&, borrowed<exclusive> x, int times) {
    for (int i = 0; i < times; ++i) {
        x->visit();
        co_await coflux::yield();
    }
}
coflux::task<void, pool> many_visits(coflux::environment&, borrowed<exclusive> x, int forks, int times) {
    auto&& here = co_await coflux::context();
    co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<void> {
        for (int i = 0; i < forks; ++i) scope.spawn(visits, x, times);
        co_return;
    });
}

TEST(strand, runs_one_coroutine_at_a_time) {
    const watchdog guard("visits of a strand");
    for (const std::size_t workers : {1U, 2U, 8U}) {
        pool threads(workers);
        serial on(threads);
        auto env = coflux::make_environment(threads, on);
        exclusive x;
        many_visits(env, borrowed(x), 100, 100).get();
        EXPECT_EQ(x.entered, 100 * 100);
        EXPECT_FALSE(x.overlapped);
    }
}

coflux::fork<void, pool> comes_and_goes(coflux::environment&, borrowed<serial> on, borrowed<pool> threads,
                                        borrowed<exclusive> x, int times) {
    for (int i = 0; i < times; ++i) {
        co_await coflux::resume_on(*on);
        x->visit();
        co_await coflux::resume_on(*threads);
    }
}
coflux::task<void, pool> many_come_and_go(coflux::environment&, borrowed<serial> on, borrowed<pool> threads,
                                          borrowed<exclusive> x) {
    auto&& here = co_await coflux::context();
    co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<void> {
        for (int i = 0; i < 50; ++i) scope.spawn(comes_and_goes, on, threads, x, 100);
        co_return;
    });
}

TEST(strand, excludes_coroutines_that_come_to_it_and_go) {
    const watchdog guard("coroutines that come to a strand and go");
    for (const std::size_t workers : {1U, 2U, 8U}) {
        pool threads(workers);
        serial on(threads);
        auto env = coflux::make_environment(threads, on);
        exclusive x;
        many_come_and_go(env, borrowed(on), borrowed(threads), borrowed(x)).get();
        EXPECT_EQ(x.entered, 50 * 100);
        EXPECT_FALSE(x.overlapped);
    }
}

TEST(strand, excludes_what_many_threads_post) {
    constexpr int threads = 4;
    constexpr int posts = static_cast<int>(coflux_test::repetitions(20'000));
    exclusive x;
    {
        pool below(2);
        serial on(below);
        std::vector<std::thread> posters;
        for (int i = 0; i < threads; ++i) {
            posters.emplace_back([&] {
                for (int n = 0; n < posts; ++n) on.execute(loose([&] { x.visit(); }));
            });
        }
        for (std::thread& t : posters) t.join();
    }
    EXPECT_EQ(x.entered, threads * posts);
    EXPECT_FALSE(x.overlapped);
}

// --- order -----------------------------------------------------------------------------------------------------------

TEST(strand, runs_what_is_posted_from_outside_in_the_order_of_the_posts) {
    order seen;
    {
        pool threads(2);
        serial on(threads);
        for (int i = 0; i < 10'000; ++i) on.execute(loose([&seen, i] { seen.push_back(i); }));
    }
    EXPECT_EQ(seen, up_to(10'000));
}

TEST(strand, runs_what_its_coroutines_post_in_the_order_of_the_posts) {
    for (const int posts : {3, 256, 257, 300, 1000, 5000}) {
        order seen;
        {
            pool threads(2);
            serial on(threads);
            on.execute(loose([&seen, &on, posts] {
                for (int i = 0; i < posts; ++i) on.execute(loose([&seen, i] { seen.push_back(i); }));
            }));
            wait_for_turn(on);
        }
        EXPECT_EQ(seen, up_to(posts));
    }
}

/// Each post that runs posts one more, so that the queue stays as long as it is.
TEST(strand, keeps_the_order_of_more_posts_than_its_own_queue_holds_while_they_go_on) {
    constexpr int length = 700;
    order seen;
    std::atomic<bool> over{false};
    {
        pool threads(1);
        serial on(threads);
        struct poster {
            serial* on;
            order* seen;
            std::atomic<bool>* over;
            int number;
            void operator()() const {
                seen->push_back(number);
                if (number < 9 * length) on->execute(loose(poster{on, seen, over, number + length}));
                if (number == 10 * length - 1) over->store(true);
            }
        };
        on.execute(loose([&] {
            for (int i = 0; i < length; ++i) on.execute(loose(poster{&on, &seen, &over, i}));
        }));
        while (!over) std::this_thread::yield();
    }
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
    EXPECT_EQ(seen.size(), 10U * length);
}

coflux::fork<void, serial> notes(coflux::environment&, borrowed<order> seen, int number) {
    seen->push_back(number);
    co_return;
}
coflux::task<void, serial> makes_many(coflux::environment&, borrowed<order> seen, int forks) {
    auto&& here = co_await coflux::context();
    co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<void> {
        for (int i = 0; i < forks; ++i) scope.spawn(notes, seen, i);
        co_return;
    });
}

TEST(strand, runs_forks_in_the_order_in_which_they_were_made) {
    const watchdog guard("100 000 forks on a strand");
    pool threads(2);
    serial on(threads);
    auto env = coflux::make_environment(on);
    order seen;
    makes_many(env, borrowed(seen), 100'000).get();
    EXPECT_EQ(seen, up_to(100'000));
}

struct waiter_list {
    coflux::manual_reset_event open;
    coflux::manual_reset_event all_wait;
    int waiting = 0;
    order seen;
};
coflux::fork<void, serial> waits(coflux::environment&, borrowed<waiter_list> l, int number, int all) {
    if (++l->waiting == all) l->all_wait.set();
    co_await l->open.wait();
    l->seen.push_back(number);
}
coflux::task<void, serial> opens_for_many(coflux::environment&, borrowed<waiter_list> l, int waiters) {
    auto&& here = co_await coflux::context();
    co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<void> {
        for (int i = 0; i < waiters; ++i) scope.spawn(waits, l, i, waiters);
        co_await l->all_wait.wait();
        l->open.set();
    });
}

TEST(strand, lets_a_thousand_waiters_go_on_in_the_order_in_which_they_came) {
    const watchdog guard("a thousand waiters on a strand");
    pool threads(2);
    serial on(threads);
    auto env = coflux::make_environment(on);
    waiter_list l;
    opens_for_many(env, borrowed(l), 1000).get();
    EXPECT_EQ(l.seen, up_to(1000));
}

// --- turns -----------------------------------------------------------------------------------------------------------

TEST(strand, posts_one_turn_for_what_comes_at_once) {
    manual_executor below;
    manual_strand on(below);
    order seen;
    for (int i = 0; i < 10; ++i) on.execute(loose([&seen, i] { seen.push_back(i); }));
    EXPECT_EQ(below.pending(), 1U);
    EXPECT_TRUE(below.run_one());
    EXPECT_EQ(seen, up_to(10));
    EXPECT_EQ(below.pending(), 0U);
    on.execute(loose([] {}));
    EXPECT_EQ(below.pending(), 1U);
    below.run_all();
}

TEST(strand, goes_to_the_end_of_the_queue_below_after_61_resumptions) {
    manual_executor below;
    manual_strand on(below);
    int ran = 0;
    bool other = false;
    for (int i = 0; i < 100; ++i) on.execute(loose([&ran] { ++ran; }));
    below.execute(loose([&] { other = true; }));
    EXPECT_TRUE(below.run_one());
    EXPECT_GT(ran, 0);
    EXPECT_LE(ran, 61);
    EXPECT_FALSE(other);
    EXPECT_TRUE(below.run_one());
    EXPECT_TRUE(other);
    below.run_all();
    EXPECT_EQ(ran, 100);
}

TEST(strand, runs_nothing_inside_a_post) {
    manual_executor below;
    manual_strand on(below);
    order seen;
    on.execute(loose([&] {
        on.execute(loose([&] { seen.push_back(2); }));
        seen.push_back(1);
    }));
    EXPECT_TRUE(seen.empty());
    below.run_all();
    EXPECT_EQ(seen, (order{1, 2}));
}

// --- the handle ------------------------------------------------------------------------------------------------------

TEST(strand, stands_for_the_same_one_after_a_move) {
    pool threads(2);
    std::optional<serial> first(std::in_place, threads);
    const void* const identity = first->identity();
    auto env = coflux::make_environment(threads, *first);
    exclusive x;
    auto task = many_visits(env, borrowed(x), 20, 100);
    serial second(std::move(*first));
    first.reset();
    serial third(threads);
    third = std::move(second);
    EXPECT_EQ(third.identity(), identity);
    task.get();
    EXPECT_EQ(x.entered, 2000);
    EXPECT_FALSE(x.overlapped);
}

TEST(strand, is_another_one_than_a_second_over_the_same_executor) {
    pool threads(1);
    serial one(threads);
    serial other(threads);
    EXPECT_NE(one.identity(), other.identity());
}

coflux::task<int, pool> has_one_of_its_own(coflux::environment&, borrowed<pool> threads) {
    auto&& here = co_await coflux::context();
    exclusive x;
    auto sub = coflux::make_environment(here, serial(*threads));
    {
        std::vector<coflux::fork<void, serial>> all;
        for (int i = 0; i < 20; ++i) all.push_back(visits(sub, borrowed(x), 20));
        co_await coflux::when_all(std::move(all));
    }
    co_await sub.join();
    co_return x.overlapped ? -1 : x.entered;
}

TEST(strand, is_made_and_dropped_in_a_coroutine) {
    const watchdog guard("a strand in a coroutine");
    for (const std::size_t workers : {1U, 2U}) {
        pool threads(workers);
        auto env = coflux::make_environment(threads);
        for (int i = 0; i < 100; ++i) EXPECT_EQ(has_one_of_its_own(env, borrowed(threads)).get(), 400);
    }
}

TEST(strand, belongs_to_the_environment_that_is_given_it_by_value) {
    const watchdog guard("a strand of an environment");
    pool threads(2);
    for (int i = 0; i < 200; ++i) {
        auto env = coflux::make_environment(threads, serial(threads));
        exclusive x;
        many_visits(env, borrowed(x), 5, 5).get();
        EXPECT_EQ(x.entered, 25);
    }
}

TEST(strand, may_die_right_after_the_last_get) {
    const watchdog guard("the end of a strand");
    for (const std::size_t workers : {1U, 2U}) {
        pool threads(workers);
        for (int i = 0; i < 2000; ++i) {
            serial on(threads);
            auto env = coflux::make_environment(on);
            order seen;
            makes_many(env, borrowed(seen), 2).get();
        }
    }
}

TEST(strand, may_die_in_a_coroutine_that_it_runs) {
    pool threads(1);
    std::atomic<bool> over{false};
    auto on = std::make_unique<serial>(threads);
    serial& posts = *on;
    posts.execute(loose([&over, own = std::move(on)]() mutable {
        own.reset();
        over = true;
    }));
    while (!over) std::this_thread::yield();
}

TEST(strand, runs_what_is_queued_when_it_dies) {
    int ran = 0;
    {
        pool threads(1);
        serial on(threads);
        for (int i = 0; i < 1000; ++i) on.execute(loose([&ran] { ++ran; }));
    }
    EXPECT_EQ(ran, 1000);
}

TEST(strand, costs_nothing_while_a_thousand_are_idle) {
    const watchdog guard("a thousand strands");
    pool threads(2);
    std::vector<serial> all;
    for (int i = 0; i < 1000; ++i) all.emplace_back(threads);
    std::vector<exclusive> x(1000);
    for (int round = 0; round < 10; ++round) {
        for (std::size_t i = 0; i < 1000; ++i) all[i].execute(loose([&x, i] { x[i].visit(); }));
    }
    all.clear();
    { pool ends(std::move(threads)); }
    EXPECT_TRUE(std::all_of(x.begin(), x.end(), [](const exclusive& e) { return e.entered == 10 && !e.overlapped; }));
}

// --- law 8 -----------------------------------------------------------------------------------------------------------

coflux::fork<void, serial> marks(coflux::environment&, borrowed<bool> mark) {
    *mark = true;
    co_return;
}
coflux::fork<void, serial> nothing(coflux::environment&) {
    co_return;
}
struct bystanders {
    bool fork_began = false;
    bool posted_ran = false;
    bool other_ran = false;  // on the pool below

    [[nodiscard]] bool all_ran() const { return fork_began && posted_ran && other_ran; }
};
/// Resumptions before it is served, of one that waits on the strand; turns of the strand, of one that waits below.
constexpr std::size_t stated_bound = 200;
constexpr std::size_t stated_bound_below = stated_bound * 61;
struct steps_until {
    std::size_t served = 0;
    std::size_t all_served = 0;
};
void post_from_outside(bystanders& by, serial& on, pool& threads) {
    std::thread([&] {
        on.execute(loose([&by] { by.posted_ran = true; }));
        threads.execute(loose([&by] { by.other_ran = true; }));
    }).join();
}
coflux::task<steps_until, serial> forks_beside(coflux::environment&, borrowed<bystanders> by, borrowed<serial> on,
                                               borrowed<pool> threads, int before) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < before; ++i) co_await nothing(here);
    auto fork = marks(here, borrowed(by->fork_began));
    post_from_outside(*by, *on, *threads);
    steps_until steps;
    for (; steps.all_served < 100'000 && !by->all_ran(); ++steps.all_served) {
        co_await nothing(here);
        if (!by->fork_began || !by->posted_ran) ++steps.served;
    }
    co_await std::move(fork);
    co_return steps;
}

TEST(strand, lets_all_begin_within_200_steps_of_one_that_forks_and_awaits_for_ever) {
    const watchdog guard("one that forks and awaits for ever on a strand");
    pool threads(1);  // so that other_ran need not be atomic
    serial on(threads);
    auto env = coflux::make_environment(on);
    for (int before = 0; before < 200; before += 7) {
        bystanders by;
        const steps_until steps = forks_beside(env, borrowed(by), borrowed(on), borrowed(threads), before).get();
        EXPECT_LE(steps.served, stated_bound) << before;
        EXPECT_LE(steps.all_served, stated_bound_below) << before;
    }
}

coflux::task<steps_until, serial> yields_beside(coflux::environment&, borrowed<bystanders> by, borrowed<serial> on,
                                                borrowed<pool> threads) {
    auto&& here = co_await coflux::context();
    auto fork = marks(here, borrowed(by->fork_began));
    post_from_outside(*by, *on, *threads);
    steps_until steps;
    for (; steps.all_served < 100'000 && !by->all_ran(); ++steps.all_served) {
        co_await coflux::yield();
        if (!by->fork_began || !by->posted_ran) ++steps.served;
    }
    co_await std::move(fork);
    co_return steps;
}

TEST(strand, lets_all_begin_within_200_steps_of_one_that_yields_for_ever) {
    const watchdog guard("one that yields for ever on a strand");
    pool threads(1);
    serial on(threads);
    auto env = coflux::make_environment(on);
    bystanders by;
    const steps_until steps = yields_beside(env, borrowed(by), borrowed(on), borrowed(threads)).get();
    EXPECT_LE(steps.served, stated_bound);
    EXPECT_LE(steps.all_served, stated_bound_below);
}

// --- checked errors --------------------------------------------------------------------------------------------------

/// Threads of earlier tests may be there: a child that runs from the beginning has none of them.
class strand_death : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
    void TearDown() override { GTEST_FLAG_SET(death_test_style, "fast"); }
};

coflux::task<void, serial> blocks(coflux::environment&, borrowed<coflux::task<void, pool>> other) {
    (void)co_await coflux::context();
    other->get();
}
coflux::task<void, pool> waits_for_ever(coflux::environment&) {
    coflux::manual_reset_event never;
    co_await never.wait();
}

TEST_F(strand_death, dies_of_a_blocking_wait_in_one_of_its_coroutines) {
    const auto waits_on_it = [] {
        coflux_test::die_rather_than_hang();
        pool threads(1);
        serial on(threads);
        auto env = coflux::make_environment(threads, on);
        auto other = waits_for_ever(env);
        blocks(env, borrowed(other)).get();
    };
    EXPECT_DEATH(waits_on_it(), "a blocking wait for .* on a thread that runs coroutines, in .*blocks.*: co_await");
}

TEST_F(strand_death, is_named_where_it_would_go_on_upon_an_executor_that_is_gone) {
    const auto outlives = [](auto below) {
        coflux_test::die_rather_than_hang();
        coflux::strand on(*below);
        below.reset();
        on.execute(std::noop_coroutine());
    };
    EXPECT_DEATH(outlives(std::make_unique<coflux::worker_executor>()),
                 "a strand would go on upon a worker that is gone");
    EXPECT_DEATH(outlives(std::make_unique<coflux::run_loop>()), "a strand would go on upon a run_loop that is gone");
    EXPECT_DEATH(outlives(std::make_unique<pool>(1)), "a strand would go on upon a thread pool that is gone");
}

/// Destroys what it is given.
class destroyer {
public:
    void execute(std::coroutine_handle<> h) noexcept { queued_ = h; }
    void destroy() { queued_.destroy(); }

private:
    std::coroutine_handle<> queued_;
};

TEST_F(strand_death, dies_of_an_executor_that_destroys_its_turn) {
    const auto destroys = [] {
        coflux_test::die_rather_than_hang();
        destroyer below;
        coflux::strand<destroyer> on(below);
        on.execute(std::noop_coroutine());
        below.destroy();
    };
    EXPECT_DEATH(destroys(), "an executor destroys the turn of a strand, where it resumes each handle once");
}

}  // namespace

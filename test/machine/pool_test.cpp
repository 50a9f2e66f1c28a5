// The traffic between the processors of a machine while a pool works, as a function of their number. The page
// docs/design/many_processors.md has the table that these tests print.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>
#include <utility>
#include <vector>

#include <coflux/channel/unbounded_mpsc.hpp>
#include <coflux/combine/when_all.hpp>
#include <coflux/core/context.hpp>
#include <coflux/core/fork.hpp>
#include <coflux/core/make_environment.hpp>
#include <coflux/core/task.hpp>
#include <coflux/core/this_coroutine.hpp>
#include <coflux/executor/thread_pool.hpp>
#include <coflux/sync/manual_reset_event.hpp>
#include <coflux/sync/mutex.hpp>

#include "machine.hpp"

namespace {

using coflux::context, coflux::environment, coflux::make_environment, coflux::task;
namespace machine = coflux::machine;
using pool = coflux::thread_pool_executor;

constexpr unsigned sizes[] = {2, 8, 64, 256};
constexpr machine::tick until_all_park = 5'000'000;

struct watched {
    machine::counts counts;
    machine::tick took = 0;
};
/// Counts from its making on, of all threads.
class watch {
public:
    [[nodiscard]] watched so_far() const { return {machine::counted() - before_, machine::now() - began_}; }

private:
    machine::counts before_ = machine::counted();
    machine::tick began_ = machine::now();
};

struct for_each {
    double locked, moved, far, fences, interrupts, wakes, nanoseconds;

    for_each(const watched& w, std::size_t n)
        : locked(part(w.counts.locked, n)),
          moved(part(w.counts.moved, n)),
          far(part(w.counts.far, n)),
          fences(part(w.counts.fences, n)),
          interrupts(part(w.counts.interrupts, n)),
          wakes(part(w.counts.wakes, n)),
          nanoseconds(part(w.took, n)) {}
    static double part(std::uint64_t of, std::size_t n) { return static_cast<double>(of) / static_cast<double>(n); }
};
void print(const char* what, std::size_t processors, const for_each& f) {
    std::printf("| %-36s | %3zu | %6.2f | %6.2f | %6.2f | %6.3f | %6.2f | %6.3f | %8.1f |\n", what, processors,
                f.locked, f.moved, f.far, f.fences, f.interrupts, f.wakes, f.nanoseconds);
}

coflux::fork<void, pool> leaf(environment&, machine::tick work) {
    machine::compute(work);
    co_return;
}
task<watched, pool> awaits_each_at_once(environment&, std::size_t n) {
    auto&& here = co_await context();
    const watch from_here;
    for (std::size_t i = 0; i < n; ++i) co_await leaf(here, 50);
    co_return from_here.so_far();
}
task<watched, pool> makes_many(environment&, std::size_t n, machine::tick work) {
    auto&& here = co_await context();
    const watch from_here;
    std::vector<coflux::fork<void, pool>> forks;
    forks.reserve(n);
    for (std::size_t i = 0; i < n; ++i) forks.push_back(leaf(here, work));
    co_await coflux::when_all(std::move(forks));
    co_return from_here.so_far();
}
coflux::fork<int, pool> fib(environment&, int n) {
    auto&& here = co_await context();
    machine::compute(20);
    if (n < 2) co_return n;
    auto left = fib(here, n - 1);
    auto right = fib(here, n - 2);
    const int second = co_await std::move(right);
    co_return co_await std::move(left) + second;
}
constexpr std::size_t forks_of_fib_22 = 57'312;
task<watched, pool> makes_a_tree(environment&) {
    auto&& here = co_await context();
    const watch from_here;
    EXPECT_EQ(co_await fib(here, 22), 17'711);
    co_return from_here.so_far();
}
task<void, pool> does_nothing(environment&) {
    co_return;
}

class many_processors : public testing::TestWithParam<unsigned> {
protected:
    many_processors() { machine::become({.processors = GetParam()}); }
    static unsigned n() { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(of, many_processors, testing::ValuesIn(sizes), testing::PrintToStringParamName());

TEST_P(many_processors, a_fork_that_is_awaited_at_once_is_its_makers_alone) {
    pool p(n());
    auto env = make_environment(p);
    machine::compute(until_all_park);
    constexpr std::size_t forks = 20'000;
    const for_each f(awaits_each_at_once(env, forks).get(), forks);
    print("a fork, awaited at once", n(), f);
    EXPECT_LT(f.locked, 1.05);
    EXPECT_LT(f.moved, 0.2);
    EXPECT_LT(f.interrupts, 0.01);
    EXPECT_LT(f.wakes, 0.001);
}

TEST_P(many_processors, a_fork_that_another_takes_costs_the_same_whatever_their_number) {
    pool p(n());
    auto env = make_environment(p);
    machine::compute(until_all_park);
    constexpr machine::tick work = 100'000;
    const std::size_t forks = std::size_t{64} * n();
    const for_each f(makes_many(env, forks, work).get(), forks);
    print("a fork of 100 us, taken by another", n(), f);
    EXPECT_LT(f.locked, 8);
    EXPECT_LT(f.moved, 24);
    EXPECT_LT(f.fences, 0.02);
    EXPECT_LT(f.interrupts, 4);
    EXPECT_LT(f.wakes, 0.03);
    // All of them work: the last one is woken after the time of some forks.
    EXPECT_LT(f.nanoseconds * n(), 1.3 * static_cast<double>(work));
}

TEST_P(many_processors, a_tree_is_shared_by_few_thefts) {
    pool p(n());
    auto env = make_environment(p);
    machine::compute(until_all_park);
    const for_each f(makes_a_tree(env).get(), forks_of_fib_22);
    print("a fork of a tree", n(), f);
    EXPECT_LT(f.locked, 0.5);
    EXPECT_LT(f.moved, 2);
    EXPECT_LT(f.fences, 0.01);
}

TEST_P(many_processors, a_task_from_outside_wakes_one_worker) {
    pool p(n());
    auto env = make_environment(p);
    machine::compute(until_all_park);
    const watch from_here;
    does_nothing(env).get();
    const for_each parked(from_here.so_far(), 1);
    print("a task from outside, all parked", n(), parked);
    EXPECT_LT(parked.locked, 30);
    EXPECT_LT(parked.moved, 30);
    EXPECT_LE(parked.wakes, 2);  // the thread that waits, too
    EXPECT_LT(parked.nanoseconds, 10'000);
    // The place of the searcher in its looks at N workers decides how long one task waits.
    constexpr machine::tick times = 32;
    const watch again;
    for (machine::tick i = 0; i < times; ++i) {
        machine::compute(i * 61);
        does_nothing(env).get();
    }
    for_each looked_for(again.so_far(), times);
    looked_for.nanoseconds -= (times - 1) * 61 / 2.0;
    print("a task from outside, one looks", n(), looked_for);
    EXPECT_LE(looked_for.wakes, 1);
    EXPECT_LT(looked_for.nanoseconds, 3'000);
}

TEST_P(many_processors, a_pool_that_is_parked_does_nothing) {
    pool p(n());
    machine::compute(2'000'000'000);  // until memory has been given back
    const watch from_here;
    machine::compute(1'000'000'000);
    const for_each f(from_here.so_far(), 1);
    print("a second, parked", n(), f);
    EXPECT_EQ(f.locked + f.moved + f.fences + f.wakes, 0);
}

TEST_P(many_processors, a_maker_that_computes_is_held_up_by_few_fences) {
    pool p(n());
    auto env = make_environment(p);
    machine::compute(until_all_park);
    constexpr std::size_t forks = 1'000;
    struct maker {
        static task<watched, pool> computes(environment&) {
            auto&& here = co_await context();
            const watch from_here;
            for (std::size_t i = 0; i < forks; ++i) {
                auto child = leaf(here, 20'000);
                machine::compute(20'000);
                co_await std::move(child);
            }
            co_return from_here.so_far();
        }
    };
    const for_each f(maker::computes(env).get(), forks);
    print("20 us beside a lone fork of 20 us", n(), f);
    EXPECT_LT(f.fences, 2);
    EXPECT_LT(f.interrupts, 3);
    EXPECT_LT(f.moved, 100);
}

/// Takes a lock again as soon as it has given it up.
coflux::fork<void, pool> takes_turns(environment&, coflux::borrowed<coflux::mutex> lock, std::size_t times) {
    for (std::size_t i = 0; i != times; ++i) {
        const auto guard = co_await lock->lock();
        if (i == 0) co_await coflux::yield();  // the others come for it meanwhile, and it is handed on from then on
    }
}
task<watched, pool> hands_a_lock_on(environment&, std::size_t tasks, std::size_t times) {
    auto&& here = co_await context();
    coflux::mutex lock;
    const watch from_here;
    std::vector<coflux::fork<void, pool>> all;
    for (std::size_t i = 0; i != tasks; ++i) all.push_back(takes_turns(here, coflux::borrowed(lock), times));
    co_await coflux::when_all(std::move(all));
    co_return from_here.so_far();
}
TEST_P(many_processors, a_lock_that_is_handed_on_stays_with_a_worker) {
    pool p(n());
    auto env = make_environment(p);
    machine::compute(until_all_park);
    constexpr std::size_t tasks = 8;
    constexpr std::size_t times = 5'000;
    const for_each f(hands_a_lock_on(env, tasks, times).get(), tasks * times);
    print("a lock handed on among 8 tasks", n(), f);
    EXPECT_LT(f.moved, 0.5);
    EXPECT_LT(f.wakes, 0.0005);
}

/// Sends on and on, and gives way now and then.
coflux::fork<void, pool> sends(environment&, coflux::unbounded_mpsc_sender<int> to, int values) {
    for (int i = 1; i <= values; ++i) {
        machine::compute(50);
        (void)to.send(i);
        if (i % 64 == 0) co_await coflux::yield();
    }
}
coflux::fork<int, pool> receives(environment&, coflux::mpsc_receiver<int> from) {
    int last = 0;
    while (const auto got = co_await from.receive()) {
        machine::compute(20);
        last = *got;
    }
    co_return last;
}
task<watched, pool> sends_and_receives(environment&, int values) {
    auto&& here = co_await context();
    auto [to, from] = coflux::make_unbounded_mpsc<int>();
    const watch from_here;
    auto sender = sends(here, std::move(to), values);
    auto receiver = receives(here, std::move(from));
    co_await std::move(sender);
    EXPECT_EQ(co_await std::move(receiver), values);
    co_return from_here.so_far();
}
TEST_P(many_processors, two_that_wake_each_other_gather_on_one_worker) {
    pool p(n());
    auto env = make_environment(p);
    machine::compute(until_all_park);
    constexpr int values = 20'000;
    const for_each f(sends_and_receives(env, values).get(), values);
    print("a value, sent 64 in a row", n(), f);
    EXPECT_LT(f.moved, 0.7);
}

/// The steps of one that runs alone for a while before it wakes another.
constexpr machine::tick step = 5'000;
constexpr std::size_t steps = 1'000;
coflux::fork<void, pool> steps_of(environment&, coflux::borrowed<coflux::manual_reset_event> begin, bool is_first) {
    if (!is_first) co_await begin->wait();
    for (std::size_t i = 0; is_first && i != steps; ++i) {
        machine::compute(step);
        co_await coflux::yield();
    }
    if (is_first) begin->set();
    for (std::size_t i = 0; i != steps; ++i) {
        machine::compute(step);
        co_await coflux::yield();
    }
}
task<watched, pool> two_give_way(environment&) {
    auto&& here = co_await context();
    coflux::manual_reset_event begin;
    const watch from_here;
    auto first = steps_of(here, coflux::borrowed(begin), true);
    auto second = steps_of(here, coflux::borrowed(begin), false);
    co_await coflux::when_all(std::move(first), std::move(second));
    co_return from_here.so_far();
}
TEST_P(many_processors, two_that_only_give_way_get_a_worker_each) {
    pool p(n());
    auto env = make_environment(p);
    machine::compute(until_all_park);
    const for_each f(two_give_way(env).get(), 2 * steps);
    print("5 us, one alone and then two", n(), f);
    EXPECT_LT(f.nanoseconds, 1.1 * static_cast<double>(step));
}

TEST(two_nodes, thefts_of_a_pinned_pool_stay_near) {
    const auto far_of = [](bool pin) {
        machine::become({.processors = 64, .nodes = 2});
        pool p(coflux::thread_pool_options{.threads = 64, .pin = pin});
        auto env = make_environment(p);
        machine::compute(until_all_park);
        const for_each f(makes_a_tree(env).get(), forks_of_fib_22);
        print(pin ? "a fork of a tree, two nodes, pinned" : "a fork of a tree, two nodes", 64, f);
        return f.far / f.moved;
    };
    const double anywhere = far_of(false);
    const double pinned = far_of(true);
    EXPECT_LT(pinned, anywhere / 2);
}

}  // namespace

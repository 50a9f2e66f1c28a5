// The priorities of a pool: what goes first, how long the others wait for it, and that nothing is lost on the way.
#include <coflux/executor/priority.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <support/iterations.hpp>
#include <support/no_hang.hpp>
#include <support/witness.hpp>

#include "loose_coroutine.hpp"
#include "watchdog.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::priority;
using coflux_test::flag;
using coflux_test::loose;
using coflux_test::watchdog;
using pool = coflux::thread_pool_executor;
using high = coflux::prioritised<priority::high>;
using low = coflux::prioritised<priority::low>;

/// Where a test gives up: a failure instead of a hang.
constexpr std::size_t give_up = 1'000'000;
constexpr std::size_t ticks = 61;       // of a round, at most
constexpr std::size_t high_rounds = 3;  // of high priority, to one of the others

// All up to the stress runs on a pool of one worker, so that what is counted need not be atomic.

/// Keeps the only worker until it dies.
class occupied {
public:
    explicit occupied(pool& p) {
        p.execute(loose([this] {
            begun_.set();
            goes_on_.wait();
            left_.set();
        }));
        begun_.wait();
    }
    ~occupied() {
        goes_on_.set();
        left_.wait();
    }

private:
    flag begun_, goes_on_, left_;
};

TEST(priority, runs_high_then_the_others_then_low) {
    std::string log;
    {
        pool p(1);
        const occupied worker(p);
        const auto note = [&log](char c) { return loose([&log, c] { log += c; }); };
        for (int i = 0; i < 3; ++i) {
            p.at<priority::low>().execute(note('l'));
            p.execute(note('n'));
            p.at<priority::high>().execute(note('h'));
        }
    }
    EXPECT_EQ(log, "hhhnnnlll");
}

TEST(priority, keeps_the_order_of_one_priority) {
    std::vector<int> of_high;
    std::vector<int> of_low;
    {
        pool p(1);
        const occupied worker(p);
        for (int i = 0; i < 1000; ++i) {
            p.at<priority::high>().execute(loose([&of_high, i] { of_high.push_back(i); }));
            p.at<priority::low>().execute(loose([&of_low, i] { of_low.push_back(i); }));
        }
    }
    std::vector<int> expected(1000);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(of_high, expected);
    EXPECT_EQ(of_low, expected);
}

TEST(priority, is_one_executor_for_a_pool_also_when_that_moves) {
    pool p(1);
    const auto before = p.at<priority::high>();
    pool moved(std::move(p));
    EXPECT_EQ(before.identity(), moved.at<priority::high>().identity());
    EXPECT_NE(before.identity(), moved.at<priority::low>().identity());
    EXPECT_NE(before.identity(), moved.identity());
    flag ran;
    high(before).execute(loose([&ran] { ran.set(); }));
    ran.wait();
}

coflux::fork<bool> runs_on(coflux::environment&, borrowed<low> expected) {
    const auto on = co_await coflux::this_coroutine::executor();
    co_await coflux::yield();
    co_await coflux::sleep_for(1us);
    co_return on.is(*expected) && coflux::detail::this_thread.serves(expected->identity());
}

coflux::task<bool, low> asks_its_child(coflux::environment&, borrowed<low> expected) {
    auto&& here = co_await coflux::context();
    co_return co_await runs_on(here, expected);
}

TEST(priority, is_that_of_children_that_name_no_executor) {
    pool p(1);
    auto background = p.at<priority::low>();
    auto env = coflux::make_environment(p, background);
    EXPECT_TRUE(asks_its_child(env, borrowed(background)).get());
}

coflux::task<bool, pool> goes_there_and_back(coflux::environment&, borrowed<pool> p) {
    auto background = p->at<priority::low>();
    co_await coflux::resume_on(background);
    const auto on = co_await coflux::this_coroutine::executor();
    co_await coflux::resume_on(*p);
    const auto back_on = co_await coflux::this_coroutine::executor();
    co_return on.is(background) && back_on.is(*p);
}

TEST(priority, is_gone_to_by_any_object_of_it) {
    pool p(1);
    auto env = coflux::make_environment(p, p.at<priority::low>());
    EXPECT_TRUE(goes_there_and_back(env, borrowed(p)).get());
}

coflux::fork<int, high> twice_soon(coflux::environment&, int n) {
    co_return 2 * n;
}
coflux::task<int, low> asks_soon(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const int n = co_await twice_soon(here, 2);
    co_return co_await twice_soon(here, n);
}

TEST(priority, is_chosen_by_type) {
    pool p(1);
    auto env = coflux::make_environment(p.at<priority::low>(), p.at<priority::high>());
    EXPECT_EQ(asks_soon(env).get(), 8);
}

coflux::task<std::size_t, low> waits_for_others(coflux::environment&) {
    auto [a, b] = coflux::unix_stream::pair();
    std::array<std::byte, 1> byte{};
    co_await coflux::sleep_for(1ms);
    const auto never = co_await coflux::timeout(b.read_some(byte), 1ms);
    EXPECT_TRUE(never.timed_out());
    co_await a.write_all(byte);
    co_return co_await b.read_some(byte);
}

/// The names of the threads of this process.
std::set<std::string> threads() {
    std::set<std::string> names;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::getline(std::ifstream(task.path() / "comm"), name);
        names.insert(name);
    }
    return names;
}

TEST(priority, has_the_timers_and_descriptors_of_the_pool) {
    const auto before = threads();
    pool p(2);
    auto env = coflux::make_environment(p.at<priority::low>());
    EXPECT_EQ(waits_for_others(env).get(), 1U);
    for (const char* const shared : {"coflux-io", "coflux-timers"})
        EXPECT_EQ(threads().contains(shared), before.contains(shared)) << shared;
}

// --- how long the others wait ----------------------------------------------------------------------------------------

coflux::fork<void, pool> nothing(coflux::environment&) {
    co_return;
}

/// Queues `f` as a thread that does not belong to the pool does, and returns when it is queued.
template <typename Executor, typename F>
void inject(Executor e, F f) {
    std::thread([&] { e.execute(loose(std::move(f))); }).join();
}

template <typename Step>
coflux::call<std::size_t> steps_until_high(coflux::environment&, pool& p, std::size_t before, Step step) {
    for (std::size_t i = 0; i < before; ++i) co_await step();
    bool served = false;
    inject(p.at<priority::high>(), [&] { served = true; });
    std::size_t steps = 0;
    for (; !served && steps < give_up; ++steps) co_await step();
    co_return steps;
}

coflux::task<std::size_t, pool> forks_until_high(coflux::environment&, borrowed<pool> p, std::size_t before) {
    auto&& here = co_await coflux::context();
    co_return co_await steps_until_high(here, *p, before, [&here] { return nothing(here); });
}
coflux::task<std::size_t, pool> yields_until_high(coflux::environment&, borrowed<pool> p, std::size_t before) {
    auto&& here = co_await coflux::context();
    co_return co_await steps_until_high(here, *p, before, [] { return coflux::yield(); });
}

TEST(priority, serves_high_at_the_next_round) {
    pool p(1);
    auto env = coflux::make_environment(p);
    for (std::size_t before = 0; before < 300; before += 7) {
        EXPECT_LE(forks_until_high(env, borrowed(p), before).get(), ticks + 1) << "after " << before << " forks";
        EXPECT_LE(yields_until_high(env, borrowed(p), before).get(), ticks + 1) << "after " << before << " yields";
    }
}

/// The steps of two that yield for ever.
struct turns {
    std::size_t of_high = 0;
    std::size_t of_others = 0;
    std::size_t longest_wait = 0;  // of the others, in steps of high priority
    std::size_t last = 0;
    bool enough = false;
};

coflux::fork<void, high> yields_at_high(coflux::environment&, borrowed<turns> t) {
    while (!t->enough) {
        ++t->of_high;
        co_await coflux::yield();
    }
}
coflux::task<void, pool> yields_beside_high(coflux::environment&, borrowed<turns> t) {
    auto&& here = co_await coflux::context();
    yields_at_high(here, t).attach();
    t->last = t->of_high;
    while (t->of_high < give_up / 10) {
        ++t->of_others;
        t->longest_wait = std::max(t->longest_wait, t->of_high - std::exchange(t->last, t->of_high));
        co_await coflux::yield();
    }
    t->enough = true;
}

TEST(priority, gives_the_others_one_round_to_three_of_high) {
    pool p(1);
    auto env = coflux::make_environment(p, p.at<priority::high>());
    turns t;
    yields_beside_high(env, borrowed(t)).get();
    EXPECT_LE(t.longest_wait, high_rounds * ticks);
    EXPECT_GE(t.of_others, t.of_high / 10);
    EXPECT_LE(t.of_others, t.of_high / 2);
}

coflux::task<void, pool> runs_beside_for_ever(coflux::environment&, borrowed<flag> served, bool forks) {
    auto&& here = co_await coflux::context();
    while (!served->is_set()) {
        if (forks) {
            co_await nothing(here);
        } else {
            co_await coflux::yield();
        }
    }
}
coflux::task<void, high> runs_at_high_for_ever(coflux::environment&, borrowed<flag> served) {
    while (!served->is_set()) co_await coflux::yield();
}

TEST(priority, starves_low_beside_none) {
    const watchdog guard("one of low priority beside others that go on for ever");
    pool p(1);
    auto env = coflux::make_environment(p, p.at<priority::high>());
    for (int i = 0; i < 10; ++i) {
        flag served;
        auto forks = runs_beside_for_ever(env, borrowed(served), true);
        auto yields = runs_beside_for_ever(env, borrowed(served), false);
        auto urgent = runs_at_high_for_ever(env, borrowed(served));
        inject(p.at<priority::low>(), [&served] { served.set(); });
        forks.join();
        yields.join();
        urgent.join();
    }
}

// --- waking, stopping, ending ----------------------------------------------------------------------------------------

void stand_by(std::uint32_t times) {
    for (std::uint32_t i = 0; i < times; ++i) coflux::detail::cpu_pause();
}
void wait_for(const std::atomic<std::size_t>& done, std::size_t wanted) {
    for (std::size_t looks = 1; done.load(std::memory_order_acquire) < wanted; ++looks) {
        if (looks % 64 == 0) std::this_thread::yield();
        coflux::detail::cpu_pause();
    }
}

TEST(priority, wakes_workers_that_park) {
    const watchdog guard("a round with workers that park");
    std::atomic<std::size_t> done{0};
    for (const std::size_t workers : {1U, 2U}) {
        pool p(coflux::thread_pool_options{.threads = workers, .spin = 0ns});
        std::mt19937 random(static_cast<std::uint32_t>(workers));
        for (std::size_t round = 0; round < coflux_test::race_rounds / 2; ++round) {
            const std::size_t before = done.load();
            const auto count = [&done] { return loose([&done] { done.fetch_add(1, std::memory_order_release); }); };
            const std::uint32_t bits = random();
            if (bits % 2 == 0) {
                p.at<priority::high>().execute(count());
            } else {
                p.at<priority::low>().execute(count());
            }
            wait_for(done, before + 1);
            stand_by(bits % 8 == 0 ? bits >> 8 & 2047 : bits >> 8 & 63);
        }
    }
}

template <typename Executor>
coflux::fork<void, Executor> holds(coflux::environment&, borrowed<std::atomic<std::size_t>> arrived,
                                   std::size_t wanted) {
    arrived->fetch_add(1, std::memory_order_release);
    wait_for(*arrived, wanted);
    co_return;
}
coflux::task<void, pool> needs_both_workers(coflux::environment&) {
    auto&& here = co_await coflux::context();
    std::atomic<std::size_t> arrived{0};
    for (std::size_t round = 1; round <= coflux_test::race_rounds / 20; ++round) {
        auto a = holds<low>(here, borrowed(arrived), 2 * round);
        auto b = holds<high>(here, borrowed(arrived), 2 * round);
        co_await coflux::when_all(std::move(a), std::move(b));
    }
}

TEST(priority, brings_a_second_worker_to_what_a_worker_queues) {
    const watchdog guard("two of other priorities that wait for each other");
    pool p(coflux::thread_pool_options{.threads = 2, .spin = 5us});
    auto env = coflux::make_environment(p, p.at<priority::high>(), p.at<priority::low>());
    needs_both_workers(env).get();
}

TEST(priority, runs_what_is_queued_when_the_pool_ends) {
    const watchdog guard("the end of a pool with queued work");
    for (const std::size_t workers : {1U, 2U, 4U}) {
        std::atomic<std::size_t> ran{0};
        std::optional<pool> p(std::in_place, workers);
        for (int i = 0; i < 1000; ++i) {
            auto below = p->at<priority::low>();
            p->at<priority::high>().execute(
                loose([below, &ran]() mutable { below.execute(loose([&ran] { ++ran; })); }));
        }
        p.reset();
        ASSERT_EQ(ran.load(), 1000U) << workers << " workers";
    }
}

coflux::task<void, low> sleeps(coflux::environment&, borrowed<flag> begun) {
    begun->set();
    co_await 10h;
}

TEST(priority, is_a_stop_point_as_on_the_pool) {
    pool p(1);
    auto env = coflux::make_environment(p.at<priority::low>());
    flag begun;
    auto t = sleeps(env, borrowed(begun));
    begun.wait();
    env.request_stop();
    EXPECT_THROW(t.get(), coflux::task_stopped);
}

TEST(priority_death, names_what_sleeps_on_a_pool_that_ends) {
    const auto ends_early = [] {
        coflux_test::die_rather_than_hang();
        std::optional<pool> p(std::in_place, 1U);
        auto env = coflux::make_environment(p->at<priority::low>());
        flag begun;
        auto t = sleeps(env, borrowed(begun));
        begun.wait();
        while (p->counters()[0].sleeps == 0) {}
        p.reset();
    };
    EXPECT_DEATH(ends_early(), "ends with 1 coroutine on it .*sleeps");
}

coflux::task<void, high> waits(coflux::environment&, borrowed<coflux::manual_reset_event> event, borrowed<flag> begun) {
    begun->set();
    co_await event->wait();
}

TEST(priority_death, names_what_goes_on_upon_a_pool_that_is_gone) {
    const auto goes_on_late = [] {
        coflux_test::die_rather_than_hang();
        std::optional<pool> p(std::in_place, 1U);
        auto env = coflux::make_environment(p->at<priority::high>());
        coflux::manual_reset_event event;
        flag begun;
        auto t = waits(env, borrowed(event), borrowed(begun));
        begun.wait();
        while (p->counters()[0].sleeps == 0) {}
        p.reset();
        event.set();
    };
    EXPECT_DEATH(goes_on_late(), "waits at .* would go on upon a thread pool that is gone");
}

// --- all of it at once -----------------------------------------------------------------------------------------------

struct load {
    coflux::mutex lock;
    std::size_t guarded = 0;  // under the lock
    std::atomic<std::size_t> alive{0};
};

template <typename Executor>
coflux::fork<std::size_t, Executor> spreads(coflux::environment&, borrowed<load> l, unsigned depth,
                                            std::uint32_t seed) {
    auto&& here = co_await coflux::context();
    struct counted {
        explicit counted(std::atomic<std::size_t>& in) noexcept : n(in) { ++n; }
        ~counted() { --n; }
        std::atomic<std::size_t>& n;
    } const me(l->alive);
    std::mt19937 random(seed);
    if (random() % 4 == 0) co_await coflux::yield();
    if (random() % 8 == 0) co_await coflux::sleep_for(1us);
    {
        const auto held = co_await l->lock.lock();
        ++l->guarded;
    }
    std::size_t below = 1;
    if (depth != 0) {
        auto a = spreads<pool>(here, l, depth - 1, random());
        auto b = spreads<high>(here, l, depth - 1, random());
        auto c = spreads<low>(here, l, depth - 1, random());
        const auto [x, y, z] = co_await coflux::when_all(std::move(a), std::move(b), std::move(c));
        below += x + y + z;
    }
    co_return below;
}

coflux::task<std::size_t, pool> spreads_from(coflux::environment&, borrowed<load> l, unsigned depth,
                                             std::uint32_t seed) {
    auto&& here = co_await coflux::context();
    co_return co_await spreads<pool>(here, l, depth, seed);
}

TEST(priority, loses_nothing_in_trees_of_all_priorities) {
    const watchdog guard("a tree of forks of all priorities");
    constexpr std::size_t nodes = (2187 - 1) / 2;  // of 6 levels below the root: (3^7 - 1) / 2
    for (const std::size_t workers : {1U, 2U, 4U}) {
        pool p(workers);
        auto env = coflux::make_environment(p, p.at<priority::high>(), p.at<priority::low>());
        for (std::uint32_t round = 0; round < 10; ++round) {
            load l;
            EXPECT_EQ(spreads_from(env, borrowed(l), 6, round).get(), nodes);
            EXPECT_EQ(l.guarded, nodes);
        }
    }
}

TEST(priority, leaves_none_behind_where_a_stop_comes) {
    const watchdog guard("a stop of a tree of all priorities");
    pool p(coflux::thread_pool_options{.threads = 2, .spin = 0ns});
    for (std::uint32_t round = 0; round < 60; ++round) {
        auto env = coflux::make_environment(p, p.at<priority::high>(), p.at<priority::low>());
        load l;
        auto t = spreads_from(env, borrowed(l), 5, round);
        stand_by(round * round * 40);
        env.request_stop();
        try {
            (void)t.get();
        } catch (const coflux::task_stopped&) {}
        EXPECT_EQ(l.alive.load(), 0U);
    }
}

}  // namespace

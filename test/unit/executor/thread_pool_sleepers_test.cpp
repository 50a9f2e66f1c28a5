// After many races between waking and parking the pool still knows which workers are parked: a worker that works while
// it is listed would be woken in place of a parked one, and would keep all of them from parking without a limit.
//
// Like law 7 these tests need the clock: whether a worker is parked shows in an interval.
#include <coflux/executor/thread_pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include <sched.h>

#include <coflux/coflux.hpp>
#include <support/cpu_clock.hpp>
#include <support/iterations.hpp>

#include "loose_coroutine.hpp"
#include "watchdog.hpp"

namespace {

using coflux_test::loose;
using coflux_test::process_cpu_time;
using coflux_test::voluntary_switches;
using coflux_test::watchdog;
using pool = coflux::thread_pool_executor;

/// A switch that is waited for without using the processor.
class signal {
public:
    void set() {
        const std::lock_guard<std::mutex> guard(lock_);
        set_ = true;
        changed_.notify_all();
    }
    void wait() {
        std::unique_lock<std::mutex> guard(lock_);
        changed_.wait(guard, [this] { return set_; });
    }
    /// False if it was not set in time.
    bool wait_for(std::chrono::milliseconds longest) {
        std::unique_lock<std::mutex> guard(lock_);
        return changed_.wait_for(guard, longest, [this] { return set_; });
    }

private:
    std::mutex lock_;
    std::condition_variable changed_;
    bool set_ = false;
};

/// Keeps the calling thread off one processor: a thread that races with another must not wait for its processor.
class elsewhere {
public:
    elsewhere() { sched_getaffinity(0, sizeof all_, &all_); }
    ~elsewhere() { sched_setaffinity(0, sizeof all_, &all_); }
    elsewhere(const elsewhere&) = delete;
    elsewhere& operator=(const elsewhere&) = delete;

    /// Off the processor where a pool's pinned worker n is.
    void avoid(std::size_t n) {
        cpu_set_t others = all_;
        CPU_CLR(order_[n % order_.size()], &others);
        sched_setaffinity(0, sizeof others, &others);  // refused where there is only one
    }

private:
    cpu_set_t all_;
    std::vector<unsigned> order_ = coflux::topology::of_this_process().binding_order();
};

/// Wakes workers just when they park.
class race {
public:
    /// `p` has pinned workers.
    explicit race(pool& p) noexcept : pool_(p) {}

    /// Until a wake-up went to a worker that did not need it any more, but no more than `longest` rounds, and a second:
    /// beside other programs each round waits for a processor.
    void run(std::size_t longest) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
        while (longest-- != 0 && std::chrono::steady_clock::now() < end && !left_a_wake_up_behind()) {}
    }

private:
    /// Queues a coroutine, and a second one when the worker that ran the first one is about to park. That is right
    /// between a second that comes too early to find that worker parked and one that comes late enough to wake it.
    bool left_a_wake_up_behind() {
        const auto before = pool_.counters();
        run_one();
        pass(gap_);
        run_one();
        for (int i = 0; i < 400; ++i) coflux::detail::cpu_pause();  // all workers are parked again
        const auto after = pool_.counters();
        const std::uint64_t slept[] = {after[0].sleeps - before[0].sleeps, after[1].sleeps - before[1].sleeps};
        const std::size_t racer = slept[1] > slept[0] ? 1 : 0;
        elsewhere_.avoid(racer);  // the last to park is the first to be woken: most often the same one
        const bool late = slept[racer] == 2 && slept[1 - racer] == 0;  // it slept between the two
        gap_ = late ? gap_ - gap_ / 16 : gap_ + gap_ / 16 + 1;
        if (gap_ > longest_gap) gap_ = shortest_gap;  // on a busy machine the counters say too little
        return slept[racer] > 2;                      // the wake-up that was left behind ended one park at once
    }
    void run_one() {
        const std::size_t before = done_.load(std::memory_order_acquire);
        pool_.execute(loose([this] {
            done_.fetch_add(1, std::memory_order_release);
            pass(2000);  // this thread needs longer to see it than the worker to park: a head start
        }));
        for (std::size_t looks = 1; done_.load(std::memory_order_acquire) == before; ++looks) {
            if (looks % 64 == 0) std::this_thread::yield();
            coflux::detail::cpu_pause();
        }
    }
    static void pass(std::uint32_t steps) {
        for (std::uint32_t i = 0; i < steps; ++i) asm volatile("");
    }

    static constexpr std::uint32_t shortest_gap = 2000, longest_gap = 100'000;

    pool& pool_;
    elsewhere elsewhere_;
    std::atomic<std::size_t> done_{0};
    std::uint32_t gap_ = shortest_gap;
};

/// Occupies one worker until it is released.
class holder {
public:
    explicit holder(pool& p) : pool_(p) {
        p.execute(loose([this] {
            held_.set();
            let_go_.wait();
            ended_.set();
        }));
        held_.wait();
    }
    /// Until the worker has parked, if the other workers are held or parked already.
    void release() {
        const std::uint64_t before = sleeps();
        let_go_.set();
        ended_.wait();
        while (sleeps() == before) std::this_thread::yield();
    }

private:
    [[nodiscard]] std::uint64_t sleeps() const {
        const auto all = pool_.counters();
        return std::accumulate(all.begin(), all.end(), std::uint64_t{0},
                               [](std::uint64_t sum, const auto& worker) { return sum + worker.sleeps; });
    }

    pool& pool_;
    signal held_, let_go_, ended_;
};

/// While one worker is held, what comes from outside is for the other, which is parked. False if that one is not woken.
bool reaches_the_other_worker(pool& p, bool first_sleeps_first) {
    {
        // The worker that parks last is woken first. Work that comes while both are busy is for the one that is free
        // first.
        holder first(p), second(p);
        p.execute(loose([] {}));
        (first_sleeps_first ? first : second).release();
        (first_sleeps_first ? second : first).release();
    }
    signal taken;
    holder busy(p);
    std::this_thread::sleep_for(
        std::chrono::milliseconds(25));  // two watch periods: a worker that looks again by itself has done so
    p.execute(loose([&taken] { taken.set(); }));
    const bool reached = taken.wait_for(std::chrono::seconds(20));  // only one that is not woken takes so long
    busy.release();
    taken.wait();
    return reached;
}

/// By the clock: what is asked is that nothing happens for a time. Two that look again each 10 ms park 12 times in it.
/// This thread does so once, a sanitizer's own now and then. On a busy machine the workers come late to their rest.
bool all_come_to_rest() {
    for (int windows = 0; windows < 100; ++windows) {
        const std::size_t switches = voluntary_switches();
        const auto before = process_cpu_time();
        std::this_thread::sleep_for(std::chrono::milliseconds(60));
        const bool is_quiet = process_cpu_time() - before < std::chrono::microseconds(2500);
        if (is_quiet && voluntary_switches() - switches < 6) return true;
    }
    return false;
}

// Not every batch leaves a wake-up behind.
constexpr int batches = 4;
constexpr std::size_t rounds_per_batch = coflux_test::repetitions(1'000);

class thread_pool_sleepers : public testing::Test {
protected:
    const watchdog guard_{"races between waking and parking"};
    pool pool_{coflux::thread_pool_options{.threads = 2, .pin = true, .spin = std::chrono::nanoseconds(0)}};
    race race_{pool_};
};

TEST_F(thread_pool_sleepers, are_woken_by_outside_work_while_another_worker_is_busy) {
    for (int batch = 0; batch < batches; ++batch) {
        race_.run(rounds_per_batch);
        for (const bool first_sleeps_first : {false, true}) {
            ASSERT_TRUE(reaches_the_other_worker(pool_, first_sleeps_first)) << "batch " << batch;
        }
    }
}

TEST_F(thread_pool_sleepers, look_for_nothing_once_all_of_them_sleep) {
    for (int batch = 0; batch < batches; ++batch) {
        race_.run(rounds_per_batch);
        ASSERT_TRUE(all_come_to_rest()) << "batch " << batch;
    }
}

}  // namespace

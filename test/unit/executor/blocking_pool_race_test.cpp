// Stops, ends and new calls on a blocking pool that race each other.
#include <coflux/executor/blocking_pool.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "support/iterations.hpp"
#include "support/random_numbers.hpp"
#include "watchdog.hpp"

namespace {

using coflux::borrowed;
using coflux_test::random_numbers;
using coflux_test::watchdog;
using blockers = coflux::blocking_pool;
using noop = coflux::noop_executor;
using pool = coflux::thread_pool_executor;

constexpr std::size_t rounds = coflux_test::repetitions(16'000);

void pass_time(std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) asm volatile("");
}

/// An object that a function writes and reads must be alive: `intact` until it dies.
struct checked {
    static constexpr std::uint32_t intact = 0x5eed;
    std::uint32_t word = intact;
    checked() = default;
    checked(const checked&) = delete;
    checked& operator=(const checked&) = delete;
    ~checked() { word = 0; }
};

struct tally {
    std::atomic<std::size_t> ran{0};
    std::atomic<std::size_t> broken{0};
};

template <typename E>
coflux::task<std::uint64_t, E> borrows(coflux::environment&, borrowed<blockers> threads, borrowed<tally> t,
                                       std::uint64_t work) {
    checked local;
    co_return co_await coflux::blocking(*threads, [&] {
        pass_time(work);
        if (local.word != checked::intact) ++t->broken;
        ++t->ran;
        return work;
    });
}
template <typename E>
coflux::task<std::uint64_t, E> owns(coflux::environment&, borrowed<blockers> threads, borrowed<tally> t,
                                    std::uint64_t work) {
    auto kept = std::make_unique<checked>();
    co_return co_await coflux::blocking(
        *threads, coflux::abandon_on_stop,
        [](tally* to, const std::unique_ptr<checked>& c, std::uint64_t n) {
            pass_time(n);
            if (c->word != checked::intact) ++to->broken;
            ++to->ran;
            return n;
        },
        &t.get(), std::move(kept), work);
}

/// Calls, and stops at random moments; every call is made at most once, and has one outcome.
template <typename E, typename... Executors>
void race(std::size_t cap, std::chrono::nanoseconds idle_timeout, std::uint64_t seed, Executors&... executors) {
    const watchdog guard("stops that race the ends of blocking calls");
    tally all;
    std::size_t values = 0;
    std::size_t stops = 0;
    {
        blockers threads({.max_threads = cap, .idle_timeout = idle_timeout});
        auto env = coflux::make_environment(executors...);
        random_numbers random(seed);
        for (std::size_t i = 0; i < rounds; i += 4) {
            std::vector<coflux::task<std::uint64_t, E>> calls;
            for (int n = 0; n < 4; ++n) {
                const std::uint64_t work = random.below(2000);
                calls.push_back(random.one_in(2) ? borrows<E>(env, borrowed(threads), borrowed(all), work)
                                                 : owns<E>(env, borrowed(threads), borrowed(all), work));
            }
            pass_time(random.below(20'000));
            for (auto& t : calls) {
                if (random.one_in(2)) t.request_stop();
            }
            for (auto& t : calls) {
                try {
                    (void)t.get();
                    ++values;
                } catch (const coflux::task_stopped&) {
                    ++stops;
                }
            }
        }
    }  // waits for what was abandoned
    EXPECT_EQ(values + stops, (rounds + 3) / 4 * 4);
    EXPECT_GE(all.ran, values) << "a value without a call";
    EXPECT_LE(all.ran, values + stops) << "a call that was made twice";
    EXPECT_EQ(all.broken, 0U);
    EXPECT_GT(values, 0U);
    EXPECT_GT(stops, 0U);
}

TEST(blocking_pool_race, of_stops_and_ends_has_one_outcome_for_each_call) {
    pool workers(2);
    race<pool>(2, std::chrono::seconds(10), 1, workers);
}
TEST(blocking_pool_race, of_stops_and_ends_in_coroutines_without_an_executor_has_one_outcome_for_each_call) {
    race<noop>(3, std::chrono::seconds(10), 2);
}
TEST(blocking_pool_race, of_calls_and_threads_that_leave_loses_no_call) {
    pool workers(2);
    race<pool>(3, std::chrono::nanoseconds(0), 3, workers);
    race<pool>(3, std::chrono::nanoseconds(20'000), 4, workers);
}

coflux::task<int, pool> adds(coflux::environment&, borrowed<blockers> threads, int n) {
    int sum = 0;
    for (int i = 0; i < n; ++i) sum += co_await coflux::blocking(*threads, [] { return 1; });
    co_return sum;
}
TEST(blocking_pool_race, of_many_callers_loses_no_call) {
    const watchdog guard("many callers of a blocking pool");
    pool workers(2);
    for (const auto timeout :
         {std::chrono::nanoseconds(0), std::chrono::nanoseconds(50'000), std::chrono::nanoseconds::max()}) {
        blockers threads({.max_threads = 4, .idle_timeout = timeout});
        auto env = coflux::make_environment(workers);
        std::vector<coflux::task<int, pool>> all;
        const int each = static_cast<int>(coflux_test::repetitions(400));
        for (int i = 0; i < 16; ++i) all.push_back(adds(env, borrowed(threads), each));
        for (auto& t : all) EXPECT_EQ(t.get(), each);
        EXPECT_LE(threads.counters().threads, 4U);
        EXPECT_EQ(threads.counters().queued, 0U);
    }
}

}  // namespace

#include <coflux/inspect/stall.hpp>

#include <coflux/coflux.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include "inspect/metric_source.hpp"
#include "inspect/stall/worker_progress.hpp"
#include "os/thread/thread_look.hpp"
#include "os/thread/thread_number.hpp"
#include "support/cpu_clock.hpp"
#include "support/iterations.hpp"
#include "support/no_hang.hpp"

namespace {

using namespace std::chrono_literals;
namespace inspect = coflux::inspect;
namespace os = coflux::detail::os;

using pool = coflux::thread_pool_executor;

/// The reports of a detector.
class reports {
public:
    explicit reports(std::chrono::nanoseconds threshold, bool interrupts = false)
        : detector_({.threshold = threshold,
                     .report =
                         [this](const inspect::stall& s) {
                             const std::lock_guard guard(lock_);
                             all_.push_back(s);
                             ++count_;
                         },
                     .interrupts_blocked = interrupts}) {}

    [[nodiscard]] std::size_t count() const { return count_; }
    std::vector<inspect::stall> all() {
        const std::lock_guard guard(lock_);
        return all_;
    }

private:
    std::mutex lock_;
    std::vector<inspect::stall> all_;
    std::atomic<std::size_t> count_{0};
    inspect::stall_detector detector_;  // the last: its thread uses the others
};

/// Pre: a coroutine runs here that computes until it was reported.
[[gnu::noinline]] void compute_until_reported(const reports& by) {
    while (by.count() == 0) asm volatile("");
}

coflux::call<void> stalls_in_a_call(coflux::environment&, const reports& by) {
    auto&& here = co_await coflux::context();
    (void)here;
    compute_until_reported(by);
}
coflux::task<void, pool> stalls(coflux::environment&, const reports* by) {
    auto&& here = co_await coflux::context();
    co_await stalls_in_a_call(here, *by);
}
coflux::task<void, pool> reads_a_pipe(coflux::environment&, int descriptor, char* byte) {
    auto&& here = co_await coflux::context();
    (void)here;
    FILE* const file = ::fdopen(descriptor, "r");
    *byte = static_cast<char>(std::fgetc(file));
    std::fclose(file);
    co_return;
}
coflux::fork<int, pool> small_child(coflux::environment&) {
    co_return 1;
}
/// Forks and awaits in one resumption, until its thread has had a processor for that long.
coflux::task<int, pool> forks_for(coflux::environment&, std::chrono::nanoseconds time) {
    auto&& here = co_await coflux::context();
    const auto begin = coflux_test::thread_cpu_time();
    int sum = 0;
    while (coflux_test::thread_cpu_time() - begin < time) {
        for (int i = 0; i < 100; ++i) sum += co_await small_child(here);
    }
    co_return sum;
}

#if defined(__linux__)

// --- reports ---------------------------------------------------------------------------------------------------------

TEST(stall_detector, reports_a_worker_that_computes_with_its_coroutines_and_its_stack) {
    reports seen(20ms);
    pool workers(coflux::thread_pool_options{.threads = 1, .name = "computes"});
    auto env = coflux::make_environment(workers);
    stalls(env, &seen).join();
    const inspect::stall s = seen.all().at(0);
    EXPECT_EQ(s.executor, "computes");
    EXPECT_EQ(s.worker, 0U);
    EXPECT_GE(s.lasts, 20ms);
    EXPECT_EQ(s.blocked_in, "");
    ASSERT_EQ(s.coroutines.size(), 2U);
    EXPECT_NE(s.coroutines[0].find("stalls_in_a_call at "), std::string::npos) << s.coroutines[0];
    EXPECT_NE(s.coroutines[1].find("stalls at "), std::string::npos) << s.coroutines[1];
    EXPECT_NE(s.coroutines[1].find("stall_test.cpp:"), std::string::npos);
    EXPECT_FALSE(s.back_trace.empty());
    EXPECT_NE(s.text().find("coflux: worker computes-0 has computed for "), std::string::npos);
    EXPECT_NE(s.text().find("  the stack of its thread:\n"), std::string::npos);
}

TEST(stall_detector, reports_a_worker_that_is_blocked_with_the_system_call) {
    for (const bool interrupts : {false, true}) {
        reports seen(20ms, interrupts);
        pool workers(coflux::thread_pool_options{.threads = 1, .name = "blocked"});
        auto env = coflux::make_environment(workers);
        int ends[2];
        ASSERT_EQ(::pipe(ends), 0);
        char byte = 0;
        auto root = reads_a_pipe(env, ends[0], &byte);
        while (seen.count() == 0) std::this_thread::yield();
        ASSERT_EQ(::write(ends[1], "x", 1), 1);
        root.join();
        ::close(ends[1]);
        EXPECT_EQ(byte, 'x');  // the signal has not ended the read
        const inspect::stall s = seen.all().at(0);
        EXPECT_EQ(s.blocked_in, "read");
        EXPECT_EQ(s.coroutines.size(), 1U);
        // ThreadSanitizer keeps a signal until a call that it knows.
        if (!COFLUX_TEST_TSAN) {
            EXPECT_EQ(s.back_trace.empty(), !interrupts);
        }
        EXPECT_NE(s.text().find("is blocked in read for "), std::string::npos);
    }
}

TEST(stall_detector, reports_each_stall_once_and_the_next_one_again) {
    reports seen(10ms);
    pool workers(1);
    auto env = coflux::make_environment(workers);
    const auto stall_twice = [](coflux::environment&, const reports* by) -> coflux::task<void, pool> {
        for (std::size_t n = 1; n <= 2; ++n) {
            const auto begin = coflux_test::thread_cpu_time();
            while (by->count() < n) asm volatile("");
            const auto reported = coflux_test::thread_cpu_time();
            while (coflux_test::thread_cpu_time() - reported < reported - begin) asm volatile("");
            EXPECT_EQ(by->count(), n);
            co_await coflux::yield();
        }
    };
    stall_twice(env, &seen).join();
    EXPECT_EQ(seen.count(), 2U);
}

// --- what is no stall ------------------------------------------------------------------------------------------------

TEST(stall_detector, does_not_report_a_coroutine_that_forks_and_awaits_in_one_resumption) {
    reports seen(20ms);
    for (const auto level : {coflux::trace_level::off, coflux::trace_level::all}) {
        pool workers(coflux::thread_pool_options{.threads = 1, .trace = level, .trace_events = 64});
        auto env = coflux::make_environment(workers);
        EXPECT_GT(forks_for(env, 200ms).get(), 0);
    }
    EXPECT_EQ(seen.count(), 0U);
}

TEST(stall_detector, does_not_count_the_time_that_a_thread_waits_for_a_processor) {
    constexpr os::thread_times begin{1'000'000'000, 500, 200, true};
    // It is ready for an hour, and has not had a processor.
    EXPECT_EQ(os::stalled_between(begin, {3'601'000'000'000, 500, 200, true}), 0U);
    // It has computed for 7 ns of that hour.
    EXPECT_EQ(os::stalled_between(begin, {3'601'000'000'000, 507, 200, true}), 7U);
    // It has waited for a second, has run, and is blocked: it stands still but for that second.
    EXPECT_EQ(os::stalled_between(begin, {3'000'000'000, 507, 1'000'000'200, false}), 1'000'000'000U);
    EXPECT_EQ(os::stalled_between(begin, {1'000'000'100, 500, 400, false}), 0U);
}

TEST(stall_detector, sees_how_long_a_thread_had_a_processor) {
    const std::uint64_t self = os::this_thread_number();
    os::thread_times before{};
    ASSERT_TRUE(os::look_at_thread(self, before));
    EXPECT_TRUE(before.is_ready);
    const auto begin = coflux_test::thread_cpu_time();
    while (coflux_test::thread_cpu_time() - begin < 5ms) asm volatile("");
    os::thread_times after{};
    ASSERT_TRUE(os::look_at_thread(self, after));
    EXPECT_GE(after.processor - before.processor, 5'000'000U);
    // A look reads two clocks one after the other.
    EXPECT_GE(after.wall - before.wall + 1'000'000, after.processor - before.processor);
    EXPECT_EQ(os::system_call_of(self), "read");  // of the file that says so
    os::thread_times none{};
    EXPECT_FALSE(os::look_at_thread(0x7fff'ffff, none));
}

// --- asleep ----------------------------------------------------------------------------------------------------------

TEST(stall_detector, sleeps_while_all_workers_are_parked_and_wakes_with_the_first) {
    reports seen(10ms);
    pool workers(coflux::thread_pool_options{.threads = 2, .keep_memory = std::chrono::nanoseconds::max()});
    auto env = coflux::make_environment(workers);
    for (int round = 0; round < 3; ++round) {
        while (!coflux::detail::stall_watch_sleeps) std::this_thread::yield();  // for ever: it looks on and on
        const std::size_t before = seen.count();
        const auto stalls_once = [](coflux::environment&, const reports* by,
                                    std::size_t count) -> coflux::task<void, pool> {
            while (by->count() == count) asm volatile("");
            co_return;
        };
        stalls_once(env, &seen, before).join();  // for ever: it does not wake up
        EXPECT_EQ(seen.count(), before + 1);
    }
}

TEST(stall_detector, may_begin_and_end_while_workers_run) {
    pool workers(2);
    auto env = coflux::make_environment(workers);
    std::atomic<bool> ends{false};
    const auto goes_on = [](coflux::environment&, std::atomic<bool>* until) -> coflux::task<void, pool> {
        while (!*until) co_await coflux::yield();
    };
    auto root = goes_on(env, &ends);
    for (int i = 0; i < 20; ++i) {
        const reports seen(1h);
        const pool others(1);
    }
    ends = true;
    root.join();
}

TEST(stall_detector_death, is_one_of_a_process) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            coflux_test::die_rather_than_hang();
            const inspect::stall_detector first;
            const inspect::stall_detector second;
        },
        "a process has one inspect::stall_detector at a time");
}

#endif

}  // namespace

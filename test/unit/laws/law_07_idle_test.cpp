// Law 7: a parked runtime is free.
//
// The one law whose test needs the clock: it compares CPU time with wall time over an interval.
#include <coflux/coflux.hpp>

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "support/cpu_clock.hpp"

namespace {

using coflux_test::process_cpu_seconds;
using pool = coflux::thread_pool_executor;

void wait_until_all_sleep(const pool& workers, std::uint64_t sleeps_before) {
    for (;;) {
        std::uint64_t asleep = 0;
        for (const auto& w : workers.counters()) asleep += w.sleeps > sleeps_before ? 1 : 0;
        if (asleep == workers.size()) return;
        std::this_thread::yield();
    }
}

/// Wall time passes in this thread's own sleep: what is measured is an interval.
void expect_idle_second() {
    const double before = process_cpu_seconds();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    EXPECT_LT(process_cpu_seconds() - before, 0.01);
}

TEST(law_07_idle_by_the_clock, a_pool_that_never_had_work_uses_less_than_a_hundredth_of_a_core) {
    const pool workers(2);
    wait_until_all_sleep(workers, 0);
    expect_idle_second();
}

TEST(law_07_idle_by_the_clock, a_pool_that_has_done_its_work_uses_less_than_a_hundredth_of_a_core) {
    pool workers(2);
    auto env = coflux::make_environment(workers);
    [](coflux::environment&) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        for (int i = 0; i < 1000; ++i) {
            [](coflux::environment&) -> coflux::fork<void, pool> { co_return; }(here).attach();
        }
    }(env)
                                    .get();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // far beyond the bounded spin
    expect_idle_second();
}

}  // namespace

// For regression of our own mechanism, not for comparison: how late a stall is reported, and what a look costs.
#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include <coflux/coflux.hpp>

#include "inspect/metric_source.hpp"

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

coflux::task<void, coflux::thread_pool_executor> computes(coflux::environment&, std::atomic<bool>* reported,
                                                          steady::time_point* begun) {
    *begun = steady::now();
    while (!reported->load(std::memory_order_relaxed)) benchmark::DoNotOptimize(begun);
    co_return;
}

/// The time is that from the threshold to the call of the user's function.
void report(benchmark::State& state) {
    constexpr auto threshold = 100ms;
    std::atomic<bool> reported{false};
    steady::time_point at;
    const coflux::inspect::stall_detector detector(
        {.threshold = threshold, .report = [&](const coflux::inspect::stall&) {
             at = steady::now();
             reported = true;
         }});
    coflux::thread_pool_executor pool(1);
    auto env = coflux::make_environment(pool);
    double latest = 0;
    for (auto _ : state) {
        reported = false;
        steady::time_point begun;
        computes(env, &reported, &begun).join();
        const double late = std::chrono::duration<double>(at - begun - threshold).count();
        latest = late > latest ? late : latest;
        state.SetIterationTime(late);
        std::this_thread::sleep_for(50ms);  // the system stops a thread of real time that uses all of a second
    }
    state.counters["latest"] = latest;
}
BENCHMARK(report)->UseManualTime()->Iterations(20)->Unit(benchmark::kMillisecond);

/// An item is a look at the workers of a pool of so many.
void look(benchmark::State& state) {
    const coflux::thread_pool_executor pool(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) {
        coflux::detail::progress_list now;
        coflux::detail::metric_source::read_progress(now);
        benchmark::DoNotOptimize(now.workers().data());
    }
}
BENCHMARK(look)->Arg(1)->Arg(16)->Arg(64);

}  // namespace

// For regression of our own mechanism, not for comparison: a counter, and a reading of all.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <coflux/coflux.hpp>

namespace {

/// An item is an addition to a counter of one writer.
void count(benchmark::State& state) {
    coflux::detail::timer_counts counts;
    benchmark::DoNotOptimize(&counts);
    for (auto _ : state) {
        counts.add_armed();
        benchmark::ClobberMemory();
    }
    benchmark::DoNotOptimize(counts.armed());
}
BENCHMARK(count);

/// An item is a reading of `range` workers as text.
void write_text(benchmark::State& state) {
    std::vector<std::unique_ptr<coflux::run_loop>> loops;
    for (std::int64_t i = 0; i < state.range(0); ++i) loops.push_back(std::make_unique<coflux::run_loop>());
    std::size_t bytes = 0;
    for (auto _ : state) {
        bytes = 0;
        coflux::inspect::write_openmetrics([&bytes](std::string_view text) { bytes += text.size(); });
    }
    state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(write_text)->Arg(1)->Arg(16)->Arg(256);

/// An item is a reading of `range` workers, without text.
void visit(benchmark::State& state) {
    std::vector<std::unique_ptr<coflux::run_loop>> loops;
    for (std::int64_t i = 0; i < state.range(0); ++i) loops.push_back(std::make_unique<coflux::run_loop>());
    std::size_t metrics = 0;
    for (auto _ : state) {
        metrics = 0;
        coflux::inspect::for_each_metric([&metrics](const coflux::inspect::metric&) { ++metrics; });
    }
    state.counters["metrics"] = static_cast<double>(metrics);
}
BENCHMARK(visit)->Arg(1)->Arg(16)->Arg(256);

coflux::task<void, coflux::thread_pool_executor> yields(coflux::environment&, std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) co_await coflux::yield();
}

/// An item is a resumption by a pool's worker; with histograms where the argument is 1.
void resume(benchmark::State& state) {
    constexpr std::int64_t times = 100'000;
    coflux::thread_pool_executor pool(coflux::thread_pool_options{.threads = 1, .histograms = state.range(0) == 1});
    auto env = coflux::make_environment(pool);
    for (auto _ : state) {
        auto a = yields(env, times);  // two, so that each yield comes to the loop
        yields(env, times).get();
        a.get();
    }
    state.SetItemsProcessed(state.iterations() * times * 2);
}
BENCHMARK(resume)->Arg(0)->Arg(1)->UseRealTime();

}  // namespace

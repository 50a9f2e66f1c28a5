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

}  // namespace

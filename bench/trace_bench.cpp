// For regression of our own mechanism, not for comparison: an event of the trace, a span where none is kept, and what a
// pool's resumptions cost with a trace.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <coflux/coflux.hpp>

#include "inspect/trace/trace_ring.hpp"
#include <coflux/time/detail/cycles.hpp>

namespace {

using coflux::detail::trace_ring;

/// An item is an event with its time.
void add(benchmark::State& state) {
    constexpr std::size_t size = std::size_t{1} << 15;
    const auto cells = std::make_unique<trace_ring::cell[]>(size);
    trace_ring ring(cells.get(), size);
    ring.begin("bench", 1, 0);
    for (auto _ : state) {
        ring.add(coflux::detail::cycles_now(), coflux::detail::trace_kind::runs, 1, 2, 3);
        benchmark::ClobberMemory();
    }
}
BENCHMARK(add);

/// An item is the time alone.
void read_cycles(benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(coflux::detail::cycles_now());
}
BENCHMARK(read_cycles);

/// An item is a span on a thread that is not traced.
void span_off(benchmark::State& state) {
    for (auto _ : state) {
        const coflux::inspect::span s("bench");
        benchmark::ClobberMemory();
    }
}
BENCHMARK(span_off);
/// The loop of that without a span.
void nothing(benchmark::State& state) {
    for (auto _ : state) benchmark::ClobberMemory();
}
BENCHMARK(nothing);

coflux::task<void, coflux::thread_pool_executor> yields(coflux::environment&, std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) co_await coflux::yield();
}
coflux::fork<std::int64_t, coflux::thread_pool_executor> one(coflux::environment&) {
    co_return 1;
}
coflux::task<std::int64_t, coflux::thread_pool_executor> forks(coflux::environment&, std::int64_t times) {
    auto&& here = co_await coflux::context();
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < times; ++i) sum += co_await one(here);
    co_return sum;
}

coflux::thread_pool_options traced(std::int64_t level) {
    return {.threads = 1, .name = "bench", .trace = static_cast<coflux::trace_level>(level)};
}

/// An item is a resumption by a pool's worker; the argument is the trace_level.
void resume(benchmark::State& state) {
    constexpr std::int64_t times = 100'000;
    coflux::thread_pool_executor pool(traced(state.range(0)));
    auto env = coflux::make_environment(pool);
    for (auto _ : state) {
        auto a = yields(env, times);  // two, so that each yield comes to the loop
        yields(env, times).get();
        a.get();
    }
    state.SetItemsProcessed(state.iterations() * times * 2);
}
BENCHMARK(resume)->Arg(0)->Arg(1)->Arg(2)->UseRealTime();

/// An item is a fork that is awaited at once; the argument is the trace_level.
void fork_and_await(benchmark::State& state) {
    constexpr std::int64_t times = 100'000;
    coflux::thread_pool_executor pool(traced(state.range(0)));
    auto env = coflux::make_environment(pool);
    for (auto _ : state) benchmark::DoNotOptimize(forks(env, times).get());
    state.SetItemsProcessed(state.iterations() * times);
}
BENCHMARK(fork_and_await)->Arg(0)->Arg(1)->Arg(2)->UseRealTime();

/// An item is an event that is written for Perfetto.
void write_trace(benchmark::State& state) {
    coflux::thread_pool_executor pool(traced(1));
    auto env = coflux::make_environment(pool);
    auto a = yields(env, 100'000);
    yields(env, 100'000).get();
    a.get();
    std::size_t bytes = 0;
    for (auto _ : state) {
        bytes = 0;
        coflux::inspect::write_trace([&bytes](std::string_view text) { bytes += text.size(); });
    }
    state.counters["bytes"] = static_cast<double>(bytes);
    state.SetItemsProcessed(state.iterations() * (std::int64_t{1} << 15));
}
BENCHMARK(write_trace);

}  // namespace

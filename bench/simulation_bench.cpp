// Runs of a small body under simulation: what a schedule costs.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/explore.hpp>
#include <coflux/testing/sim_executor.hpp>

namespace {

using coflux::borrowed;
using coflux::testing::sim_executor;
using coflux::testing::simulation;

coflux::fork<void, sim_executor> locks(auto&&, borrowed<coflux::mutex> m, borrowed<int> count) {
    auto held = co_await m->lock();
    const int seen = *count;
    co_await coflux::yield();
    *count = seen + 1;
}

coflux::task<int, sim_executor> three_lock(auto&&) {
    auto&& here = co_await coflux::context();
    coflux::mutex m;
    int count = 0;
    auto a = locks(here, borrowed(m), borrowed(count));
    auto b = locks(here, borrowed(m), borrowed(count));
    auto c = locks(here, borrowed(m), borrowed(count));
    co_await coflux::when_all(std::move(a), std::move(b), std::move(c));
    co_return count;
}

void body(simulation&) {
    sim_executor on;
    auto env = coflux::make_environment(on);
    if (three_lock(env).get() != 3) std::abort();
}

/// Three coroutines and a mutex, each seed another schedule.
void three_and_a_mutex(benchmark::State& state) {
    constexpr std::size_t runs = 1000;
    std::uint64_t seed = 0;
    std::uint64_t steps = 0;
    for (auto _ : state) {
        const auto r = coflux::testing::explore({.runs = runs, .first_seed = seed}, body);
        if (!r.ok()) state.SkipWithError("a run failed");
        seed += runs;
        steps += r.steps;
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(runs));
    state.counters["steps"] = benchmark::Counter(static_cast<double>(steps), benchmark::Counter::kIsRate);
}
BENCHMARK(three_and_a_mutex);

coflux::task<void, sim_executor> yields(auto&&, int times) {
    for (int i = 0; i < times; ++i) co_await coflux::yield();
}

/// A resumption, with `coroutines` that are ready to choose among.
void resumption(benchmark::State& state) {
    const auto coroutines = static_cast<std::size_t>(state.range(0));
    coflux::testing::random_chooser random(1);
    std::int64_t steps = 0;
    for (auto _ : state) {
        simulation sim(random);
        sim_executor on;
        auto env = coflux::make_environment(on);
        std::vector<coflux::task<void, sim_executor>> tasks;
        for (std::size_t i = 0; i < coroutines; ++i) tasks.push_back(yields(env, 1000));
        sim.run();
        steps += static_cast<std::int64_t>(sim.steps());
    }
    state.SetItemsProcessed(steps);
}
BENCHMARK(resumption)->Arg(1)->Arg(10)->Arg(100);

}  // namespace

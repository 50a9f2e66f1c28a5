// For regression of our own mechanism, not for comparison: the lab compares runtimes.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <memory_resource>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

namespace {

using coflux::borrowed;
using coflux::noop_executor;
using pool = coflux::thread_pool_executor;

template <typename Executor>
coflux::fork<int, Executor> value(coflux::environment&, int x) {
    co_return x;
}

/// An item is a fork that is made and awaited at once.
template <typename Executor>
coflux::task<void, Executor> awaits_at_once(coflux::environment&, borrowed<benchmark::State> state) {
    auto&& here = co_await coflux::context();
    int x = 0;
    for (auto _ : *state) x += co_await value<Executor>(here, x);
    benchmark::DoNotOptimize(x);
}

void noop_fork(benchmark::State& state) {
    auto env = coflux::make_environment(noop_executor{});
    awaits_at_once<noop_executor>(env, borrowed(state)).get();
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(noop_fork);

coflux::task<int, noop_executor> awaits(auto&&, int count) {
    auto&& here = co_await coflux::context();
    int x = 0;
    for (int i = 0; i < count; ++i) x += co_await value<noop_executor>(here, i);
    co_return x;
}

/// The same with frames from a resource that frees nothing until the whole tree is gone.
void noop_fork_monotonic(benchmark::State& state) {
    constexpr int count = 1000;
    std::vector<std::byte> room(1024 * 1024);
    std::pmr::monotonic_buffer_resource memory(room.data(), room.size());
    auto env = coflux::make_environment(noop_executor{}, &memory);
    for (auto _ : state) {
        benchmark::DoNotOptimize(awaits(env, count).get());
        memory.release();
    }
    state.SetItemsProcessed(state.iterations() * count);
}
BENCHMARK(noop_fork_monotonic);

void pool_fork(benchmark::State& state) {
    pool threads(static_cast<std::size_t>(state.range(0)));
    auto env = coflux::make_environment(threads);
    awaits_at_once<pool>(env, borrowed(state)).get();
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(pool_fork)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime();

coflux::task<void, pool> awaits_at_the_end(auto&&, borrowed<benchmark::State> state, int count) {
    auto&& here = co_await coflux::context();
    std::vector<coflux::fork<int, pool>> forks;
    forks.reserve(static_cast<std::size_t>(count));
    int x = 0;
    for (auto _ : *state) {
        for (int i = 0; i < count; ++i) forks.push_back(value<pool>(here, i));
        for (auto& f : forks) x += co_await std::move(f);
        forks.clear();
    }
    benchmark::DoNotOptimize(x);
}

/// An item is a fork of a burst that is awaited once all are made.
void pool_fork_burst(benchmark::State& state) {
    pool threads(static_cast<std::size_t>(state.range(0)));
    auto env = coflux::make_environment(threads);
    constexpr int count = 1000;
    awaits_at_the_end(env, borrowed(state), count).get();
    state.SetItemsProcessed(state.iterations() * count);
}
BENCHMARK(pool_fork_burst)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime();

}  // namespace

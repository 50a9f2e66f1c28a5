// For regression of our own mechanism, not for comparison: the lab compares runtimes.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

namespace {

using coflux::borrowed;
using pool = coflux::thread_pool_executor;

coflux::fork<int, pool> value(auto&&, int x) {
    co_return x;
}

coflux::task<void, pool> all_of_two(auto&&, borrowed<benchmark::State> state) {
    auto&& here = co_await coflux::context();
    int x = 0;
    for (auto _ : *state) {
        auto a = value(here, x);
        auto b = value(here, 1);
        auto [p, q] = co_await coflux::when_all(std::move(a), std::move(b));
        x = p + q;
    }
    benchmark::DoNotOptimize(x);
}

/// An item is one child.
void when_all_of_two(benchmark::State& state) {
    pool threads(static_cast<std::size_t>(state.range(0)));
    auto env = coflux::make_environment(threads);
    all_of_two(env, borrowed(state)).get();
    state.SetItemsProcessed(state.iterations() * 2);
}
BENCHMARK(when_all_of_two)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime();

coflux::task<void, pool> all_of_range(auto&&, borrowed<benchmark::State> state, int count) {
    auto&& here = co_await coflux::context();
    std::size_t sum = 0;
    for (auto _ : *state) {
        std::vector<coflux::fork<int, pool>> forks;
        forks.reserve(static_cast<std::size_t>(count));
        for (int i = 0; i < count; ++i) forks.push_back(value(here, i));
        sum += (co_await coflux::when_all(std::move(forks))).size();
    }
    benchmark::DoNotOptimize(sum);
}

void when_all_of_ten(benchmark::State& state) {
    pool threads(static_cast<std::size_t>(state.range(0)));
    auto env = coflux::make_environment(threads);
    all_of_range(env, borrowed(state), 10).get();
    state.SetItemsProcessed(state.iterations() * 10);
}
BENCHMARK(when_all_of_ten)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime();

}  // namespace

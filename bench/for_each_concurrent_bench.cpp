// For regression of our own mechanism, not for comparison: the lab compares runtimes.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <ranges>

#include <coflux/coflux.hpp>

namespace {

using coflux::borrowed;
using pool = coflux::thread_pool_executor;

coflux::fork<int, pool> value(auto&&, std::size_t x) {
    co_return static_cast<int>(x);
}

coflux::task<void, pool> forks_of_a_range(auto&&, borrowed<benchmark::State> state, std::size_t count,
                                          std::size_t window) {
    for (auto _ : *state) {
        co_await coflux::for_each_concurrent(std::views::iota(std::size_t{0}, count), window,
                                             [](auto&& env, std::size_t i) { return value(env, i); });
    }
}

/// An item is one element, of 1000.
void for_each_concurrent(benchmark::State& state) {
    constexpr std::size_t count = 1000;
    pool threads(static_cast<std::size_t>(state.range(0)));
    auto env = coflux::make_environment(threads);
    forks_of_a_range(env, borrowed(state), count, static_cast<std::size_t>(state.range(1))).get();
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(count));
}
BENCHMARK(for_each_concurrent)
    ->ArgNames({"threads", "window"})
    ->Args({1, 1})
    ->Args({1, 16})
    ->Args({2, 16})
    ->Args({1, 1000})
    ->UseRealTime();

}  // namespace

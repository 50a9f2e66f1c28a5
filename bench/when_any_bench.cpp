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
coflux::fork<int, pool> until_stopped(auto&&) {
    for (;;) co_await coflux::yield();
}

coflux::task<void, pool> any_of_two(auto&&, borrowed<benchmark::State> state, bool both_end) {
    auto&& here = co_await coflux::context();
    std::size_t x = 0;
    for (auto _ : *state) {
        auto a = value(here, 1);
        auto b = both_end ? value(here, 2) : until_stopped(here);
        x += (co_await coflux::when_any(std::move(a), std::move(b))).index();
    }
    benchmark::DoNotOptimize(x);
}

/// An item is one child; both are ready to run and give a value.
void when_any_of_two(benchmark::State& state) {
    pool threads(static_cast<std::size_t>(state.range(0)));
    auto env = coflux::make_environment(threads);
    any_of_two(env, borrowed(state), true).get();
    state.SetItemsProcessed(state.iterations() * 2);
}
BENCHMARK(when_any_of_two)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime();

/// The same where one must be stopped.
void when_any_with_a_loser(benchmark::State& state) {
    pool threads(static_cast<std::size_t>(state.range(0)));
    auto env = coflux::make_environment(threads);
    any_of_two(env, borrowed(state), false).get();
    state.SetItemsProcessed(state.iterations() * 2);
}
BENCHMARK(when_any_with_a_loser)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime();

coflux::task<void, pool> n_of_range(auto&&, borrowed<benchmark::State> state, std::size_t n, int count) {
    auto&& here = co_await coflux::context();
    std::size_t sum = 0;
    for (auto _ : *state) {
        std::vector<coflux::fork<int, pool>> forks;
        forks.reserve(static_cast<std::size_t>(count));
        for (int i = 0; i < count; ++i) forks.push_back(value(here, i));
        sum += (co_await coflux::when_n(std::move(forks), n)).size();
    }
    benchmark::DoNotOptimize(sum);
}

void when_five_of_ten(benchmark::State& state) {
    pool threads(static_cast<std::size_t>(state.range(0)));
    auto env = coflux::make_environment(threads);
    n_of_range(env, borrowed(state), 5, 10).get();
    state.SetItemsProcessed(state.iterations() * 10);
}
BENCHMARK(when_five_of_ten)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime();

}  // namespace

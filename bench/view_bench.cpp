// For regression of our own mechanism, not for comparison: the lab compares runtimes.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <utility>

#include <coflux/coflux.hpp>

namespace {

using coflux::borrowed;
using coflux::noop_executor;
using pool = coflux::thread_pool_executor;

coflux::fork<int, noop_executor> ended(auto&&) {
    co_return 1;
}

coflux::task<void, noop_executor> looks(auto&&, borrowed<benchmark::State> state) {
    auto&& here = co_await coflux::context();
    auto f = ended(here);
    auto view = f.view();
    int x = 0;
    for (auto _ : *state) x += co_await view;
    benchmark::DoNotOptimize(x);
}

/// An item is one await of a view of what has ended.
void view_of_ended(benchmark::State& state) {
    auto env = coflux::make_environment(noop_executor{});
    looks(env, borrowed(state)).get();
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(view_of_ended);

coflux::fork<int, pool> source(auto&&) {
    co_return 1;
}
coflux::fork<int, pool> reader(auto&&, coflux::fork_view<int> of) {
    co_return co_await of;
}

coflux::task<void, pool> diamonds(auto&&, borrowed<benchmark::State> state) {
    auto&& here = co_await coflux::context();
    int x = 0;
    for (auto _ : *state) {
        auto top = source(here);
        auto left = reader(here, top.view());
        auto right = reader(here, top.view());
        auto [a, b] = co_await coflux::when_all(std::move(left), std::move(right));
        x += a + b;
    }
    benchmark::DoNotOptimize(x);
}

/// An item is one diamond: a fork, two that read it, and their parent.
void view_diamond(benchmark::State& state) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    diamonds(env, borrowed(state)).get();
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(view_diamond)->UseRealTime();

}  // namespace

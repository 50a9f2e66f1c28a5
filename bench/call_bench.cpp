// For regression of our own mechanism, not for comparison: the lab compares runtimes.
#include <benchmark/benchmark.h>

#include <coflux/coflux.hpp>

namespace {

using coflux::borrowed;
using coflux::noop_executor;

coflux::call<int> next(auto&&, const int& x) {
    co_return x + 1;
}

coflux::task<void, noop_executor> calls(auto&&, borrowed<benchmark::State> state) {
    auto&& here = co_await coflux::context();
    int x = 0;
    for (auto _ : *state) x = co_await next(here, x);
    benchmark::DoNotOptimize(x);
}

/// An item is one awaited call.
void call(benchmark::State& state) {
    auto env = coflux::make_environment(noop_executor{});
    calls(env, borrowed(state)).get();
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(call);

coflux::call<int> deep(coflux::environment&, int levels) {
    if (levels == 0) co_return 0;
    auto&& here = co_await coflux::context();
    co_return 1 + co_await deep(here, levels - 1);
}

coflux::task<void, noop_executor> calls_deep(auto&&, borrowed<benchmark::State> state) {
    auto&& here = co_await coflux::context();
    for (auto _ : *state) benchmark::DoNotOptimize(co_await deep(here, static_cast<int>(state->range(0))));
}

/// An item is one level of a recursion.
void call_chain(benchmark::State& state) {
    auto env = coflux::make_environment(noop_executor{});
    calls_deep(env, borrowed(state)).get();
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(call_chain)->ArgName("levels")->Arg(10)->Arg(1000);

}  // namespace

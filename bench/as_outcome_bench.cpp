// For regression of our own mechanism, not for comparison: the lab compares runtimes.
#include <benchmark/benchmark.h>

#include <stdexcept>

#include <coflux/coflux.hpp>

namespace {

using coflux::borrowed;
using coflux::noop_executor;

coflux::fork<int, noop_executor> gives(auto&&) {
    co_return 1;
}
coflux::fork<int, noop_executor> fails(auto&&) {
    throw std::runtime_error("expected");
    co_return 0;
}
coflux::fork<int, noop_executor> stops(auto&&) {
    co_await coflux::this_coroutine::stop();
    co_return 0;
}

template <typename Fork>
coflux::task<void, noop_executor> asks(coflux::environment&, borrowed<benchmark::State> state, Fork make) {
    auto&& here = co_await coflux::context();
    for (auto _ : *state) benchmark::DoNotOptimize((co_await coflux::as_outcome(make(here))).has_value());
}

using fork_function = coflux::fork<int, noop_executor> (*)(coflux::environment&);

/// An item is one fork that ends so, awaited as an outcome.
void as_outcome(benchmark::State& state, fork_function make) {
    auto env = coflux::make_environment(noop_executor{});
    asks(env, borrowed(state), make).get();
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(as_outcome, value, &gives<coflux::environment&>);
BENCHMARK_CAPTURE(as_outcome, error, &fails<coflux::environment&>);
BENCHMARK_CAPTURE(as_outcome, stopped, &stops<coflux::environment&>);

}  // namespace

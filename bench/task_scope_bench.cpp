// For regression of our own mechanism, not for comparison: the lab compares runtimes.
#include <benchmark/benchmark.h>

#include <cstddef>

#include <coflux/coflux.hpp>

namespace {

using coflux::borrowed;
using pool = coflux::thread_pool_executor;

coflux::fork<void, pool> nothing(auto&&) {
    co_return;
}
constexpr auto add = [](coflux::task_scope& scope) { return nothing(scope); };

coflux::task<void, pool> fills(auto&&, borrowed<benchmark::State> state, int count) {
    auto&& here = co_await coflux::context();
    for (auto _ : *state) {
        coflux::task_scope scope(here);
        for (int i = 0; i < count; ++i) scope.spawn(add);
        co_await scope.join();
    }
}

/// An item is one child, of so many in one scope.
void task_scope(benchmark::State& state) {
    pool threads(static_cast<std::size_t>(state.range(0)));
    auto env = coflux::make_environment(threads);
    fills(env, borrowed(state), static_cast<int>(state.range(1))).get();
    state.SetItemsProcessed(state.iterations() * state.range(1));
}
BENCHMARK(task_scope)->ArgNames({"threads", "children"})->Args({1, 1})->Args({1, 100})->Args({2, 100})->UseRealTime();

}  // namespace

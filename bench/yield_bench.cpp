// For regression of our own mechanism, not for comparison: the lab compares runtimes.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

namespace {

using coflux::borrowed;
using pool = coflux::thread_pool_executor;

coflux::fork<void, pool> yields_until(auto&&, borrowed<const bool> enough) {
    while (!*enough) co_await coflux::yield();
}

coflux::task<void, pool> yields(auto&&, borrowed<benchmark::State> state, std::int64_t others) {
    auto&& here = co_await coflux::context();
    bool enough = false;
    std::vector<coflux::fork<void, pool>> all;
    for (std::int64_t i = 0; i < others; ++i) all.push_back(yields_until(here, borrowed<const bool>(enough)));
    co_await coflux::yield();  // all other coroutines begin
    for (auto _ : *state) co_await coflux::yield();
    enough = true;
    co_await coflux::when_all(std::move(all));  // before `enough` dies
}

/// An item is one yield of one coroutine, among as many others on one worker.
void yield(benchmark::State& state) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    yields(env, borrowed(state), state.range(0)).get();
    state.SetItemsProcessed(state.iterations() * (state.range(0) + 1));
}
BENCHMARK(yield)->ArgName("others")->Arg(0)->Arg(7)->Arg(200)->UseRealTime();

}  // namespace

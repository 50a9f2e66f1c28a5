// For regression of our own mechanism, not for comparison: the lab compares runtimes.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>

#include <coflux/base/ready_ring.hpp>

namespace {

using coflux::detail::ready_ring;

/// An item is one push and one take, in bursts of the given length.
void push_and_take(benchmark::State& state) {
    ready_ring ring;
    int item = 0;
    for (auto _ : state) {
        for (std::int64_t i = 0; i < state.range(0); ++i) benchmark::DoNotOptimize(ring.push(&item));
        for (std::int64_t i = 0; i < state.range(0); ++i) benchmark::DoNotOptimize(ring.take());
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(push_and_take)->ArgName("burst")->Arg(1)->Arg(8)->Arg(256);

}  // namespace

// For regression of our own mechanism, not for comparison: the lab compares runtimes.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <memory_resource>
#include <vector>

#include <coflux/memory/arena.hpp>
#include <coflux/memory/frame_pool.hpp>

namespace {

// An item is one block, allocated and freed.

void pooled(benchmark::State& state) {
    const auto bytes = static_cast<std::size_t>(state.range(0));
    for (auto _ : state) {
        void* const block = coflux::detail::allocate_pooled(bytes, 16);
        benchmark::DoNotOptimize(block);
        coflux::detail::deallocate_pooled(block, bytes, 16);
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(pooled)->Arg(128)->Arg(1024)->Arg(4096);

void pooled_burst(benchmark::State& state) {
    const auto count = static_cast<std::size_t>(state.range(0));
    std::vector<void*> blocks(count);
    for (auto _ : state) {
        for (void*& block : blocks) block = coflux::detail::allocate_pooled(128, 16);
        for (void* const block : blocks) coflux::detail::deallocate_pooled(block, 128, 16);
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(pooled_burst)->Arg(16)->Arg(1000)->Arg(100'000);

void through_the_interface(benchmark::State& state, std::pmr::memory_resource* memory) {
    for (auto _ : state) {
        void* const block = memory->allocate(128, 16);
        benchmark::DoNotOptimize(block);
        memory->deallocate(block, 128, 16);
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(through_the_interface, frame_pool, &coflux::frame_pool::shared());
BENCHMARK_CAPTURE(through_the_interface, new_delete, std::pmr::new_delete_resource());

void from_an_arena(benchmark::State& state) {
    constexpr int blocks = 1000;
    coflux::arena memory(256 * 1024);
    for (auto _ : state) {
        for (int i = 0; i < blocks; ++i) benchmark::DoNotOptimize(memory.allocate(128, 16));
        memory.release();
    }
    state.SetItemsProcessed(state.iterations() * blocks);
}
BENCHMARK(from_an_arena);

}  // namespace

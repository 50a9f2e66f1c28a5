// For regression of our own mechanism, not for comparison: the lab compares runtimes.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

#include <coflux/base/work_stealing_deque.hpp>

namespace {

using coflux::detail::work_stealing_deque;

void push_and_pop(benchmark::State& state) {
    work_stealing_deque deque;
    // The elements below decide whether the popped element is the last one, which is taken in another way.
    for (std::int64_t i = 0; i < state.range(0); ++i) deque.push(&deque);
    int item = 0;
    for (auto _ : state) {
        deque.push(&item);
        benchmark::DoNotOptimize(deque.pop());
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(push_and_pop)->ArgName("below")->Arg(0)->Arg(10);

void push_and_pop_if(benchmark::State& state) {
    work_stealing_deque deque;
    for (std::int64_t i = 0; i < state.range(0); ++i) deque.push(&deque);
    int item = 0;
    for (auto _ : state) {
        deque.push(&item);
        benchmark::DoNotOptimize(deque.pop_if(&item));
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(push_and_pop_if)->ArgName("below")->Arg(0)->Arg(10);

void steal_alone(benchmark::State& state) {
    work_stealing_deque deque;
    int item = 0;
    for (auto _ : state) {
        deque.push(&item);
        benchmark::DoNotOptimize(deque.steal());
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(steal_alone);

/// The owner's push and pop of a burst while a thief on another thread tries all the time.
void push_and_pop_robbed(benchmark::State& state) {
    constexpr int burst = 64;
    work_stealing_deque deque;
    std::atomic<bool> done{false};
    std::uint64_t stolen = 0;
    std::thread thief([&] {
        while (!done.load(std::memory_order_relaxed)) stolen += deque.steal() != nullptr ? 1 : 0;
    });
    int item = 0;
    for (auto _ : state) {
        for (int i = 0; i < burst; ++i) deque.push(&item);
        while (deque.pop() != nullptr) {}
    }
    done = true;
    thief.join();
    state.SetItemsProcessed(state.iterations() * burst);
    state.counters["stolen"] = static_cast<double>(stolen) / (static_cast<double>(state.iterations()) * burst);
}
BENCHMARK(push_and_pop_robbed)->UseRealTime();

}  // namespace

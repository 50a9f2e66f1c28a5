// For regression of our own mechanism, not for comparison: what a profile costs the program, and its parts.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/inspect/profile.hpp>

#include "inspect/profile/wait_looks.hpp"
#include "inspect/stall/running_chain.hpp"

namespace {

using pool = coflux::thread_pool_executor;

coflux::fork<std::int64_t, pool> fib(coflux::environment&, int n) {
    if (n < 2) co_return n;
    auto&& here = co_await coflux::context();
    auto first = fib(here, n - 1);
    auto second = fib(here, n - 2);
    const std::int64_t b = co_await std::move(second);
    co_return b + co_await std::move(first);
}
coflux::task<std::int64_t, pool> root(coflux::environment&, int n) {
    auto&& here = co_await coflux::context();
    co_return co_await fib(here, n);
}

/// The processor time of one piece of work; the argument is how many samples there are in a second, 0: no profile.
void work(benchmark::State& state) {
    pool workers(1);
    auto env = coflux::make_environment(workers);
    std::optional<coflux::inspect::profiler> profiler;
    if (state.range(0) != 0)
        profiler.emplace(coflux::inspect::profile_options{.frequency = static_cast<unsigned>(state.range(0))});
    for (auto _ : state) benchmark::DoNotOptimize(root(env, 30).get());
}
BENCHMARK(work)->Arg(0)->Arg(100)->Arg(1000)->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond);

coflux::call<void> deep(coflux::environment&, benchmark::State& state, std::int64_t left) {
    auto&& here = co_await coflux::context();
    if (left > 1) {
        co_await deep(here, state, left - 1);
        co_return;
    }
    std::uint64_t places[65];
    for (auto _ : state)
        benchmark::DoNotOptimize(coflux::detail::running_places(&coflux::detail::this_thread, places, 65));
}
coflux::task<void, pool> begins(coflux::environment&, benchmark::State* state) {
    auto&& here = co_await coflux::context();
    co_await deep(here, *state, state->range(0));
}
/// An item is what the handler does: to read a chain of so many coroutines, and one.
void read_chain(benchmark::State& state) {
    pool workers(1);
    auto env = coflux::make_environment(workers);
    begins(env, &state).join();
}
BENCHMARK(read_chain)->Arg(1)->Arg(7)->Arg(63);

coflux::task<void, pool> waits(coflux::environment&, coflux::manual_reset_event* event) {
    co_await event->wait();
}
/// An item is a look at so many coroutines that wait.
void look(benchmark::State& state) {
    pool workers(1);
    auto env = coflux::make_environment(workers);
    coflux::manual_reset_event event;
    std::vector<coflux::task<void, pool>> all;
    for (std::int64_t i = 0; i < state.range(0); ++i) all.push_back(waits(env, &event));
    coflux::detail::wait_looks looks;
    coflux::detail::frame_names names;
    coflux::detail::stack_times times;
    for (auto _ : state) looks.look(1, names, times);
    event.set();
    for (auto& t : all) t.join();
}
BENCHMARK(look)->Arg(1)->Arg(10'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace

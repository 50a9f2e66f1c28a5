// For regression of our own mechanism, not for comparison: the lab compares runtimes.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <utility>

#include <coflux/coflux.hpp>

namespace {

using coflux::async_generator;
using coflux::borrowed;
using pool = coflux::thread_pool_executor;

async_generator<std::uint64_t> count(auto&&) {
    for (std::uint64_t i = 0;; ++i) co_yield i;
}
async_generator<const std::uint64_t&> lend(auto&&) {
    for (std::uint64_t i = 0;; ++i) co_yield i;
}
async_generator<std::uint64_t> nested(auto&&, std::int64_t levels) {
    auto&& here = co_await coflux::context();
    if (levels == 0) {
        for (std::uint64_t i = 0;; ++i) co_yield i;
    }
    co_yield coflux::elements_of(nested(here, levels - 1));
}
async_generator<std::uint64_t> yields_between(auto&&) {
    for (std::uint64_t i = 0;; ++i) {
        co_await coflux::yield();
        co_yield i;
    }
}
coflux::fork<std::uint64_t, pool> same(auto&&, std::uint64_t x) {
    co_return x;
}
async_generator<std::uint64_t> forks_ahead(auto&&) {
    auto&& here = co_await coflux::context();
    auto f = same(here, 0);
    for (std::uint64_t i = 1;; ++i) {
        auto next = same(here, i);
        co_yield co_await std::move(f);
        f = std::move(next);
    }
}
async_generator<std::uint64_t> one(auto&&) {
    co_yield std::uint64_t{1};
}

template <typename Make>
coflux::task<void, pool> consume(auto&&, borrowed<benchmark::State> state, Make make) {
    auto&& here = co_await coflux::context();
    auto g = make(here);
    for (auto _ : *state) {
        auto* const x = co_await g.next();
        benchmark::DoNotOptimize(*x);
    }
}
coflux::task<void, pool> make_and_destroy(auto&&, borrowed<benchmark::State> state) {
    auto&& here = co_await coflux::context();
    for (auto _ : *state) {
        auto g = one(here);
        auto* const x = co_await g.next();
        benchmark::DoNotOptimize(*x);
    }
}

template <typename Make>
void measure(benchmark::State& state, Make make) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    consume(env, borrowed(state), make).get();
    state.SetItemsProcessed(state.iterations());
}

void element(benchmark::State& state) {
    measure(state, [](coflux::environment& env) { return count(env); });
}
BENCHMARK(element)->UseRealTime();

void element_by_reference(benchmark::State& state) {
    measure(state, [](coflux::environment& env) { return lend(env); });
}
BENCHMARK(element_by_reference)->UseRealTime();

void element_of_nested(benchmark::State& state) {
    measure(state, [levels = state.range(0)](coflux::environment& env) { return nested(env, levels); });
}
BENCHMARK(element_of_nested)->ArgName("levels")->Arg(1)->Arg(10)->Arg(1000)->UseRealTime();

/// One yield() and one element.
void element_after_yield(benchmark::State& state) {
    measure(state, [](coflux::environment& env) { return yields_between(env); });
}
BENCHMARK(element_after_yield)->UseRealTime();

/// One fork of the generator, made before an element and awaited after it.
void element_and_fork(benchmark::State& state) {
    measure(state, [](coflux::environment& env) { return forks_ahead(env); });
}
BENCHMARK(element_and_fork)->UseRealTime();

void made_consumed_and_destroyed(benchmark::State& state) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    make_and_destroy(env, borrowed(state)).get();
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(made_consumed_and_destroyed)->UseRealTime();

}  // namespace

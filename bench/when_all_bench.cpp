// For regression of our own mechanism, not for comparison: the lab compares runtimes.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

namespace {

using coflux::borrowed;
using pool = coflux::thread_pool_executor;

coflux::fork<int, pool> value(auto&&, int x) {
    co_return x;
}

coflux::task<void, pool> all_of_two(auto&&, borrowed<benchmark::State> state) {
    auto&& here = co_await coflux::context();
    int x = 0;
    for (auto _ : *state) {
        auto a = value(here, x);
        auto b = value(here, 1);
        auto [p, q] = co_await coflux::when_all(std::move(a), std::move(b));
        x = p + q;
    }
    benchmark::DoNotOptimize(x);
}

/// An item is one child.
void when_all_of_two(benchmark::State& state) {
    pool threads(static_cast<std::size_t>(state.range(0)));
    auto env = coflux::make_environment(threads);
    all_of_two(env, borrowed(state)).get();
    state.SetItemsProcessed(state.iterations() * 2);
}
BENCHMARK(when_all_of_two)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime();

coflux::task<void, pool> all_of_range(auto&&, borrowed<benchmark::State> state, int count) {
    auto&& here = co_await coflux::context();
    std::size_t sum = 0;
    for (auto _ : *state) {
        std::vector<coflux::fork<int, pool>> forks;
        forks.reserve(static_cast<std::size_t>(count));
        for (int i = 0; i < count; ++i) forks.push_back(value(here, i));
        sum += (co_await coflux::when_all(std::move(forks))).size();
    }
    benchmark::DoNotOptimize(sum);
}

void when_all_of_ten(benchmark::State& state) {
    pool threads(static_cast<std::size_t>(state.range(0)));
    auto env = coflux::make_environment(threads);
    all_of_range(env, borrowed(state), 10).get();
    state.SetItemsProcessed(state.iterations() * 10);
}
BENCHMARK(when_all_of_ten)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime();

/// How many forks are joined.
enum class joined_by { when_all, hand_from_youngest, hand_from_oldest };

coflux::task<void, pool> joins(auto&&, borrowed<benchmark::State> state, std::size_t count, joined_by by) {
    auto&& here = co_await coflux::context();
    for (auto _ : *state) {
        std::vector<coflux::fork<int, pool>> forks;
        forks.reserve(count);
        for (std::size_t i = 0; i < count; ++i) forks.push_back(value(here, static_cast<int>(i)));
        std::size_t sum = 0;
        if (by == joined_by::when_all) {
            for (const int x : co_await coflux::when_all(std::move(forks))) sum += static_cast<std::size_t>(x);
        } else if (by == joined_by::hand_from_youngest) {
            for (std::size_t i = count; i != 0; --i) sum += static_cast<std::size_t>(co_await std::move(forks[i - 1]));
        } else {
            for (auto& f : forks) sum += static_cast<std::size_t>(co_await std::move(f));
        }
        benchmark::DoNotOptimize(sum);
    }
}

void joins_of_many(benchmark::State& state, joined_by by) {
    pool threads(static_cast<std::size_t>(state.range(1)));
    auto env = coflux::make_environment(threads);
    const auto count = static_cast<std::size_t>(state.range(0));
    joins(env, borrowed(state), count, by).get();
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
void sizes(benchmark::internal::Benchmark* b) {
    b->ArgNames({"forks", "threads"})->UseRealTime();
    for (const int threads : {1, 2}) {
        for (const int forks : {10'000, 50'000, 1'000'000}) b->Args({forks, threads});
    }
}
BENCHMARK_CAPTURE(joins_of_many, when_all, joined_by::when_all)->Apply(sizes);
BENCHMARK_CAPTURE(joins_of_many, by_hand_from_the_youngest, joined_by::hand_from_youngest)->Apply(sizes);
BENCHMARK_CAPTURE(joins_of_many, by_hand_from_the_oldest, joined_by::hand_from_oldest)->Apply(sizes);

}  // namespace

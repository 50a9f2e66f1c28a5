// For regression of our own mechanism, not for comparison: the lab compares runtimes.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <random>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using clock = std::chrono::steady_clock;
using pool = coflux::thread_pool_executor;

/// As far from its neighbours as one in a coroutine's frame.
class alignas(128) bare_timer : public coflux::detail::timer {
public:
    bare_timer() noexcept : timer(how_it_ends) {}
    using timer::set_queue;

private:
    static void nothing(coflux::detail::timer&) noexcept {}
    static constexpr coflux::detail::timer_kind how_it_ends{&nothing, nullptr, "ends"};
};

/// An item is a timer that is armed and cancelled on its own thread, among other timers.
void arm_and_cancel(benchmark::State& state) {
    coflux::detail::timer_queue queue;
    coflux::detail::this_thread.timers = &queue;
    std::mt19937_64 random(42);
    const auto deadline = [&] { return queue.now() + 1'000'000 + random() % 49'000'000; };
    std::vector<bare_timer> others(static_cast<std::size_t>(state.range(0)));
    for (bare_timer& t : others) {
        t.set_queue(queue);
        queue.arm(t, deadline());
    }
    std::vector<std::uint64_t> deadlines(4096);
    for (std::uint64_t& d : deadlines) d = deadline();
    bare_timer one;
    std::size_t i = 0;
    for (auto _ : state) {
        one.set_queue(queue);
        queue.arm(one, deadlines[i++ % deadlines.size()]);
        benchmark::ClobberMemory();
        benchmark::DoNotOptimize(queue.take(one));
    }
    for (bare_timer& t : others) benchmark::DoNotOptimize(queue.take(t));
    coflux::detail::this_thread.timers = nullptr;
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(arm_and_cancel)->ArgName("pending")->Arg(0)->Arg(100'000);

coflux::fork<void, pool> sleeps(auto&&, clock::time_point until) {
    co_await coflux::sleep_until(until);
}

coflux::task<void, pool> sleep_and_stop(auto&&, borrowed<benchmark::State> state, std::size_t pending) {
    auto&& here = co_await coflux::context();
    auto others = coflux::make_environment(here);
    std::vector<coflux::fork<void, pool>> all;
    for (std::size_t i = 0; i < pending; ++i) all.push_back(sleeps(others, clock::now() + 10h + i * 1us));
    co_await coflux::yield();
    for (auto _ : *state) {
        auto one = sleeps(here, clock::now() + 5h);
        co_await coflux::yield();  // it begins
        one.request_stop();
        benchmark::DoNotOptimize(co_await coflux::as_outcome(std::move(one)));
    }
    others.request_stop();
    co_await others.join();
}

/// An item is a fork that sleeps, is stopped and joined, while other forks sleep.
void stop_one(benchmark::State& state) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    sleep_and_stop(env, borrowed(state), static_cast<std::size_t>(state.range(0))).get();
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(stop_one)->ArgName("pending")->Arg(0)->Arg(100'000)->MeasureProcessCPUTime()->UseRealTime();

coflux::task<void, pool> stop_many(auto&&, borrowed<benchmark::State> state, std::size_t count) {
    auto&& here = co_await coflux::context();
    for (auto _ : *state) {
        auto sub = coflux::make_environment(here);
        std::vector<coflux::fork<void, pool>> all;
        all.reserve(count);
        for (std::size_t i = 0; i < count; ++i) all.push_back(sleeps(sub, clock::now() + 10h + i * 1us));
        co_await 20ms;  // all have begun
        const auto begin = clock::now();
        sub.request_stop();
        const auto requested = clock::now();
        all.clear();
        co_await sub.join();
        const auto end = clock::now();
        state->SetIterationTime(std::chrono::duration<double>(end - begin).count());
        state->counters["requested"] =
            std::chrono::duration<double, std::nano>(requested - begin).count() / double(count);
        state->counters["each"] = std::chrono::duration<double, std::nano>(end - begin).count() / double(count);
    }
}

/// An item is one of many sleeping forks, from the request to stop them all to the end of the last; `requested` and
/// `each` are nanoseconds.
void stop_all(benchmark::State& state) {
    pool threads(static_cast<std::size_t>(state.range(1)));
    auto env = coflux::make_environment(threads);
    stop_many(env, borrowed(state), static_cast<std::size_t>(state.range(0))).get();
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(stop_all)->ArgNames({"sleepers", "workers"})->Args({100'000, 1})->Args({100'000, 2})->UseManualTime();

double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

coflux::fork<void, pool> sleeps_for(auto&&, std::uint32_t microseconds, borrowed<std::int64_t> early) {
    const auto until = clock::now() + std::chrono::microseconds(microseconds);
    co_await coflux::sleep_for(std::chrono::microseconds(microseconds));
    if (clock::now() < until) ++*early;
}

coflux::task<void, pool> storm_of(auto&&, borrowed<const std::vector<std::uint32_t>> naps,
                                  borrowed<std::int64_t> early) {
    auto&& here = co_await coflux::context();
    std::vector<coflux::fork<void, pool>> all;
    all.reserve(naps->size());
    for (const std::uint32_t nap : *naps) all.push_back(sleeps_for(here, nap, early));
    co_await coflux::when_all(std::move(all));
}

/// 200 000 forks that sleep 1 to 50 ms; `cpu` in seconds.
void storm(benchmark::State& state) {
    std::mt19937 random(42);
    std::vector<std::uint32_t> naps(200'000);
    for (std::uint32_t& nap : naps) nap = 1000 + random() % 49'001;
    pool threads(static_cast<std::size_t>(state.range(0)));
    auto env = coflux::make_environment(threads);
    std::int64_t early = 0;
    const double before = cpu_seconds();
    for (auto _ : state) storm_of(env, borrowed<const std::vector<std::uint32_t>>(naps), borrowed(early)).get();
    state.counters["cpu"] = benchmark::Counter((cpu_seconds() - before) / static_cast<double>(state.iterations()));
    if (early != 0) state.SkipWithError("some woke early");
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(naps.size()));
}
BENCHMARK(storm)
    ->ArgName("workers")
    ->Arg(1)
    ->Arg(2)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

coflux::fork<int, pool> yields_once(auto&&) {
    co_await coflux::yield();
    co_return 1;
}

template <bool Limited>
coflux::task<void, pool> awaits(auto&&, borrowed<benchmark::State> state) {
    auto&& here = co_await coflux::context();
    for (auto _ : *state) {
        if constexpr (Limited) {
            benchmark::DoNotOptimize(co_await coflux::timeout(yields_once(here), 5s));
        } else {
            benchmark::DoNotOptimize(co_await yields_once(here));
        }
    }
}

/// An item is a fork that yields once, awaited without and with a timeout that does not come.
template <bool Limited>
void timeout_in_time(benchmark::State& state) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    awaits<Limited>(env, borrowed(state)).get();
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(timeout_in_time<false>)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(timeout_in_time<true>)->MeasureProcessCPUTime()->UseRealTime();

coflux::task<void, pool> oversleeps(auto&&, borrowed<benchmark::State> state, std::chrono::nanoseconds nap) {
    std::vector<double> late;
    for (auto _ : *state) {
        const auto until = clock::now() + nap;
        co_await coflux::sleep_until(until);
        late.push_back(std::chrono::duration<double, std::micro>(clock::now() - until).count());
    }
    std::nth_element(late.begin(), late.begin() + late.size() / 2, late.end());
    state->counters["late_us"] = late[late.size() / 2];
}

/// How late one sleeper is: the median, in microseconds; with `spin` microseconds of thread_pool_options::timer_spin.
void late(benchmark::State& state) {
    pool threads({.threads = 1, .timer_spin = std::chrono::microseconds(state.range(1))});
    auto env = coflux::make_environment(threads);
    oversleeps(env, borrowed(state), std::chrono::microseconds(state.range(0))).get();
}
BENCHMARK(late)
    ->ArgNames({"nap_us", "spin"})
    ->ArgsProduct({{20, 1000}, {0, 100}})
    ->Iterations(300)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

coflux::fork<void, pool> waits(coflux::environment&, borrowed<coflux::timer> t) {
    (void)co_await t->wait();
}
coflux::task<void, pool> moves_a_timer(coflux::environment&, borrowed<benchmark::State> state) {
    auto&& here = co_await coflux::context();
    coflux::timer t(10h);
    auto waiter = waits(here, borrowed(t));
    co_await coflux::yield();
    auto d = 10h;
    for (auto _ : *state) {
        if (state->range(0) != 0) d = d == 10h ? 9h : 10h;
        benchmark::DoNotOptimize(t.reset(d));
    }
    t.stop();
    co_await std::move(waiter);
}

/// An item is a reset of a timer that a coroutine waits for: to a moment further away, or sooner and further in turn.
void reset_timer(benchmark::State& state) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    moves_a_timer(env, borrowed(state)).get();
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(reset_timer)->ArgName("sooner")->Arg(0)->Arg(1)->MeasureProcessCPUTime()->UseRealTime();

/// An item is a permit that is there.
void take_permit(benchmark::State& state) {
    coflux::rate_limiter limiter(1'000'000'000, 1ns, 1);
    for (auto _ : state) benchmark::DoNotOptimize(limiter.try_acquire());
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(take_permit);

/// An item is a value that is pushed and received, among values that come later.
void push_and_pop(benchmark::State& state) {
    coflux::delay_queue<std::uint64_t> queue;
    std::mt19937_64 random(42);
    const auto begin = coflux::clock::now();
    for (std::int64_t i = 0; i != state.range(0); ++i)
        benchmark::DoNotOptimize(queue.push(1, begin + 1h + std::chrono::nanoseconds(random() % 1'000'000'000)));
    for (auto _ : state) {
        benchmark::DoNotOptimize(queue.push(2, begin));
        benchmark::DoNotOptimize(queue.try_pop());
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(push_and_pop)->ArgName("pending")->Arg(0)->Arg(100'000);

/// An item is a value that gets another moment, anywhere among values that come later.
void move_value(benchmark::State& state) {
    coflux::delay_queue<std::uint64_t> queue;
    std::mt19937_64 random(42);
    const auto begin = coflux::clock::now() + 1h;
    std::vector<coflux::delay_key> keys;
    for (std::int64_t i = 0; i != state.range(0); ++i) keys.push_back(queue.push(1, begin));
    for (auto _ : state) {
        const auto at = random();
        benchmark::DoNotOptimize(
            queue.reset(keys[at % keys.size()], begin + std::chrono::nanoseconds(at % 1'000'000'000)));
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(move_value)->ArgName("pending")->Arg(100)->Arg(100'000);

}  // namespace

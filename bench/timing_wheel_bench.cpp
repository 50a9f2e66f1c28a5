// For regression of our own mechanism, not for comparison: the lab compares runtimes.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <coflux/time/detail/timing_wheel.hpp>

namespace {

using coflux::detail::timer_node;
using coflux::detail::timing_wheel;

constexpr std::uint64_t microsecond = 1000;
constexpr std::uint64_t millisecond = 1'000'000;
constexpr std::uint64_t second = 1'000'000'000;

/// As far from its neighbours as a timer in a coroutine's frame.
struct alignas(128) frame {
    timer_node timer;
};

struct times {
    std::mt19937_64 random{42};
    std::uint64_t between(std::uint64_t first, std::uint64_t last) { return first + random() % (last - first + 1); }
};

/// A wheel of nanoseconds with the given number of timers of 1 to 50 ms, or of up to a minute.
struct pending {
    explicit pending(const benchmark::State& state)
        : longest(state.range(1) == 0 ? 50 * millisecond : 60 * second),
          frames(static_cast<std::size_t>(state.range(0))) {
        for (frame& f : frames) wheel.insert(f.timer, time.between(millisecond, longest));
    }
    ~pending() {
        for (frame& f : frames) wheel.cancel(f.timer);
    }

    const std::uint64_t longest;
    times time;
    timing_wheel wheel;
    std::vector<frame> frames;
};

/// An item is a timeout that does not come: armed and cancelled.
void insert_and_cancel(benchmark::State& state) {
    pending p(state);
    std::vector<std::uint64_t> deadlines(4096);
    for (std::uint64_t& deadline : deadlines) deadline = p.time.between(millisecond, p.longest);
    frame one;
    std::size_t i = 0;
    for (auto _ : state) {
        p.wheel.insert(one.timer, deadlines[i++ % deadlines.size()]);
        benchmark::ClobberMemory();
        p.wheel.cancel(one.timer);
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(insert_and_cancel)->ArgNames({"pending", "minute"})->ArgsProduct({{0, 1000, 100'000}, {0, 1}});

/// An item is one of the pending, chosen at random, cancelled and armed again: its neighbours are in no cache.
void cancel_and_insert_any(benchmark::State& state) {
    pending p(state);
    std::vector<std::pair<std::uint32_t, std::uint64_t>> choices(1U << 16);
    for (auto& [which, deadline] : choices) {
        which = static_cast<std::uint32_t>(p.time.between(0, p.frames.size() - 1));
        deadline = p.time.between(millisecond, p.longest);
    }
    std::size_t i = 0;
    for (auto _ : state) {
        const auto& [which, deadline] = choices[i++ % choices.size()];
        p.wheel.cancel(p.frames[which].timer);
        p.wheel.insert(p.frames[which].timer, deadline);
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(cancel_and_insert_any)->ArgNames({"pending", "minute"})->ArgsProduct({{1000, 100'000}, {0, 1}});

/// An item is a timer of 1 to 50 ms from its arming to its expiry; the clock moves on by `step` microseconds at a time,
/// and a tick is `tick` nanoseconds.
void storm(benchmark::State& state) {
    std::vector<frame> frames(200'000);
    std::vector<std::uint64_t> deadlines(frames.size());
    const auto tick = static_cast<std::uint64_t>(state.range(0));
    const std::uint64_t step = static_cast<std::uint64_t>(state.range(1)) * microsecond / tick;
    times time;
    for (std::uint64_t& d : deadlines) d = time.between(millisecond, 50 * millisecond) / tick;
    timing_wheel wheel;
    for (auto _ : state) {
        const std::uint64_t start = wheel.now();
        for (std::size_t i = 0; i < frames.size(); ++i) wheel.insert(frames[i].timer, start + deadlines[i]);
        std::size_t fired = 0;
        for (std::uint64_t now = start; !wheel.empty(); now += step) {
            fired += wheel.advance(now, [](timer_node& timer) noexcept { benchmark::DoNotOptimize(&timer); });
        }
        if (fired != frames.size()) state.SkipWithError("timers were lost");
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(frames.size()));
    state.counters["per_timer"] =
        benchmark::Counter(static_cast<double>(frames.size()),
                           benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(storm)->ArgNames({"tick", "step"})->ArgsProduct({{1, 1000}, {10, 1000}})->Unit(benchmark::kMillisecond);

/// An item is an iteration of an executor's loop: the present moves on by a microsecond, nothing is due, what is next
/// is asked.
void turn(benchmark::State& state) {
    timing_wheel wheel;
    frame far;
    wheel.insert(far.timer, timing_wheel::never);
    std::uint64_t now = 0;
    for (auto _ : state) {
        now += microsecond;
        wheel.advance(now, [](timer_node& timer) noexcept { benchmark::DoNotOptimize(&timer); });
        benchmark::DoNotOptimize(wheel.next_deadline());
    }
    state.SetItemsProcessed(state.iterations());
    wheel.cancel(far.timer);
}
BENCHMARK(turn);

/// An item is an hour in which one timer comes due.
void lone_hour(benchmark::State& state) {
    timing_wheel wheel;
    frame lone;
    for (auto _ : state) {
        wheel.insert(lone.timer, wheel.now() + 3600 * second);
        wheel.advance(wheel.next_deadline(), [](timer_node& timer) noexcept { benchmark::DoNotOptimize(&timer); });
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(lone_hour);

}  // namespace

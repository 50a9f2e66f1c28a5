// For regression of our own mechanism, not for comparison: the lab compares runtimes.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <tuple>
#include <vector>

#include <coflux/stream/flow.hpp>
#include <coflux/stream/window.hpp>

namespace {

namespace stream = coflux::stream;
using namespace std::chrono_literals;
using key = std::uint64_t;
using result = stream::windowed<key, std::uint64_t>;

struct last_operator {
    [[maybe_unused]] static constexpr bool has_state = false;
    [[maybe_unused]] static constexpr bool reads_ahead = false;
    std::uint64_t sum = 0;

    void process(stream::place&, result& out) { sum += out.value; }
    void advance(stream::place&, stream::event_time) { benchmark::DoNotOptimize(sum); }
    void save(stream::state_writer&) const {}
    void load(stream::state_reader&) {}
};

/// One slot, without the engine. A record comes each 10 us, and the watermark behind each 1000. An item is a record.
template <typename Spec>
void count_by_key(benchmark::State& state, Spec spec) {
    std::minstd_rand random(1);
    std::vector<key> keys(1 << 16);
    for (key& k : keys) k = random() % static_cast<key>(state.range(0));
    const std::tuple stages{stream::window(spec, stream::count())};
    auto op = stream::detail::bind_stages<key, key>(stages, last_operator());
    stream::place at;
    at.time = stream::event_time(1h);
    std::size_t i = 0;
    for (auto _ : state) {
        for (int n = 0; n != 1000; ++n) {
            key& k = keys[i++ % keys.size()];
            at.time += 10us;
            at.key = &k;
            op.process(at, k);
        }
        op.advance(at, at.time);
    }
    state.SetItemsProcessed(state.iterations() * 1000);
}

// A window has 100 000 records.
void stream_window_tumbling_count(benchmark::State& state) {
    count_by_key(state, stream::tumbling(1s));
}
BENCHMARK(stream_window_tumbling_count)->Arg(1000)->Arg(100'000);

// The same windows, with 5 and with 100 over each other.
void stream_window_sliding_count_5(benchmark::State& state) {
    count_by_key(state, stream::sliding(1s, 200ms));
}
BENCHMARK(stream_window_sliding_count_5)->Arg(1000);

void stream_window_sliding_count_100(benchmark::State& state) {
    count_by_key(state, stream::sliding(1s, 10ms));
}
BENCHMARK(stream_window_sliding_count_100)->Arg(1000);

void stream_window_session_count(benchmark::State& state) {
    count_by_key(state, stream::session(100ms));
}
BENCHMARK(stream_window_session_count)->Arg(1000);

}  // namespace

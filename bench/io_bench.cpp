// For regression of our own mechanism, not for comparison: the lab compares runtimes.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::tcp_stream;
using worker = coflux::worker_executor;

struct pair {
    tcp_stream near;
    tcp_stream far;
};
coflux::call<pair> connected(coflux::environment&) {
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));
    pair p;
    p.near = co_await tcp_stream::connect(listener.local_endpoint());
    p.far = co_await listener.accept();
    co_return p;
}

/// A byte is there when it is read.
template <bool Limited>
coflux::task<void, worker> reads_what_is_there(coflux::environment&, borrowed<benchmark::State> state) {
    auto&& here = co_await coflux::context();
    pair p = co_await connected(here);
    std::array<std::byte, 1> one{};
    for (auto _ : *state) {
        co_await p.far.write_all("x");
        if constexpr (Limited) {
            benchmark::DoNotOptimize(co_await coflux::timeout(p.near.read_some(one), 10s));
        } else {
            benchmark::DoNotOptimize(co_await p.near.read_some(one));
        }
    }
}

coflux::fork<void, worker> answers(coflux::environment&, tcp_stream* peer) {
    std::array<std::byte, 64> buffer{};
    while (const std::size_t n = co_await peer->read_some(buffer)) co_await peer->write_all(std::span(buffer).first(n));
}
/// Each read waits: the answer is another coroutine's.
template <bool Limited>
coflux::task<void, worker> asks(coflux::environment&, borrowed<benchmark::State> state) {
    auto&& here = co_await coflux::context();
    pair p = co_await connected(here);
    auto other = answers(here, &p.far);
    std::array<std::byte, 64> got{};
    for (auto _ : *state) {
        co_await p.near.write_all("hello");
        if constexpr (Limited) {
            benchmark::DoNotOptimize(co_await coflux::timeout(p.near.read_some(got), 10s));
        } else {
            benchmark::DoNotOptimize(co_await p.near.read_some(got));
        }
    }
    p.near.shutdown_send();
    co_await std::move(other);
}

constexpr int rounds = 50;
template <bool Limited>
coflux::fork<void, worker> asks_in_rounds(coflux::environment&, tcp_stream* of) {
    std::array<std::byte, 64> got{};
    for (int i = 0; i < rounds; ++i) {
        co_await of->write_all("hello");
        if constexpr (Limited) {
            benchmark::DoNotOptimize(co_await coflux::timeout(of->read_some(got), 10s));
        } else {
            benchmark::DoNotOptimize(co_await of->read_some(got));
        }
    }
}
/// In nanoseconds a read.
template <bool Limited>
coflux::call<double> time_of_rounds(coflux::environment&, std::vector<pair>* connections) {
    auto&& here = co_await coflux::context();
    const auto begun = std::chrono::steady_clock::now();
    std::vector<coflux::fork<void, worker>> all;
    for (pair& p : *connections) all.push_back(asks_in_rounds<Limited>(here, &p.near));
    for (auto& each : all) co_await std::move(each);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begun;
    co_return took.count() / rounds / static_cast<double>(connections->size());
}
/// The cost that a limit adds to a read that waits. The system's calls around it differ by more from second to second,
/// so rounds with limits and without take turns. The counter is the median of the differences, in nanoseconds a read.
coflux::task<void, worker> compares_limits(coflux::environment&, borrowed<benchmark::State> state) {
    auto&& here = co_await coflux::context();
    std::vector<pair> connections;
    std::vector<coflux::fork<void, worker>> others;
    for (int i = 0; i < state->range(0); ++i) connections.push_back(co_await connected(here));
    for (pair& p : connections) others.push_back(answers(here, &p.far));
    std::vector<double> differences;
    for (auto _ : *state) {
        const double limited = co_await time_of_rounds<true>(here, &connections);
        const double plain = co_await time_of_rounds<false>(here, &connections);
        const double plain_again = co_await time_of_rounds<false>(here, &connections);
        const double limited_again = co_await time_of_rounds<true>(here, &connections);
        differences.push_back((limited + limited_again - plain - plain_again) / 2);
    }
    const auto middle = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2);
    std::nth_element(differences.begin(), middle, differences.end());
    state->counters["limit_ns"] = *middle;
    for (pair& p : connections) p.near.shutdown_send();
    for (auto& each : others) co_await std::move(each);
}

coflux::fork<void, worker> reads(coflux::environment&, tcp_stream* from) {
    std::array<std::byte, 1> one{};
    (void)co_await from->read_some(one);
}
/// A fork that waits for bytes is stopped, and joined.
coflux::task<void, worker> stops_reads(coflux::environment&, borrowed<benchmark::State> state) {
    auto&& here = co_await coflux::context();
    pair p = co_await connected(here);
    for (auto _ : *state) {
        auto inside = coflux::make_environment(here);
        auto reader = reads(inside, &p.near);
        co_await coflux::yield();  // it waits
        inside.request_stop();
        benchmark::DoNotOptimize((co_await coflux::as_outcome(std::move(reader))).is_stopped());
        co_await inside.join();
    }
}

template <coflux::task<void, worker> (*Program)(coflux::environment&, borrowed<benchmark::State>)>
void on_a_worker(benchmark::State& state) {
    worker one;
    auto env = coflux::make_environment(one);
    Program(env, borrowed(state)).get();
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(on_a_worker<reads_what_is_there<false>>)->Name("write_and_read")->UseRealTime();
BENCHMARK(on_a_worker<reads_what_is_there<true>>)->Name("write_and_read/limited")->UseRealTime();
BENCHMARK(on_a_worker<asks<false>>)->Name("ask")->UseRealTime();
BENCHMARK(on_a_worker<asks<true>>)->Name("ask/limited")->UseRealTime();
BENCHMARK(on_a_worker<compares_limits>)->Name("limit")->Arg(1)->Arg(20)->UseRealTime();
BENCHMARK(on_a_worker<stops_reads>)->Name("stop_read")->UseRealTime();

}  // namespace

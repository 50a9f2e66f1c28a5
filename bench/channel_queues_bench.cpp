// For regression of our own mechanism, not for comparison: the lab compares runtimes.
#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <coflux/coflux.hpp>

namespace {

using coflux::borrowed;
using pool = coflux::thread_pool_executor;

constexpr std::uint64_t values_a_round = 100'000;
constexpr std::size_t batch = 256;

template <typename Sender>
inline constexpr bool waits_for_room = requires(Sender& tx, std::uint64_t v) { tx.reserve(); };

/// Sends `values_a_round` values a round, in runs of `run` between yields, and waits for the answer.
template <typename Sender, typename Answers>
coflux::task<void, pool> feeds(coflux::environment&, borrowed<benchmark::State> state, Sender tx, Answers answers,
                               std::uint64_t run) {
    for (auto _ : *state) {
        for (std::uint64_t i = 0; i != values_a_round;) {
            for (std::uint64_t last = i + run; i != last && i != values_a_round; ++i) {
                std::uint64_t v = i;
                if constexpr (waits_for_room<Sender>) {
                    (void)co_await tx.send(std::move(v));
                } else {
                    benchmark::DoNotOptimize(tx.send(std::move(v)));
                }
            }
            co_await coflux::yield();
        }
        (void)co_await answers.receive();
    }
}

template <typename Receiver, typename Answer>
coflux::task<std::uint64_t, pool> drains(coflux::environment&, Receiver rx, Answer answer) {
    std::array<std::uint64_t, batch> values;
    std::uint64_t sum = 0;
    std::uint64_t left = values_a_round;
    while (const std::size_t n = co_await rx.receive_some(std::span(values))) {
        for (std::size_t i = 0; i != n; ++i) sum += values[i];
        left -= n;
        if (left != 0) continue;
        left = values_a_round;
        benchmark::DoNotOptimize(answer.send(1));
    }
    co_return sum;
}

template <typename Receiver, typename Answer>
coflux::task<std::uint64_t, pool> drains_singly(coflux::environment&, Receiver rx, Answer answer) {
    std::uint64_t sum = 0;
    std::uint64_t left = values_a_round;
    while (const auto v = co_await rx.receive()) {
        sum += *v;
        if (--left != 0) continue;
        left = values_a_round;
        benchmark::DoNotOptimize(answer.send(1));
    }
    co_return sum;
}

enum class receiving { batches, singly };

template <receiving How, typename Make>
void move_values(benchmark::State& state, Make make, std::uint64_t run) {
    const bool two = state.range(0) == 2;
    pool here(1);
    pool elsewhere(1);
    auto env = coflux::make_environment(here);
    auto other = coflux::make_environment(two ? elsewhere : here);
    auto [tx, rx] = make();
    auto [answer, answers] = coflux::make_unbounded_mpsc<int>();
    auto drain = [&, &rx = rx, &answer = answer] {
        if constexpr (How == receiving::batches) {
            return drains(other, std::move(rx), std::move(answer));
        } else {
            return drains_singly(other, std::move(rx), std::move(answer));
        }
    }();
    feeds(env, borrowed(state), std::move(tx), std::move(answers), run).get();
    benchmark::DoNotOptimize(drain.get());
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(values_a_round));
}

void unbounded_mpsc_batches(benchmark::State& state) {
    move_values<receiving::batches>(state, [] { return coflux::make_unbounded_mpsc<std::uint64_t>(); }, 100);
}
void unbounded_mpsc_singly(benchmark::State& state) {
    move_values<receiving::singly>(state, [] { return coflux::make_unbounded_mpsc<std::uint64_t>(); }, 100);
}
void mpsc_batches(benchmark::State& state) {
    move_values<receiving::batches>(state, [] { return coflux::make_mpsc<std::uint64_t>(1024); }, 1000);
}
void mpsc_singly(benchmark::State& state) {
    move_values<receiving::singly>(state, [] { return coflux::make_mpsc<std::uint64_t>(1024); }, 1000);
}
void spsc_batches(benchmark::State& state) {
    move_values<receiving::batches>(state, [] { return coflux::make_spsc<std::uint64_t>(1024); }, 1000);
}
void spsc_singly(benchmark::State& state) {
    move_values<receiving::singly>(state, [] { return coflux::make_spsc<std::uint64_t>(1024); }, 1000);
}

// CPU time is that of the whole process: on a busy machine it says more than the time that has passed.
#define COFLUX_BENCH(name)                                                                             \
    BENCHMARK(name)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->MeasureProcessCPUTime()->Unit( \
        benchmark::kMicrosecond)
COFLUX_BENCH(unbounded_mpsc_batches);
COFLUX_BENCH(unbounded_mpsc_singly);
COFLUX_BENCH(mpsc_batches);
COFLUX_BENCH(mpsc_singly);
COFLUX_BENCH(spsc_batches);
COFLUX_BENCH(spsc_singly);

/// Without waits: the operations alone.
void unbounded_mpsc_send_and_try_receive(benchmark::State& state) {
    auto [tx, rx] = coflux::make_unbounded_mpsc<std::uint64_t>();
    for (auto _ : state) {
        benchmark::DoNotOptimize(tx.send(std::uint64_t{1}));
        benchmark::DoNotOptimize(rx.try_receive());
    }
}
BENCHMARK(unbounded_mpsc_send_and_try_receive);
void spsc_try_send_and_try_receive(benchmark::State& state) {
    auto [tx, rx] = coflux::make_spsc<std::uint64_t>(64);
    for (auto _ : state) {
        benchmark::DoNotOptimize(tx.try_send(std::uint64_t{1}));
        benchmark::DoNotOptimize(rx.try_receive());
    }
}
BENCHMARK(spsc_try_send_and_try_receive);
void oneshot_made_sent_and_received(benchmark::State& state) {
    for (auto _ : state) {
        auto [tx, rx] = coflux::make_oneshot<std::uint64_t>();
        benchmark::DoNotOptimize(tx.send(std::uint64_t{1}));
        benchmark::DoNotOptimize(rx.try_receive());
    }
}
BENCHMARK(oneshot_made_sent_and_received);
void watch_send_and_borrow(benchmark::State& state) {
    auto [tx, rx] = coflux::make_watch<std::uint64_t>(0);
    for (auto _ : state) {
        benchmark::DoNotOptimize(tx.send(std::uint64_t{1}));
        benchmark::DoNotOptimize(*rx.borrow());
    }
}
BENCHMARK(watch_send_and_borrow);
void broadcast_send_and_try_receive(benchmark::State& state) {
    auto [tx, rx] = coflux::make_broadcast<std::uint64_t>(64);
    for (auto _ : state) {
        benchmark::DoNotOptimize(tx.send(std::uint64_t{1}));
        benchmark::DoNotOptimize(*rx.try_receive());
    }
}
BENCHMARK(broadcast_send_and_try_receive);

/// One value there and back on one worker: every receive waits.
coflux::task<void, pool> answers(coflux::environment&, coflux::unbounded_mpsc_sender<int> tx,
                                 coflux::mpsc_receiver<int> rx) {
    for (;;) {
        const auto question = co_await rx.receive();
        if (!question) break;
        benchmark::DoNotOptimize(tx.send(1));
    }
}
coflux::task<void, pool> asks(coflux::environment&, borrowed<benchmark::State> state,
                              coflux::unbounded_mpsc_sender<int> tx, coflux::mpsc_receiver<int> rx) {
    for (auto _ : *state) {
        benchmark::DoNotOptimize(tx.send(1));
        auto answer = co_await rx.receive();
        benchmark::DoNotOptimize(answer);
    }
}
void unbounded_mpsc_there_and_back(benchmark::State& state) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    auto [there, questions] = coflux::make_unbounded_mpsc<int>();
    auto [back, replies] = coflux::make_unbounded_mpsc<int>();
    auto other = answers(env, std::move(back), std::move(questions));
    asks(env, borrowed(state), std::move(there), std::move(replies)).get();
    other.get();
}
BENCHMARK(unbounded_mpsc_there_and_back)->UseRealTime()->MeasureProcessCPUTime();

}  // namespace

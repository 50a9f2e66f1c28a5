// For regression of our own mechanism, not for comparison: the lab compares runtimes.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

namespace {

using coflux::borrowed;
using pool = coflux::thread_pool_executor;
using bounded = coflux::channel<std::size_t[1024]>;
using rendezvous = coflux::channel<std::size_t[]>;

// --- without a wait

coflux::task<void, pool> sends_and_receives(auto&&, borrowed<benchmark::State> state) {
    bounded ch;
    std::size_t sum = 0;
    for (auto _ : *state) {
        (void)co_await ch.send(1);
        sum += *co_await ch.receive();
    }
    benchmark::DoNotOptimize(sum);
}

/// An item is one send and one receive by the same coroutine.
void channel_send_and_receive(benchmark::State& state) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    sends_and_receives(env, borrowed(state)).get();
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(channel_send_and_receive)->UseRealTime();

// --- many to many

template <typename Channel>
coflux::fork<void, pool> produces(auto&&, borrowed<Channel> ch, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) (void)co_await ch->send(i);
}
template <typename Channel>
coflux::fork<std::size_t, pool> consumes(auto&&, borrowed<Channel> ch) {
    std::size_t sum = 0;
    while (auto v = co_await ch->receive()) sum += *v;
    co_return sum;
}

constexpr std::size_t items = 1 << 17;

template <typename Channel>
coflux::task<std::size_t, pool> many_to_many(auto&&, std::size_t each_side) {
    auto&& here = co_await coflux::context();
    Channel ch;
    std::vector<coflux::fork<void, pool>> producers;
    std::vector<coflux::fork<std::size_t, pool>> consumers;
    for (std::size_t i = 0; i < each_side; ++i) producers.push_back(produces(here, borrowed(ch), items / each_side));
    for (std::size_t i = 0; i < each_side; ++i) consumers.push_back(consumes(here, borrowed(ch)));
    co_await coflux::when_all(std::move(producers));
    ch.close();
    std::size_t sum = 0;
    for (const std::size_t s : co_await coflux::when_all(std::move(consumers))) sum += s;
    co_return sum;
}

/// An item goes from one of so many producers to one of as many consumers.
template <typename Channel>
void channel_many_to_many(benchmark::State& state) {
    pool threads(static_cast<std::size_t>(state.range(0)));
    auto env = coflux::make_environment(threads);
    const auto each_side = static_cast<std::size_t>(state.range(1));
    const std::size_t each = items / each_side;
    for (auto _ : state) {
        if (many_to_many<Channel>(env, each_side).get() != each_side * (each * (each - 1) / 2))
            state.SkipWithError("wrong sum");
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(items));
}
BENCHMARK(channel_many_to_many<bounded>)
    ->ArgNames({"threads", "each_side"})
    ->ArgsProduct({{1, 2}, {1, 4}})
    ->UseRealTime();
BENCHMARK(channel_many_to_many<rendezvous>)
    ->ArgNames({"threads", "each_side"})
    ->ArgsProduct({{1, 2}, {1, 4}})
    ->UseRealTime();

// --- there and back

coflux::fork<void, pool> answers(auto&&, borrowed<rendezvous> there, borrowed<rendezvous> back) {
    while (auto v = co_await there->receive()) (void)co_await back->send(*v + 1);
}
coflux::task<void, pool> asks(auto&&, borrowed<benchmark::State> state) {
    auto&& here = co_await coflux::context();
    rendezvous there;
    rendezvous back;
    auto other = answers(here, borrowed(there), borrowed(back));
    std::size_t x = 0;
    for (auto _ : *state) {
        (void)co_await there.send(x);
        x = *co_await back.receive();
    }
    there.close();
    co_await std::move(other);
    benchmark::DoNotOptimize(x);
}

/// An item is a round: a value there and its answer back, each by a rendezvous.
void channel_ping_pong(benchmark::State& state) {
    pool threads(static_cast<std::size_t>(state.range(0)));
    auto env = coflux::make_environment(threads);
    asks(env, borrowed(state)).get();
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(channel_ping_pong)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime();

}  // namespace

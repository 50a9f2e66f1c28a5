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

/// Runs the root that `make` makes, on a pool of `threads`.
template <typename Make>
void on_pool(std::size_t threads, Make make) {
    pool workers(threads);
    auto env = coflux::make_environment(workers);
    make(env).get();
}

coflux::task<void, pool> locks(coflux::environment&, borrowed<benchmark::State> state) {
    coflux::mutex m;
    for (auto _ : *state) {
        const coflux::mutex::guard guard = co_await m.lock();
        benchmark::ClobberMemory();
    }
}
/// An item is a lock and an unlock without contention.
void mutex_uncontended(benchmark::State& state) {
    on_pool(1, [&](coflux::environment& env) { return locks(env, borrowed(state)); });
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(mutex_uncontended)->UseRealTime();

coflux::task<void, pool> locks_shared(coflux::environment&, borrowed<benchmark::State> state) {
    coflux::shared_mutex m;
    for (auto _ : *state) {
        const coflux::shared_mutex::shared_guard guard = co_await m.lock_shared();
        benchmark::ClobberMemory();
    }
}
/// The same for a reader of a shared_mutex.
void shared_mutex_uncontended(benchmark::State& state) {
    on_pool(1, [&](coflux::environment& env) { return locks_shared(env, borrowed(state)); });
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(shared_mutex_uncontended)->UseRealTime();

coflux::task<void, pool> acquires(coflux::environment&, borrowed<benchmark::State> state) {
    coflux::semaphore s(1);
    for (auto _ : *state) {
        co_await s.acquire();
        benchmark::ClobberMemory();
        s.release();
    }
}
/// An item is an acquire and a release without a waiter.
void semaphore_uncontended(benchmark::State& state) {
    on_pool(1, [&](coflux::environment& env) { return acquires(env, borrowed(state)); });
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(semaphore_uncontended)->UseRealTime();

/// With the lock, until it is enough; each hands the lock to the next, which waits for it already.
coflux::fork<void, pool> passes_on(coflux::environment&, borrowed<coflux::mutex> m, borrowed<const bool> enough) {
    coflux::mutex::guard guard = co_await m->lock();
    while (!*enough) {
        guard.unlock();
        guard = co_await m->lock();
    }
}
coflux::task<void, pool> hands_off(coflux::environment&, borrowed<benchmark::State> state) {
    auto&& here = co_await coflux::context();
    coflux::mutex m;
    bool enough = false;
    coflux::mutex::guard guard = co_await m.lock();
    std::vector<coflux::fork<void, pool>> others;
    for (std::int64_t i = 0; i < state->range(0); ++i)
        others.push_back(passes_on(here, borrowed(m), borrowed<const bool>(enough)));
    co_await coflux::yield();  // they wait now
    for (auto _ : *state) {
        guard.unlock();
        guard = co_await m.lock();
    }
    enough = true;
    guard.unlock();
    co_await coflux::when_all(std::move(others));  // before `enough` dies
}
/// An item is one hand-off of the lock: unlock, a wait for it, and the resumption of the next owner.
void mutex_handoff(benchmark::State& state) {
    on_pool(1, [&](coflux::environment& env) { return hands_off(env, borrowed(state)); });
    state.SetItemsProcessed(state.iterations() * (state.range(0) + 1));
}
BENCHMARK(mutex_handoff)->ArgName("others")->Arg(1)->Arg(7)->UseRealTime();

coflux::fork<void, pool> counts(coflux::environment&, borrowed<coflux::mutex> m, borrowed<std::int64_t> sum,
                                std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
        const coflux::mutex::guard guard = co_await m->lock();
        ++*sum;
    }
}
coflux::task<void, pool> contends(coflux::environment&, borrowed<benchmark::State> state) {
    auto&& here = co_await coflux::context();
    for (auto _ : *state) {
        coflux::mutex m;
        std::int64_t sum = 0;
        std::vector<coflux::fork<void, pool>> all;
        for (int i = 0; i < 4; ++i) all.push_back(counts(here, borrowed(m), borrowed(sum), 10'000));
        co_await coflux::when_all(std::move(all));
        if (sum != 40'000) state->SkipWithError("lost counts");
    }
}
/// An item is a lock and an unlock, by four coroutines on two threads.
void mutex_contended(benchmark::State& state) {
    on_pool(2, [&](coflux::environment& env) { return contends(env, borrowed(state)); });
    state.SetItemsProcessed(state.iterations() * 40'000);
}
BENCHMARK(mutex_contended)->UseRealTime();

coflux::fork<void, pool> answers(coflux::environment&, borrowed<coflux::auto_reset_event> ping,
                                 borrowed<coflux::auto_reset_event> pong, borrowed<const bool> enough) {
    for (;;) {
        co_await ping->wait();
        pong->set();
        if (*enough) co_return;
    }
}
coflux::task<void, pool> asks(coflux::environment&, borrowed<benchmark::State> state) {
    auto&& here = co_await coflux::context();
    coflux::auto_reset_event ping;
    coflux::auto_reset_event pong;
    bool enough = false;
    auto other = answers(here, borrowed(ping), borrowed(pong), borrowed<const bool>(enough));
    co_await coflux::yield();
    for (auto _ : *state) {
        ping.set();
        co_await pong.wait();
    }
    enough = true;
    ping.set();
    co_await std::move(other);
}
/// An item is a round: two events set, two waits.
void auto_reset_event_ping_pong(benchmark::State& state) {
    on_pool(1, [&](coflux::environment& env) { return asks(env, borrowed(state)); });
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(auto_reset_event_ping_pong)->UseRealTime();

coflux::fork<void, pool> meets(coflux::environment&, borrowed<coflux::barrier<>> b, borrowed<const bool> enough) {
    while (!*enough) co_await b->arrive_and_wait();
    b->arrive_and_drop();
}
coflux::task<void, pool> leads(coflux::environment&, borrowed<benchmark::State> state) {
    auto&& here = co_await coflux::context();
    coflux::barrier<> b(2);
    bool enough = false;
    auto other = meets(here, borrowed(b), borrowed<const bool>(enough));
    for (auto _ : *state) co_await b.arrive_and_wait();
    enough = true;
    b.arrive_and_drop();
    co_await std::move(other);
}
/// An item is a phase of two coroutines on one worker.
void barrier_of_two(benchmark::State& state) {
    on_pool(1, [&](coflux::environment& env) { return leads(env, borrowed(state)); });
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(barrier_of_two)->UseRealTime();

coflux::fork<void, pool> consumes(coflux::environment&, borrowed<coflux::mutex> m,
                                  borrowed<coflux::condition_variable> changed, borrowed<std::int64_t> items) {
    for (;;) {
        coflux::mutex::guard guard = co_await m->lock();
        while (*items == 0) co_await changed->wait(guard);
        if (*items < 0) co_return;
        --*items;
        changed->notify_one();
    }
}
coflux::task<void, pool> produces(coflux::environment&, borrowed<benchmark::State> state) {
    auto&& here = co_await coflux::context();
    coflux::mutex m;
    coflux::condition_variable changed;
    std::int64_t items = 0;
    auto consumer = consumes(here, borrowed(m), borrowed(changed), borrowed(items));
    for (auto _ : *state) {
        coflux::mutex::guard guard = co_await m.lock();
        while (items != 0) co_await changed.wait(guard);
        ++items;
        changed.notify_one();
    }
    {
        coflux::mutex::guard guard = co_await m.lock();
        while (items != 0) co_await changed.wait(guard);
        items = -1;
        changed.notify_one();
    }
    co_await std::move(consumer);
}
/// An item is handed from one coroutine to the other through a mutex and a condition.
void condition_variable_item(benchmark::State& state) {
    on_pool(1, [&](coflux::environment& env) { return produces(env, borrowed(state)); });
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(condition_variable_item)->UseRealTime();

coflux::task<void, pool> calls(coflux::environment&, borrowed<benchmark::State> state) {
    coflux::once o;
    int runs = 0;
    for (auto _ : *state) co_await o.call([&] { ++runs; });
    if (runs != 1) state->SkipWithError("not once");
}
/// An item is a call of what is done.
void once_done(benchmark::State& state) {
    on_pool(1, [&](coflux::environment& env) { return calls(env, borrowed(state)); });
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(once_done)->UseRealTime();

}  // namespace

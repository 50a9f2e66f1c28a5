// The cost that a strand and a worker add to the executor below.
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <thread>

#include <benchmark/benchmark.h>

#include <coflux/coflux.hpp>

#if defined(__linux__)
#    include <linux/futex.h>
#    include <sys/syscall.h>
#    include <unistd.h>
#endif

namespace {

using pool = coflux::thread_pool_executor;
using serial = coflux::strand<pool>;

/// A handle that counts its resumptions: what it costs to post and to run, without a coroutine's frame.
struct counted {
    void (*resume)(void*) = [](void* at) { ++static_cast<counted*>(at)->times; };
    void (*destroy)(void*) = nullptr;
    std::int64_t times = 0;

    std::coroutine_handle<> handle() noexcept { return std::coroutine_handle<>::from_address(this); }
};

// --- one worker

coflux::task<void, pool> post_one_at_a_time(coflux::environment&, serial* on, benchmark::State* state) {
    counted c;
    std::int64_t posted = 0;
    for (auto _ : *state) {
        on->execute(c.handle());
        ++posted;
        while (c.times != posted) co_await coflux::yield();
    }
    state->SetItemsProcessed(posted);
}
/// An item is a post to an idle strand, its turn, and a yield of the poster.
void strand_post_and_run(benchmark::State& state) {
    pool threads(1);
    serial on(threads);
    auto env = coflux::make_environment(threads, on);
    post_one_at_a_time(env, &on, &state).get();
}
BENCHMARK(strand_post_and_run)->UseRealTime();

coflux::task<void, pool> post_many(coflux::environment&, serial* on, benchmark::State* state) {
    counted c;
    std::int64_t posted = 0;
    for (auto _ : *state) {
        for (int i = 0; i < 100; ++i) on->execute(c.handle());
        posted += 100;
        while (c.times != posted) co_await coflux::yield();
    }
    state->SetItemsProcessed(posted);
}
/// An item is one of a hundred posts to a strand, and its turn.
void strand_post_many(benchmark::State& state) {
    pool threads(1);
    serial on(threads);
    auto env = coflux::make_environment(threads, on);
    post_many(env, &on, &state).get();
}
BENCHMARK(strand_post_many)->UseRealTime();

template <typename A, typename B>
coflux::task<void, A> back_and_forth(coflux::environment&, A* a, B* b, benchmark::State* state) {
    for (auto _ : *state) {
        co_await coflux::resume_on(*b);
        co_await coflux::resume_on(*a);
    }
    state->SetItemsProcessed(state->iterations());
}
/// An item is a visit of a strand, there and back.
void strand_visit(benchmark::State& state) {
    pool threads(1);
    serial on(threads);
    auto env = coflux::make_environment(threads, on);
    back_and_forth(env, &threads, &on, &state).get();
}
BENCHMARK(strand_visit)->UseRealTime();

coflux::task<void, serial> yields(coflux::environment&, benchmark::State* state) {
    for (auto _ : *state) co_await coflux::yield();
    state->SetItemsProcessed(state->iterations());
}
/// An item is a yield of a strand's only coroutine.
void strand_yield(benchmark::State& state) {
    pool threads(1);
    serial on(threads);
    auto env = coflux::make_environment(on);
    yields(env, &state).get();
}
BENCHMARK(strand_yield)->UseRealTime();

// --- two threads

#if defined(__linux__)
void pass(std::atomic<std::uint32_t>& word) {
    word.store(1);
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}
void take(std::atomic<std::uint32_t>& word) {
    while (word.exchange(0) == 0) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
}
/// The floor: two threads that wake each other.
void futex_ping(benchmark::State& state) {
    std::atomic<std::uint32_t> here{0};
    std::atomic<std::uint32_t> there{0};
    std::atomic<bool> ends{false};
    std::thread other([&] {
        for (;;) {
            take(there);
            if (ends.load()) return;
            pass(here);
        }
    });
    for (auto _ : state) {
        pass(there);
        take(here);
    }
    ends.store(true);
    pass(there);
    other.join();
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(futex_ping)->UseRealTime();
#endif

/// An item is a visit of the other worker, there and back; `spin`: microseconds that a worker looks before it parks.
void worker_ping(benchmark::State& state) {
    const std::chrono::microseconds spin(state.range(0));
    coflux::worker_executor a(coflux::worker_options{.spin = spin});
    coflux::worker_executor b(coflux::worker_options{.spin = spin});
    auto env = coflux::make_environment(a, b);
    back_and_forth(env, &a, &b, &state).get();
}
BENCHMARK(worker_ping)->ArgName("spin")->Arg(0)->Arg(50)->UseRealTime();

// --- shards

coflux::task<void, coflux::shard> submits(coflux::environment&, coflux::shard_group* shards, std::size_t to,
                                          benchmark::State* state) {
    std::int64_t sum = 0;
    for (auto _ : *state) sum += co_await shards->submit_to(to, [] { return 1; });
    benchmark::DoNotOptimize(sum);
    state->SetItemsProcessed(state->iterations());
}
/// An item is a submission, there and back, of shard 0 to itself or to another one that is awake.
void shard_submit(benchmark::State& state) {
    coflux::shard_group shards(coflux::shard_options{.shards = 2, .spin = std::chrono::milliseconds(1)});
    auto env = coflux::make_environment(shards[0]);
    submits(env, &shards, static_cast<std::size_t>(state.range(0)), &state).get();
}
BENCHMARK(shard_submit)->ArgName("to")->Arg(0)->Arg(1)->UseRealTime();

/// The floor: a line that two threads write in turn. An item is a round trip.
void line_round_trip(benchmark::State& state) {
    alignas(64) std::atomic<std::uint64_t> there{0};
    alignas(64) std::atomic<std::uint64_t> back{0};
    std::atomic<bool> ends{false};
    std::thread other([&] {
        for (std::uint64_t n = 1; !ends.load(std::memory_order_relaxed); ++n) {
            while (there.load(std::memory_order_acquire) != n) {
                if (ends.load(std::memory_order_relaxed)) return;
            }
            back.store(n, std::memory_order_release);
        }
    });
    std::uint64_t n = 0;
    for (auto _ : state) {
        there.store(++n, std::memory_order_release);
        while (back.load(std::memory_order_acquire) != n) {}
    }
    ends.store(true);
    other.join();
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(line_round_trip)->UseRealTime();

coflux::fork<void, coflux::shard> submits_many(coflux::environment&, coflux::shard_group* shards, int times) {
    for (int i = 0; i < times; ++i) co_await shards->submit_to(1, [] {});
}
coflux::task<void, coflux::shard> submits_side_by_side(coflux::environment&, coflux::shard_group* shards, int times) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < 100; ++i) submits_many(here, shards, times).attach();
}
/// An item is one of the submissions of a hundred coroutines of shard 0 to shard 1.
void shard_submit_side_by_side(benchmark::State& state) {
    coflux::shard_group shards(coflux::shard_options{.shards = 2, .spin = std::chrono::milliseconds(1)});
    auto env = coflux::make_environment(shards[0]);
    for (auto _ : state) submits_side_by_side(env, &shards, 1000).get();
    state.SetItemsProcessed(state.iterations() * 100'000);
}
BENCHMARK(shard_submit_side_by_side)->UseRealTime();

}  // namespace

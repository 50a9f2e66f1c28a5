// For regression of our own mechanism, not for comparison: the lab compares runtimes.
#include <benchmark/benchmark.h>

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include <coflux/coflux.hpp>

namespace {

using coflux::borrowed;
using pool = coflux::thread_pool_executor;

/// The least that a hand-off between sleeping threads takes: a word, an exchange and the system call on each side.
class futex_token {
public:
    void take() noexcept {
        while (word_.exchange(0, std::memory_order_acquire) == 0)  // pairs with give()
            syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word_), FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
    }
    void give() noexcept {
        if (word_.exchange(1, std::memory_order_release) == 0)  // pairs with take()
            syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word_), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }

private:
    std::atomic<std::uint32_t> word_{0};  // 0 nothing, 1 a token
};

/// The calling thread stays on the n-th processor; the place of two threads that sleep in turn decides what a hand-off
/// costs: a switch on one processor takes 2 us, waking another processor 10 us and more.
void stay_on(std::int64_t n) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(n), &one);
    (void)sched_setaffinity(0, sizeof one, &one);  // refused at worst: then the figures scatter
}

/// An item is a round of two threads by hand: there by one token, back by another.
void futex_there_and_back(benchmark::State& state) {
    futex_token there;
    futex_token back;
    bool enough = false;
    std::thread other([&] {
        stay_on(state.range(0));
        for (;;) {
            there.take();
            if (enough) return;
            back.give();
        }
    });
    std::thread asker([&] {
        stay_on(0);
        for (auto _ : state) {
            there.give();
            back.take();
        }
    });
    asker.join();
    enough = true;
    there.give();
    other.join();
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(futex_there_and_back)->ArgName("processor")->Arg(0)->Arg(1)->UseRealTime();

coflux::task<void, pool> asks(coflux::environment&, borrowed<benchmark::State> state,
                              borrowed<coflux::blocking_pool> threads) {
    co_await coflux::blocking(*threads, [&] { stay_on(state->range(0)); });  // the thread is warm
    for (auto _ : *state) co_await coflux::blocking(*threads, [] {});
}
/// An item is a call of nothing, by a coroutine whose worker parks at once, or looks for work for 50 us before.
template <int SpinUs>
void blocking_call(benchmark::State& state) {
    coflux::blocking_pool threads;
    pool workers({.threads = 1, .pin = true, .spin = std::chrono::microseconds(SpinUs)});
    auto env = coflux::make_environment(workers);
    asks(env, borrowed(state), borrowed(threads)).get();
    if (threads.counters().threads != 1) state.SkipWithError("a loop of calls needs one thread");
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(blocking_call<0>)->ArgName("processor")->Arg(0)->Arg(1)->UseRealTime();
BENCHMARK(blocking_call<50>)->ArgName("processor")->Arg(1)->UseRealTime();

coflux::task<void, pool> asks_abandonable(coflux::environment&, borrowed<benchmark::State> state,
                                          borrowed<coflux::blocking_pool> threads) {
    co_await coflux::blocking(*threads, [&] { stay_on(state->range(0)); });
    for (auto _ : *state) co_await coflux::blocking(*threads, coflux::abandon_on_stop, [](int) {}, 1);
}
/// The same for a call that a stop may abandon.
void abandonable_call(benchmark::State& state) {
    coflux::blocking_pool threads;
    pool workers({.threads = 1, .pin = true, .spin = std::chrono::microseconds(0)});
    auto env = coflux::make_environment(workers);
    asks_abandonable(env, borrowed(state), borrowed(threads)).get();
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(abandonable_call)->ArgName("processor")->Arg(0)->Arg(1)->UseRealTime();

}  // namespace

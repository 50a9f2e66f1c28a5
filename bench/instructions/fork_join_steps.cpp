// The steps of the path from a fork to its join, for scripts/instructions to count. One worker runs all, so that the
// same instructions run each time. docs/bench/fork_join_steps.md says what the steps are.
#include <coflux/coflux.hpp>

#include <array>
#include <chrono>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory_resource>
#include <utility>
#include <vector>

// Callgrind counts from one to the other, by these names.
extern "C" {
[[gnu::noinline]] void coflux_count_begins() {
    asm volatile("" ::: "memory");
}
[[gnu::noinline]] void coflux_count_ends() {
    asm volatile("" ::: "memory");
}
}

namespace {

using coflux::environment;
using coflux::noop_executor;
using pool = coflux::thread_pool_executor;
using coflux::detail::work_stealing_deque;
using forked = coflux::fork<std::uint64_t, pool>;

/// Each step counts `size` operations, or as many as it returns.
using step = coflux::call<std::uint64_t> (*)(environment&, std::uint64_t size);

template <typename T>
void keep(const T& value) noexcept {
    asm volatile("" : : "r,m"(value) : "memory");
}

constexpr std::size_t fib_frame_bytes = 144;

/// The frame pool counts the blocks of each slab's first page for all of the slab. Where a frame comes to lie would
/// decide what a step costs: these blocks are kept out of it. frame_burst has their share.
void keep_first_pages() {
    constexpr std::uintptr_t page_in_slab = 0xf000;
    constexpr std::size_t enough = 512;
    std::pmr::memory_resource& frames = coflux::frame_pool::shared();
    std::array<void*, enough> blocks{};
    for (std::size_t bytes = 32; bytes <= 512; bytes += 32) {
        for (void*& block : blocks) block = frames.allocate(bytes, 16);
        for (void* const block : blocks) {
            const auto address = reinterpret_cast<std::uintptr_t>(block);
            if ((address & page_in_slab) != 0) frames.deallocate(block, bytes, 16);
        }
    }
}

coflux::call<std::uint64_t> frame(environment&, std::uint64_t size) {
    coflux_count_begins();
    for (std::uint64_t i = 0; i < size; ++i) {
        void* const block = coflux::detail::allocate_pooled(fib_frame_bytes, 16);
        keep(block);
        coflux::detail::deallocate_pooled(block, fib_frame_bytes, 16);
    }
    coflux_count_ends();
    co_return size;
}

coflux::call<std::uint64_t> frame_burst(environment&, std::uint64_t size) {
    std::vector<void*> blocks(size);
    coflux_count_begins();
    for (void*& block : blocks) block = coflux::detail::allocate_pooled(fib_frame_bytes, 16);
    for (void* const block : blocks) coflux::detail::deallocate_pooled(block, fib_frame_bytes, 16);
    coflux_count_ends();
    co_return size;
}

coflux::call<std::uint64_t> push(environment&, std::uint64_t size) {
    work_stealing_deque deque;
    coflux_count_begins();
    for (std::uint64_t i = 0; i < size; ++i) deque.push(&deque);
    coflux_count_ends();
    co_return size;
}

coflux::call<std::uint64_t> pop(environment&, std::uint64_t size) {
    work_stealing_deque deque;
    for (std::uint64_t i = 0; i < size; ++i) deque.push(&deque);
    coflux_count_begins();
    for (std::uint64_t i = 0; i < size; ++i) keep(deque.pop_if(&deque));
    coflux_count_ends();
    co_return size;
}

coflux::call<std::uint64_t> steal(environment&, std::uint64_t size) {
    work_stealing_deque deque;
    for (std::uint64_t i = 0; i < size; ++i) deque.push(&deque);
    coflux_count_begins();
    for (std::uint64_t i = 0; i < size; ++i) keep(deque.steal());
    coflux_count_ends();
    co_return size;
}

template <typename Executor>
coflux::fork<std::uint64_t, Executor> leaf(environment&, std::uint64_t x) {
    co_return x;
}

std::vector<forked> room_for(std::uint64_t size) {
    std::vector<forked> forks;
    forks.reserve(size);
    return forks;
}

/// Gives the vector's forks back, from the youngest on.
coflux::call<void> await_all(environment&, std::vector<forked>& forks) {
    for (; !forks.empty(); forks.pop_back()) keep(co_await std::move(forks.back()));
}

coflux::call<std::uint64_t> fork(environment&, std::uint64_t size) {
    auto&& here = co_await coflux::context();
    auto forks = room_for(size);
    coflux_count_begins();
    for (std::uint64_t i = 0; i < size; ++i) forks.push_back(leaf<pool>(here, i));
    coflux_count_ends();
    co_await await_all(here, forks);
    co_return size;
}

coflux::call<std::uint64_t> join_in_place(environment&, std::uint64_t size) {
    auto&& here = co_await coflux::context();
    auto forks = room_for(size);
    for (std::uint64_t i = 0; i < size; ++i) forks.push_back(leaf<pool>(here, i));
    coflux_count_begins();
    for (; !forks.empty(); forks.pop_back()) keep(co_await std::move(forks.back()));
    coflux_count_ends();
    co_return size;
}

/// The await of the oldest waits, so the worker's loop runs all.
coflux::call<std::uint64_t> run_by_loop(environment&, std::uint64_t size) {
    auto&& here = co_await coflux::context();
    auto forks = room_for(size);
    for (std::uint64_t i = 0; i < size; ++i) forks.push_back(leaf<pool>(here, i));
    coflux_count_begins();
    keep(co_await std::move(forks.front()));
    coflux_count_ends();
    forks.erase(forks.begin());
    co_await await_all(here, forks);
    co_return size;
}

coflux::call<std::uint64_t> join_finished(environment&, std::uint64_t size) {
    auto&& here = co_await coflux::context();
    auto forks = room_for(size + 1);
    for (std::uint64_t i = 0; i < size + 1; ++i) forks.push_back(leaf<pool>(here, i));
    keep(co_await std::move(forks.front()));
    forks.erase(forks.begin());
    coflux_count_begins();
    for (; !forks.empty(); forks.pop_back()) keep(co_await std::move(forks.back()));
    coflux_count_ends();
    co_return size;
}

/// The older of two, which the loop runs and whose end wakes this; then the younger, which has ended.
coflux::call<std::uint64_t> join_suspended(environment&, std::uint64_t size) {
    auto&& here = co_await coflux::context();
    coflux_count_begins();
    for (std::uint64_t i = 0; i < size; ++i) {
        auto older = leaf<pool>(here, i);
        auto younger = leaf<pool>(here, i);
        keep(co_await std::move(older));
        keep(co_await std::move(younger));
    }
    coflux_count_ends();
    co_return size;
}

coflux::call<std::uint64_t> leaf_call(environment&, std::uint64_t x) {
    co_return x;
}

coflux::call<std::uint64_t> call(environment&, std::uint64_t size) {
    auto&& here = co_await coflux::context();
    coflux_count_begins();
    for (std::uint64_t i = 0; i < size; ++i) keep(co_await leaf_call(here, i));
    coflux_count_ends();
    co_return size;
}

coflux::call<std::uint64_t> bare_leaf_call(std::uint64_t x) {
    co_return x;
}

coflux::call<std::uint64_t> bare_call(environment&, std::uint64_t size) {
    coflux_count_begins();
    for (std::uint64_t i = 0; i < size; ++i) keep(co_await bare_leaf_call(i));
    coflux_count_ends();
    co_return size;
}

template <typename Executor>
coflux::call<std::uint64_t> fork_and_join(environment&, std::uint64_t size) {
    auto&& here = co_await coflux::context();
    coflux_count_begins();
    for (std::uint64_t i = 0; i < size; ++i) keep(co_await leaf<Executor>(here, i));
    coflux_count_ends();
    co_return size;
}

coflux::call<std::uint64_t> wide(environment&, std::uint64_t size) {
    auto&& here = co_await coflux::context();
    auto forks = room_for(size);
    coflux_count_begins();
    for (std::uint64_t i = 0; i < size; ++i) forks.push_back(leaf<pool>(here, i));
    const auto values = co_await coflux::when_all(std::move(forks));
    coflux_count_ends();
    keep(values.back());
    co_return size;
}

// As in the lab.

coflux::call<std::uint64_t> fib_call(environment& env, std::uint64_t n);

forked fib_fork(environment&, std::uint64_t n) {
    if (n < 2) co_return n;
    auto&& here = co_await coflux::context();
    auto left = fib_fork(here, n - 1);
    const std::uint64_t right = co_await fib_call(here, n - 2);
    co_return right + co_await std::move(left);
}

coflux::call<std::uint64_t> fib_call(environment&, std::uint64_t n) {
    if (n < 2) co_return n;
    auto&& here = co_await coflux::context();
    auto left = fib_fork(here, n - 1);
    const std::uint64_t right = co_await fib_call(here, n - 2);
    co_return right + co_await std::move(left);
}

constexpr std::uint64_t fib_nodes(std::uint64_t n) {
    return n < 2 ? 1 : 1 + fib_nodes(n - 1) + fib_nodes(n - 2);
}

coflux::call<std::uint64_t> fib(environment&, std::uint64_t n) {
    auto&& here = co_await coflux::context();
    coflux_count_begins();
    keep(co_await fib_call(here, n));
    coflux_count_ends();
    co_return fib_nodes(n);
}

coflux::call<std::uint64_t> skynet_call(environment& env, std::uint64_t first, std::uint64_t leaves);

forked skynet_fork(environment& env, std::uint64_t first, std::uint64_t leaves) {
    if (leaves == 1) co_return first;
    co_return co_await skynet_call(env, first, leaves);
}

coflux::call<std::uint64_t> skynet_call(environment&, std::uint64_t first, std::uint64_t leaves) {
    if (leaves == 1) co_return first;
    auto&& here = co_await coflux::context();
    const std::uint64_t share = leaves / 10;
    const auto part = [&](std::uint64_t i) { return skynet_fork(here, first + i * share, share); };
    std::array parts{part(0), part(1), part(2), part(3), part(4), part(5), part(6), part(7), part(8)};
    std::uint64_t sum = co_await skynet_call(here, first + 9 * share, share);
    for (std::size_t i = parts.size(); i-- != 0;) sum += co_await std::move(parts[i]);
    co_return sum;
}

coflux::call<std::uint64_t> skynet(environment&, std::uint64_t leaves) {
    auto&& here = co_await coflux::context();
    coflux_count_begins();
    keep(co_await skynet_call(here, 0, leaves));
    coflux_count_ends();
    co_return (10 * leaves - 1) / 9;
}

struct entry {
    const char* name;
    const char* operation;
    step run;
    std::uint64_t small;
    std::uint64_t large;
};

// Whole rounds of the 61 steps of a worker's tick budget, after which it looks at its other queues.
constexpr std::uint64_t few = 61 * 2;
constexpr std::uint64_t many = 2 * few;

constexpr std::array steps{
    entry{"frame", "a block of a fib fork's size is taken from the frame pool and given back", frame, few, many},
    entry{"push", "the owner adds to a deque", push, few, many},
    entry{"pop", "the owner takes the youngest back, if it is the expected one", pop, few, many},
    entry{"steal", "a thief takes the oldest, undisturbed", steal, few, many},
    entry{"fork", "a fork is made on its worker: frame and push, and what a child needs", fork, few, many},
    entry{"join_in_place", "the youngest fork is awaited before a thief took it: pop, run, result, frame given back",
          join_in_place, few, many},
    entry{"run_by_loop", "a fork that is not awaited yet is taken by the worker's loop and runs", run_by_loop, few,
          many},
    entry{"join_finished", "a fork that has ended is awaited: result, frame given back", join_finished, few, many},
    entry{"join_suspended",
          "two forks are made, and the older is awaited first: the loop runs both, its end wakes the parent",
          join_suspended, few, many},
    entry{"call", "a call is awaited", call, few, many},
    entry{"bare_call", "a call that names no environment is awaited", bare_call, few, many},
    entry{"fork_and_join", "a fork is made and awaited at once", fork_and_join<pool>, few, many},
    entry{"noop_fork_and_join", "the same on `noop_executor`", fork_and_join<noop_executor>, few, many},
    entry{"wide", "a child of a `when_all` of a range: fork, join, result in a vector", wide, few, many},
    entry{"fib", "a node of `fib`: half of them are forks, half calls", fib, 12, 18},
    entry{"skynet", "a node of `skynet`: nine of ten children are forks", skynet, 100, 10'000},
    // Last: the lists of free blocks differ after it.
    entry{"frame_burst", "many such blocks are taken before the first is given back: new slabs, the pool's reserve",
          frame_burst, 10'000, 20'000},
};

/// Each step with its two sizes, twice: the first time warms up. A line for each of the four runs.
coflux::task<void, pool> run_all(environment&) {
    auto&& here = co_await coflux::context();
    keep_first_pages();
    for (const entry& e : steps) {
        for (const std::uint64_t size : {e.small, e.large, e.small, e.large})
            std::printf("%s\t%" PRIu64 "\t%s\n", e.name, co_await e.run(here, size), e.operation);
    }
}

}  // namespace

int main() {
    std::printf("%s\t%s\n", COFLUX_CLANG ? "clang" : "g++", __VERSION__);
    // The counts must not depend on how fast the program runs.
    pool threads({.threads = 1, .oldest_wait = std::chrono::hours(1)});
    auto env = coflux::make_environment(threads, noop_executor{});
    run_all(env).get();
}

// Fork-join trees on the pool.
#include "adapter.hpp"
#include "definitions.hpp"
#include "workloads.hpp"

namespace lab {
namespace {

// The first half goes to the pool's queue, the second runs in place.
task<std::uint64_t> fib_of(pool& threads, std::uint64_t n) {
    if (n < 2) {
        co_return n;
    }
    const auto [first, second] =
        co_await coro::collectAll(fork_to(threads, fib_of(threads, n - 1)), fib_of(threads, n - 2));
    co_return first + second;
}

task<std::uint64_t> lean_fib(pool& threads, std::uint64_t n) {
    if (n < 2) {
        co_return n;
    }
    sum_of_children first{1};
    first.start(fork_to(threads, lean_fib(threads, n - 1)));
    const std::uint64_t second = co_await lean_fib(threads, n - 2);
    co_await first.ended();
    co_return first.sum() + second;
}

template <typename Fib>
task<std::uint64_t> time_fib(pool& threads, Fib fib, std::uint64_t n, harness::stopwatch& watch) {
    watch.start();
    const std::uint64_t answer = co_await fib(threads, n);
    watch.stop();
    co_return answer;
}

constexpr std::uint64_t children = 10;

task<std::uint64_t> node(pool& threads, std::uint64_t first, std::uint64_t leaves) {
    if (leaves == 1) {
        co_return first;
    }
    std::vector<forked<std::uint64_t>> all;
    all.reserve(children);
    const std::uint64_t share = leaves / children;
    for (std::uint64_t i = 0; i < children; ++i) {
        all.push_back(fork_to(threads, node(threads, first + i * share, share)));
    }
    co_return sum_of_all(co_await coro::collectAllRange(std::move(all)));
}

// Nine go to the pool's queue, and the tenth runs in place.
task<std::uint64_t> lean_node(pool& threads, std::uint64_t first, std::uint64_t leaves) {
    if (leaves == 1) {
        co_return first;
    }
    sum_of_children nine{children - 1};
    const std::uint64_t share = leaves / children;
    for (std::uint64_t i = 0; i < children - 1; ++i) {
        nine.start(fork_to(threads, lean_node(threads, first + i * share, share)));
    }
    const std::uint64_t tenth = co_await lean_node(threads, first + (children - 1) * share, share);
    co_await nine.ended();
    co_return nine.sum() + tenth;
}

template <typename Node>
task<std::uint64_t> time_skynet(pool& threads, Node root, std::uint64_t leaves, harness::stopwatch& watch) {
    watch.start();
    const std::uint64_t answer = co_await root(threads, 0, leaves);
    watch.stop();
    co_return answer;
}

template <typename Node>
harness::measured measure_skynet(const harness::request& r, Node root) {
    const std::uint64_t leaves = harness::skynet_leaves(r.integer("depth"));
    require_queue_memory(leaves);
    pool threads{r.threads()};
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run(threads, time_skynet(threads, root, leaves, watch)); });
}

template <typename Fib>
harness::measured measure_fib(const harness::request& r, Fib fib) {
    const std::uint64_t n = r.integer("n");
    require_queue_memory(harness::fib_forks(n));
    pool threads{r.threads()};
    return harness::measure(r,
                            [&](harness::stopwatch& watch) { return run(threads, time_fib(threads, fib, n, watch)); });
}

}  // namespace

harness::measured fib(const harness::request& r) {
    return measure_fib(r, fib_of);
}

harness::measured fib_expert(const harness::request& r) {
    return measure_fib(r, lean_fib);
}

harness::measured skynet(const harness::request& r) {
    return measure_skynet(r, node);
}

harness::measured skynet_expert(const harness::request& r) {
    return measure_skynet(r, lean_node);
}

}  // namespace lab

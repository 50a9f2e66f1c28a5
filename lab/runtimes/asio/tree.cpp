// Fork-join trees on the pool.
#include "adapter.hpp"
#include "definitions.hpp"
#include "workloads.hpp"

namespace lab {
namespace {

awaitable<std::uint64_t> fib_of(pool_executor pool, std::uint64_t n);

awaitable<std::uint64_t> fib_fork(pool_executor pool, std::uint64_t n) {
    co_await to_the_pool();
    co_return co_await fib_of(pool, n);
}

awaitable<std::uint64_t> fib_of(pool_executor pool, std::uint64_t n) {
    if (n < 2) {
        co_return n;
    }
    sum_of_children forked{1};
    asio::co_spawn(pool, fib_fork(pool, n - 1), forked.delivery());
    const std::uint64_t second = co_await fib_of(pool, n - 2);
    co_return second + co_await forked.wait();
}

enum class begins { here, in_the_queue };

// One coroutine a call where the one above has three for a fork: the call itself goes to the queue, and awaits the post
// without another coroutine around that.
template <typename Executor>
counted<Executor> lean_fib(Executor on, std::uint64_t n, begins where) {
    if (where == begins::in_the_queue) {
        co_await asio::post(on, asio::deferred);
    }
    if (n < 2) {
        co_return n;
    }
    sum_of_children_on<Executor> forked{1};
    asio::co_spawn(on, lean_fib(on, n - 1, begins::in_the_queue), forked.delivery());
    const std::uint64_t second = co_await lean_fib(on, n - 2, begins::here);
    co_return second + co_await forked.wait();
}

template <typename Executor, typename Fib>
counted<Executor> time_fib(Fib fib, harness::stopwatch& watch) {
    const Executor on = co_await asio::this_coro::executor;
    watch.start();
    const std::uint64_t answer = co_await fib(on);
    watch.stop();
    co_return answer;
}

awaitable<std::uint64_t> node(pool_executor pool, std::uint64_t first, std::uint64_t leaves) {
    if (leaves == 1) {
        co_return first;
    }
    sum_of_children children{10};
    const std::uint64_t share = leaves / 10;
    for (std::uint64_t i = 0; i < 10; ++i) {
        asio::co_spawn(pool, node(pool, first + i * share, share), children.delivery());
    }
    co_return co_await children.wait();
}

// The tenth child in its parent's place, which would only wait.
template <typename Executor>
counted<Executor> lean_node(Executor on, std::uint64_t first, std::uint64_t leaves) {
    if (leaves == 1) {
        co_return first;
    }
    sum_of_children_on<Executor> others{9};
    const std::uint64_t share = leaves / 10;
    for (std::uint64_t i = 0; i < 9; ++i) {
        asio::co_spawn(on, lean_node(on, first + i * share, share), others.delivery());
    }
    const std::uint64_t last = co_await lean_node(on, first + 9 * share, share);
    co_return last + co_await others.wait();
}

template <typename Executor>
using skynet_node = counted<Executor> (*)(Executor on, std::uint64_t first, std::uint64_t leaves);

template <typename Executor>
counted<Executor> time_skynet(skynet_node<Executor> node, std::uint64_t leaves, harness::stopwatch& watch) {
    const Executor on = co_await asio::this_coro::executor;
    watch.start();
    const std::uint64_t answer = co_await node(on, 0, leaves);
    watch.stop();
    co_return answer;
}

// Asio's queue is first in, first out, so it walks a tree in breadth and holds nearly all of it at once. Measured:
// about 500 bytes for each.
void require_queue_memory(std::uint64_t tasks) {
    constexpr std::uint64_t bytes_per_task = 500;
    harness::require_memory(tasks * bytes_per_task, "the tree in Asio's queue");
}

template <typename Executor, typename Fib>
harness::measured measure_fib(const harness::request& r, Fib fib) {
    require_queue_memory(harness::fib_forks(r.integer("n")));
    return measure_on<Executor>(r, [=](harness::stopwatch& watch) { return time_fib<Executor>(fib, watch); });
}

template <typename Executor>
harness::measured measure_lean_fib(const harness::request& r) {
    const std::uint64_t n = r.integer("n");
    return measure_fib<Executor>(r, [n](Executor on) { return lean_fib(on, n, begins::here); });
}

template <typename Executor>
harness::measured measure_skynet(const harness::request& r, skynet_node<Executor> node) {
    const std::uint64_t leaves = harness::skynet_leaves(r.integer("depth"));
    require_queue_memory(leaves);
    return measure_on<Executor>(r,
                                [=](harness::stopwatch& watch) { return time_skynet<Executor>(node, leaves, watch); });
}

}  // namespace

harness::measured fib(const harness::request& r) {
    const std::uint64_t n = r.integer("n");
    return measure_fib<pool_executor>(r, [n](pool_executor pool) { return fib_of(pool, n); });
}

harness::measured fib_expert(const harness::request& r) {
    return measure_lean_fib<pool_executor>(r);
}

harness::measured fib_on_one_thread(const harness::request& r) {
    return measure_lean_fib<loop_executor>(r);
}

harness::measured skynet(const harness::request& r) {
    return measure_skynet<pool_executor>(r, node);
}

harness::measured skynet_expert(const harness::request& r) {
    return measure_skynet<pool_executor>(r, lean_node<pool_executor>);
}

harness::measured skynet_on_one_thread(const harness::request& r) {
    return measure_skynet<loop_executor>(r, lean_node<loop_executor>);
}

}  // namespace lab

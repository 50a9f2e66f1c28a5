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

enum class begins { here, on_the_pool };

// One coroutine a call where the one above has three for a fork: the call itself goes to the pool, and awaits the post
// without another coroutine around that.
awaitable<std::uint64_t> lean_fib(pool_executor pool, std::uint64_t n, begins where) {
    if (where == begins::on_the_pool) {
        co_await asio::post(pool, asio::deferred);
    }
    if (n < 2) {
        co_return n;
    }
    sum_of_children forked{1};
    asio::co_spawn(pool, lean_fib(pool, n - 1, begins::on_the_pool), forked.delivery());
    const std::uint64_t second = co_await lean_fib(pool, n - 2, begins::here);
    co_return second + co_await forked.wait();
}

template <typename Fib>
awaitable<std::uint64_t> time_fib(Fib fib, harness::stopwatch& watch) {
    const pool_executor pool = co_await asio::this_coro::executor;
    watch.start();
    const std::uint64_t answer = co_await fib(pool);
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
awaitable<std::uint64_t> lean_node(pool_executor pool, std::uint64_t first, std::uint64_t leaves) {
    if (leaves == 1) {
        co_return first;
    }
    sum_of_children others{9};
    const std::uint64_t share = leaves / 10;
    for (std::uint64_t i = 0; i < 9; ++i) {
        asio::co_spawn(pool, lean_node(pool, first + i * share, share), others.delivery());
    }
    const std::uint64_t last = co_await lean_node(pool, first + 9 * share, share);
    co_return last + co_await others.wait();
}

using skynet_node = awaitable<std::uint64_t> (*)(pool_executor pool, std::uint64_t first, std::uint64_t leaves);

awaitable<std::uint64_t> time_skynet(skynet_node node, std::uint64_t leaves, harness::stopwatch& watch) {
    const pool_executor pool = co_await asio::this_coro::executor;
    watch.start();
    const std::uint64_t answer = co_await node(pool, 0, leaves);
    watch.stop();
    co_return answer;
}

// The pool's queue is first in, first out, so it walks a tree in breadth and holds nearly all of it at once. Measured:
// about 500 bytes for each.
void require_queue_memory(std::uint64_t tasks) {
    constexpr std::uint64_t bytes_per_task = 500;
    harness::require_memory(tasks * bytes_per_task, "the tree in Asio's queue");
}

template <typename Fib>
harness::measured measure_fib(const harness::request& r, Fib fib) {
    require_queue_memory(harness::fib_forks(r.integer("n")));
    asio::thread_pool pool{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) { return run(pool, time_fib(fib, watch)); });
}

harness::measured measure_skynet(const harness::request& r, skynet_node node) {
    const std::uint64_t leaves = harness::skynet_leaves(r.integer("depth"));
    require_queue_memory(leaves);
    asio::thread_pool pool{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) { return run(pool, time_skynet(node, leaves, watch)); });
}

}  // namespace

harness::measured fib(const harness::request& r) {
    const std::uint64_t n = r.integer("n");
    return measure_fib(r, [n](pool_executor pool) { return fib_of(pool, n); });
}

harness::measured fib_expert(const harness::request& r) {
    const std::uint64_t n = r.integer("n");
    return measure_fib(r, [n](pool_executor pool) { return lean_fib(pool, n, begins::here); });
}

harness::measured skynet(const harness::request& r) {
    return measure_skynet(r, node);
}

harness::measured skynet_expert(const harness::request& r) {
    return measure_skynet(r, lean_node);
}

}  // namespace lab

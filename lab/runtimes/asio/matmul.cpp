// A matrix product by quadrants, with the work in the leaves.
#include "adapter.hpp"
#include "matrices.hpp"
#include "workloads.hpp"

namespace lab {
namespace {

awaitable<void> multiply(harness::matrices& matrices, harness::block_product product) {
    const pool_executor pool = co_await to_the_pool();
    if (product.is_leaf()) {
        matrices.multiply(product);
        co_return;
    }
    for (const auto& round : product.rounds()) {
        sum_of_children parts{round.size()};
        for (const harness::block_product& part : round) {
            asio::co_spawn(pool, multiply(matrices, part), parts.delivery());
        }
        co_await parts.wait();
    }
}

enum class begins { here, on_the_pool };

// The last part of a round in its parent's place, which would only wait.
awaitable<void> lean_multiply(harness::matrices& matrices, harness::block_product product, begins where) {
    if (where == begins::on_the_pool) {
        co_await asio::post(asio::deferred);
    }
    if (product.is_leaf()) {
        matrices.multiply(product);
        co_return;
    }
    const pool_executor pool = co_await asio::this_coro::executor;
    for (const auto& round : product.rounds()) {
        sum_of_children others{round.size() - 1};
        for (std::size_t part = 0; part + 1 < round.size(); ++part) {
            asio::co_spawn(pool, lean_multiply(matrices, round[part], begins::on_the_pool), others.delivery());
        }
        co_await lean_multiply(matrices, round.back(), begins::here);
        co_await others.wait();
    }
}

template <typename Multiply>
awaitable<std::uint64_t> time_matmul(Multiply multiply, std::uint64_t n, harness::stopwatch& watch) {
    watch.start();
    harness::matrices matrices{n};
    co_await multiply(matrices, matrices.whole());
    watch.stop();
    co_return matrices.right();
}

template <typename Multiply>
harness::measured measure_matmul(const harness::request& r, Multiply multiply) {
    const std::uint64_t n = r.integer("n");
    asio::thread_pool pool{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) { return run(pool, time_matmul(multiply, n, watch)); });
}

}  // namespace

harness::measured matmul(const harness::request& r) {
    return measure_matmul(r, multiply);
}

harness::measured matmul_expert(const harness::request& r) {
    return measure_matmul(r, [](harness::matrices& matrices, harness::block_product whole) {
        return lean_multiply(matrices, whole, begins::here);
    });
}

}  // namespace lab

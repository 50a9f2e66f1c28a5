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

awaitable<std::uint64_t> time_matmul(std::uint64_t n, harness::stopwatch& watch) {
    watch.start();
    harness::matrices matrices{n};
    co_await multiply(matrices, matrices.whole());
    watch.stop();
    co_return matrices.right();
}

}  // namespace

harness::measured matmul(const harness::request& r) {
    const std::uint64_t n = r.integer("n");
    asio::thread_pool pool{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) { return run(pool, time_matmul(n, watch)); });
}

}  // namespace lab

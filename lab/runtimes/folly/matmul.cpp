// A matrix product by quadrants, with the work in the leaves.
#include "adapter.hpp"
#include "matrices.hpp"
#include "workloads.hpp"

namespace lab {
namespace {

task<void> multiply(pool& threads, harness::matrices& matrices, harness::block_product product) {
    if (product.is_leaf()) {
        matrices.multiply(product);
        co_return;
    }
    for (const auto& round : product.rounds()) {
        const auto part = [&](std::size_t i) { return fork_to(threads, multiply(threads, matrices, round[i])); };
        co_await coro::collectAll(part(0), part(1), part(2), multiply(threads, matrices, round[3]));
    }
}

task<std::uint64_t> time_matmul(pool& threads, std::uint64_t n, harness::stopwatch& watch) {
    watch.start();
    harness::matrices matrices{n};
    co_await multiply(threads, matrices, matrices.whole());
    watch.stop();
    co_return matrices.right();
}

}  // namespace

harness::measured matmul(const harness::request& r) {
    const std::uint64_t n = r.integer("n");
    pool threads{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) { return run(threads, time_matmul(threads, n, watch)); });
}

}  // namespace lab

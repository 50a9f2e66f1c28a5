// A matrix product by quadrants, with the work in the leaves.
#include "matrices.hpp"
#include "workloads.hpp"

#include <tmc/spawn_tuple.hpp>

namespace lab {
namespace {

tmc::task<void> multiply(harness::matrices& matrices, harness::block_product product) {
    if (product.is_leaf()) {
        matrices.multiply(product);
        co_return;
    }
    for (const auto& [p, q, r, s] : product.rounds()) {
        co_await tmc::spawn_tuple(multiply(matrices, p), multiply(matrices, q), multiply(matrices, r),
                                  multiply(matrices, s));
    }
}

tmc::task<std::uint64_t> time_matmul(harness::stopwatch& watch, std::uint64_t n) {
    watch.start();
    harness::matrices matrices{n};
    co_await multiply(matrices, matrices.whole());
    watch.stop();
    co_return matrices.right();
}

}  // namespace

harness::measured matmul(const harness::request& r) {
    const std::uint64_t n = r.integer("n");
    workers pool{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) { return pool.run(time_matmul(watch, n)); });
}

}  // namespace lab

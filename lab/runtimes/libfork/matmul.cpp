// A matrix product by quadrants, with the work in the leaves.
#include "matrices.hpp"
#include "workloads.hpp"

namespace lab {
namespace {

constexpr auto multiply = [](auto multiply, harness::matrices* matrices,
                             harness::block_product product) -> lf::task<void> {
    if (product.is_leaf()) {
        matrices->multiply(product);
        co_return;
    }
    for (const auto& [p, q, r, s] : product.rounds()) {
        co_await lf::fork[multiply](matrices, p);
        co_await lf::fork[multiply](matrices, q);
        co_await lf::fork[multiply](matrices, r);
        co_await lf::call[multiply](matrices, s);
        co_await lf::join;
    }
};

constexpr auto time_matmul = [](auto /*self*/, harness::stopwatch* watch, std::uint64_t n) -> lf::task<std::uint64_t> {
    watch->start();
    harness::matrices matrices{n};
    co_await lf::just[multiply](&matrices, matrices.whole());
    watch->stop();
    co_return matrices.right();
};

}  // namespace

harness::measured matmul(const harness::request& r) {
    const std::uint64_t n = r.integer("n");
    workers pool{r.threads()};
    return harness::measure(
        r, [&](harness::stopwatch& watch) -> std::uint64_t { return lf::sync_wait(pool, time_matmul, &watch, n); });
}

}  // namespace lab

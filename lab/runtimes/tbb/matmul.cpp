// A matrix product by quadrants, with the work in the leaves.
#include "matrices.hpp"
#include "workloads.hpp"

#include <tbb/parallel_invoke.h>

namespace lab {
namespace {

void multiply(harness::matrices& matrices, const harness::block_product& product) {
    if (product.is_leaf()) {
        matrices.multiply(product);
        return;
    }
    for (const auto& round : product.rounds()) {
        const auto part = [&](std::size_t i) { return [&, i] { multiply(matrices, round[i]); }; };
        tbb::parallel_invoke(part(0), part(1), part(2), part(3));
    }
}

}  // namespace

harness::measured matmul(const harness::request& r) {
    const std::uint64_t n = r.integer("n");
    workers pool{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return pool.run([&] {
            watch.start();
            harness::matrices matrices{n};
            multiply(matrices, matrices.whole());
            watch.stop();
            return matrices.right();
        });
    });
}

}  // namespace lab

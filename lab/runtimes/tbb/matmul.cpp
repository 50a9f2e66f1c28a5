// A matrix product by quadrants, with the work in the leaves.
#include "matrices.hpp"
#include "workloads.hpp"

#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/partitioner.h>

#include <cstddef>

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

// A part of the second round writes the block of C that the same part of the first one wrote: the partitioner has it go
// to the worker that has that block in its caches.
void multiply_by_affinity(harness::matrices& matrices, const harness::block_product& product) {
    if (product.is_leaf()) {
        matrices.multiply(product);
        return;
    }
    tbb::affinity_partitioner where;
    for (const auto& round : product.rounds()) {
        tbb::parallel_for(
            std::size_t{0}, round.size(), [&](std::size_t i) { multiply_by_affinity(matrices, round[i]); }, where);
    }
}

using multiplication = void (*)(harness::matrices&, const harness::block_product&);

harness::measured measure_matmul(const harness::request& r, multiplication multiply) {
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

}  // namespace

harness::measured matmul(const harness::request& r) {
    return measure_matmul(r, multiply);
}

harness::measured matmul_expert(const harness::request& r) {
    return measure_matmul(r, multiply_by_affinity);
}

}  // namespace lab

// A matrix product by quadrants: forks that borrow the matrices, and work in the leaves.
// Idioms: docs/tour/01-first-program.md
#include "matrices.hpp"
#include "workloads.hpp"

#include <coflux/coflux.hpp>

namespace lab {
namespace {

using pool = coflux::thread_pool_executor;
using watch_ref = coflux::borrowed<harness::stopwatch>;
using matrices_ref = coflux::borrowed<harness::matrices>;

coflux::fork<void, pool> multiply(coflux::environment&, matrices_ref matrices, harness::block_product product) {
    if (product.is_leaf()) {
        matrices->multiply(product);
        co_return;
    }
    auto&& here = co_await coflux::context();
    for (const auto& [p, q, r, s] : product.rounds()) {
        co_await coflux::when_all(multiply(here, matrices, p), multiply(here, matrices, q), multiply(here, matrices, r),
                                  multiply(here, matrices, s));
    }
}

coflux::task<std::uint64_t, pool> time_matmul(auto&&, std::uint64_t n, watch_ref watch) {
    auto&& here = co_await coflux::context();
    watch->start();
    harness::matrices matrices{n};
    co_await multiply(here, coflux::borrowed(matrices), matrices.whole());
    watch->stop();
    co_return matrices.right();
}

}  // namespace

harness::measured matmul(const harness::request& r) {
    const std::uint64_t n = r.integer("n");
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return time_matmul(env, n, coflux::borrowed(watch)).get(); });
}

}  // namespace lab

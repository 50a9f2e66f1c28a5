// Fork-join trees.
#include "definitions.hpp"
#include "workloads.hpp"

#include <array>
#include <cstddef>

namespace lab {
namespace {

// As in the library's own benchmarks, results have no value until a child has written one.
constexpr auto fib_of = [](auto fib_of, std::uint64_t n) -> lf::task<std::uint64_t> {
    if (n < 2) {
        co_return n;
    }
    std::uint64_t first;
    std::uint64_t second;
    co_await lf::fork[&first, fib_of](n - 1);
    co_await lf::call[&second, fib_of](n - 2);
    co_await lf::join;
    co_return first + second;
};

// Nothing of the node is left to steal once its last child begins, so that one is called.
constexpr auto node = [](auto node, std::uint64_t first, std::uint64_t leaves) -> lf::task<std::uint64_t> {
    if (leaves == 1) {
        co_return first;
    }
    const std::uint64_t share = leaves / 10;
    std::array<std::uint64_t, 10> results;
    for (std::size_t i = 0; i + 1 < results.size(); ++i) {
        co_await lf::fork[&results[i], node](first + i * share, share);
    }
    co_await lf::call[&results.back(), node](first + 9 * share, share);
    co_await lf::join;
    std::uint64_t sum = 0;
    for (const std::uint64_t result : results) {
        sum += result;
    }
    co_return sum;
};

}  // namespace

harness::measured fib(const harness::request& r) {
    const std::uint64_t n = r.integer("n");
    workers pool{r.threads()};
    return measure_on(pool, r, fib_of, n);
}

harness::measured skynet(const harness::request& r) {
    const std::uint64_t leaves = harness::skynet_leaves(r.integer("depth"));
    workers pool{r.threads()};
    return measure_on(pool, r, node, std::uint64_t{0}, leaves);
}

}  // namespace lab

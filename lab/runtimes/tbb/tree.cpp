// Fork-join trees on the pool.
#include "definitions.hpp"
#include "workloads.hpp"

#include <tbb/parallel_invoke.h>
#include <tbb/task_group.h>

#include <array>

namespace lab {
namespace {

std::uint64_t fib_of(std::uint64_t n) {
    if (n < 2) {
        return n;
    }
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    tbb::parallel_invoke([&first, n] { first = fib_of(n - 1); }, [&second, n] { second = fib_of(n - 2); });
    return first + second;
}

std::uint64_t node(std::uint64_t first, std::uint64_t leaves) {
    if (leaves == 1) {
        return first;
    }
    const std::uint64_t share = leaves / 10;
    std::array<std::uint64_t, 10> results;
    tbb::task_group group;
    for (std::size_t i = 0; i + 1 < results.size(); ++i) {
        group.run([&result = results[i], first = first + i * share, share] { result = node(first, share); });
    }
    // The last child runs in place: its parent would only wait.
    group.run_and_wait([&result = results.back(), first = first + 9 * share, share] { result = node(first, share); });
    std::uint64_t sum = 0;
    for (const std::uint64_t result : results) {
        sum += result;
    }
    return sum;
}

}  // namespace

harness::measured fib(const harness::request& r) {
    const std::uint64_t n = r.integer("n");
    workers pool{r.threads()};
    return harness::measure(r, [&] { return pool.run([n] { return fib_of(n); }); });
}

harness::measured skynet(const harness::request& r) {
    const std::uint64_t leaves = harness::skynet_leaves(r.integer("depth"));
    workers pool{r.threads()};
    return harness::measure(r, [&] { return pool.run([leaves] { return node(0, leaves); }); });
}

}  // namespace lab

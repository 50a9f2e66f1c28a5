// Fork-join trees.
#include "definitions.hpp"
#include "workloads.hpp"

#include <tmc/spawn.hpp>
#include <tmc/spawn_many.hpp>

#include <array>
#include <utility>

namespace lab {
namespace {

tmc::task<std::uint64_t> fib_of(std::uint64_t n) {
    if (n < 2) {
        co_return n;
    }
    auto left = tmc::spawn(fib_of(n - 1)).fork();
    const std::uint64_t right = co_await fib_of(n - 2);
    co_return right + co_await std::move(left);
}

// spawn_many hands nine to the queue at once, and goes on with the tenth in place.
tmc::task<std::uint64_t> node(std::uint64_t first, std::uint64_t leaves) {
    if (leaves == 1) {
        co_return first;
    }
    const std::uint64_t share = leaves / 10;
    const std::array<std::uint64_t, 10> results =
        co_await tmc::spawn_many<10>(tasks_of([=](std::uint64_t i) { return node(first + i * share, share); }).begin());
    std::uint64_t sum = 0;
    for (const std::uint64_t result : results) {
        sum += result;
    }
    co_return sum;
}

}  // namespace

harness::measured fib(const harness::request& r) {
    const std::uint64_t n = r.integer("n");
    workers pool{r.threads()};
    return measure_on(pool, r, [n] { return fib_of(n); });
}

harness::measured skynet(const harness::request& r) {
    const std::uint64_t leaves = harness::skynet_leaves(r.integer("depth"));
    // The author's choice for trees as deep as this.
    workers pool{r.threads(), tmc::work_stealing_strategy::LATTICE_MATRIX};
    return measure_on(pool, r, [leaves] { return node(0, leaves); });
}

}  // namespace lab

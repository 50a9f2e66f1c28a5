// Fork-join trees.
// Idioms: docs/tour/01-first-program.md
#include "definitions.hpp"
#include "workloads.hpp"

#include <coflux/coflux.hpp>

#include <array>
#include <cstdint>
#include <utility>

namespace lab {
namespace {

using pool = coflux::thread_pool_executor;
using watch_ref = coflux::borrowed<harness::stopwatch>;

coflux::call<std::uint64_t> fib_call(coflux::environment& env, std::uint64_t n);

coflux::fork<std::uint64_t, pool> fib_fork(coflux::environment&, std::uint64_t n) {
    if (n < 2) {
        co_return n;
    }
    auto&& here = co_await coflux::context();
    auto left = fib_fork(here, n - 1);
    const std::uint64_t right = co_await fib_call(here, n - 2);
    co_return right + co_await std::move(left);
}

coflux::call<std::uint64_t> fib_call(coflux::environment&, std::uint64_t n) {
    if (n < 2) {
        co_return n;
    }
    auto&& here = co_await coflux::context();
    auto left = fib_fork(here, n - 1);
    const std::uint64_t right = co_await fib_call(here, n - 2);
    co_return right + co_await std::move(left);
}

coflux::fork<std::uint64_t, pool> node(coflux::environment&, std::uint64_t first, std::uint64_t leaves) {
    if (leaves == 1) {
        co_return first;
    }
    auto&& here = co_await coflux::context();
    const std::uint64_t share = leaves / 10;
    const auto forked = [&](std::uint64_t i) { return node(here, first + i * share, share); };
    std::array parts{forked(0), forked(1), forked(2), forked(3), forked(4),
                     forked(5), forked(6), forked(7), forked(8), forked(9)};
    std::uint64_t sum = 0;
    for (const std::uint64_t part : co_await coflux::when_all(std::move(parts))) {
        sum += part;
    }
    co_return sum;
}

coflux::task<std::uint64_t, pool> time_fib(auto&&, std::uint64_t n, watch_ref watch) {
    auto&& here = co_await coflux::context();
    watch->start();
    const std::uint64_t answer = co_await fib_call(here, n);
    watch->stop();
    co_return answer;
}

coflux::task<std::uint64_t, pool> time_skynet(auto&&, std::uint64_t leaves, watch_ref watch) {
    auto&& here = co_await coflux::context();
    watch->start();
    const std::uint64_t answer = co_await node(here, 0, leaves);
    watch->stop();
    co_return answer;
}

}  // namespace

harness::measured fib(const harness::request& r) {
    const std::uint64_t n = r.integer("n");
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure(r,
                            [&](harness::stopwatch& watch) { return time_fib(env, n, coflux::borrowed(watch)).get(); });
}

harness::measured skynet(const harness::request& r) {
    const std::uint64_t leaves = harness::skynet_leaves(r.integer("depth"));
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return time_skynet(env, leaves, coflux::borrowed(watch)).get(); });
}

}  // namespace lab

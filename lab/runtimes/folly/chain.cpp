// Stages in a row, each of which waits at its queue for the one before it.
#include "adapter.hpp"
#include "workloads.hpp"

#include <folly/coro/BoundedQueue.h>

#include <list>

namespace lab {
namespace {

using queue = coro::BoundedQueue<std::uint64_t, true, true>;

// A place is free when a value comes, as the values go one at a time.
task<void> stage(queue& from, queue& to, std::uint64_t values) {
    for (std::uint64_t i = 0; i < values; ++i) {
        const std::uint64_t value = co_await from.dequeue();
        if (!to.try_enqueue(value + 1)) {
            co_await to.enqueue(value + 1);
        }
    }
}

task<std::uint64_t> feed(queue& first, queue& last, std::uint64_t values) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < values; ++i) {
        if (!first.try_enqueue(i)) {
            co_await first.enqueue(i);
        }
        sum += co_await last.dequeue();
    }
    co_return sum;
}

// One value at a time, so that each stage waits when its value comes.
task<std::uint64_t> chain(pool& threads, std::uint64_t depth, std::uint64_t values) {
    std::list<queue> queues;
    queues.emplace_back(1);
    std::vector<forked<void>> stages;
    stages.reserve(depth);
    for (std::uint64_t d = 0; d < depth; ++d) {
        queue& from = queues.back();
        stages.push_back(fork_to(threads, stage(from, queues.emplace_back(1), values)));
    }
    const auto [ended, sum] = co_await coro::collectAll(coro::collectAllRange(std::move(stages)),
                                                        feed(queues.front(), queues.back(), values));
    (void)ended;
    co_return sum;
}

task<std::uint64_t> run_chains(pool& threads, std::uint64_t chains, std::uint64_t depth, std::uint64_t values,
                               harness::stopwatch& watch) {
    std::vector<forked<std::uint64_t>> all;
    all.reserve(chains);
    watch.start();
    for (std::uint64_t c = 0; c < chains; ++c) {
        all.push_back(fork_to(threads, chain(threads, depth, values)));
    }
    const std::uint64_t sum = sum_of_all(co_await coro::collectAllRange(std::move(all)));
    watch.stop();
    co_return sum;
}

}  // namespace

harness::measured suspend_chain(const harness::request& r) {
    const std::uint64_t chains = r.integer("chains");
    const std::uint64_t depth = r.integer("depth");
    const std::uint64_t values = r.integer("values");
    pool threads{r.threads()};
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run(threads, run_chains(threads, chains, depth, values, watch)); });
}

}  // namespace lab

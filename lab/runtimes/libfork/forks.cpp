// Forks on the pool: joined at once, joined as a burst, and nested as a pipeline.
#include "definitions.hpp"
#include "loads.hpp"
#include "seed_work.hpp"
#include "workloads.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace lab {
namespace {

constexpr auto trivial = [](auto /*self*/, std::uint64_t i) -> lf::task<std::uint64_t> { co_return i; };

constexpr auto immediate = [](auto /*self*/, std::uint64_t forks) -> lf::task<std::uint64_t> {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < forks; ++i) {
        std::uint64_t result;
        co_await lf::fork[&result, trivial](i);
        co_await lf::join;
        sum += result;
    }
    co_return sum;
};

// A task counts in 16 bits how often it is stolen before its join, at most once a fork.
constexpr std::uint64_t most_forks_before_a_join = 1U << 15U;

constexpr auto part_of_burst = [](auto /*self*/, std::uint64_t* results, std::uint64_t begin,
                                  std::uint64_t end) -> lf::task<void> {
    for (std::uint64_t i = begin; i < end; ++i) {
        co_await lf::fork[&results[i], trivial](i);
    }
    co_await lf::join;
};

// A task more for each 32 768.
constexpr auto burst = [](auto /*self*/, std::uint64_t forks) -> lf::task<std::uint64_t> {
    std::vector<std::uint64_t> results(forks);
    for (std::uint64_t begin = 0; begin < forks; begin += most_forks_before_a_join) {
        co_await lf::fork[part_of_burst](results.data(), begin, std::min(begin + most_forks_before_a_join, forks));
    }
    co_await lf::join;
    co_return std::accumulate(results.begin(), results.end(), std::uint64_t{0});
};

constexpr auto stage = [](auto stage, std::uint64_t depth) -> lf::task<std::uint64_t> {
    if (depth == 1) {
        co_return 1;
    }
    std::uint64_t rest;
    co_await lf::fork[&rest, stage](depth - 1);
    co_await lf::join;
    co_return 1 + rest;
};

constexpr auto chains = [](auto /*self*/, std::uint64_t depth, std::uint64_t items) -> lf::task<std::uint64_t> {
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i < items; ++i) {
        std::uint64_t result;
        co_await lf::fork[&result, stage](depth);
        co_await lf::join;
        total += result;
    }
    co_return total;
};

// A stage that is called: no other worker could take what its caller does next.
constexpr auto stage_in_place = [](auto stage, std::uint64_t depth) -> lf::task<std::uint64_t> {
    if (depth == 1) {
        co_return 1;
    }
    co_return 1 + co_await lf::just[stage](depth - 1);
};

constexpr auto chains_in_place = [](auto /*self*/, std::uint64_t depth,
                                    std::uint64_t items) -> lf::task<std::uint64_t> {
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i < items; ++i) {
        total += co_await lf::just[stage_in_place](depth);
    }
    co_return total;
};

constexpr auto compute = [](auto /*self*/, std::uint64_t n) -> lf::task<std::uint64_t> {
    co_return harness::fib_by_recursion(n);
};

// Forks `work`, `tasks` times, and sums the results.
constexpr auto sum_of = [](auto /*self*/, std::uint64_t tasks, auto work,
                           auto... arguments) -> lf::task<std::uint64_t> {
    if (tasks > most_forks_before_a_join) {
        throw harness::unsupported_params("a task of libfork counts in 16 bits how often it is stolen");
    }
    std::vector<std::uint64_t> results(tasks);
    for (std::uint64_t& result : results) {
        co_await lf::fork[&result, work](arguments...);
    }
    co_await lf::join;
    co_return std::accumulate(results.begin(), results.end(), std::uint64_t{0});
};

// The results are there before the clock starts.
constexpr auto spawn_then_join = [](auto /*self*/, harness::stopwatch* watch,
                                    std::uint64_t count) -> lf::task<std::uint64_t> {
    std::vector<std::uint64_t> results(count);
    watch->start();
    for (std::uint64_t begin = 0; begin < count; begin += most_forks_before_a_join) {
        co_await lf::fork[part_of_burst](results.data(), begin, std::min(begin + most_forks_before_a_join, count));
    }
    co_await lf::join;
    const std::uint64_t sum = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
    watch->stop();
    co_return sum;
};

}  // namespace

harness::measured fork_pool(const harness::request& r) {
    const std::uint64_t forks = r.integer("count") / r.threads();
    const bool at_once = r.choice("mode", {"immediate", "final"}) == "immediate";
    workers pool{r.threads()};
    const std::uint64_t tasks = r.threads();
    return at_once ? measure_on(pool, r, sum_of, tasks, immediate, forks)
                   : measure_on(pool, r, sum_of, tasks, burst, forks);
}

harness::measured pipeline(const harness::request& r) {
    const std::uint64_t depth = r.integer("depth");
    const std::uint64_t items = r.integer("items");
    workers pool{r.threads()};
    return measure_on(pool, r, sum_of, r.integer("concurrency"), chains, depth, items);
}

harness::measured pipeline_expert(const harness::request& r) {
    const std::uint64_t depth = r.integer("depth");
    const std::uint64_t items = r.integer("items");
    workers pool{r.threads()};
    return measure_on(pool, r, sum_of, r.integer("concurrency"), chains_in_place, depth, items);
}

harness::measured fib_tasks(const harness::request& r) {
    if (harness::shape_of(r) != "coroutine") {
        throw harness::unsupported_params("nothing of libfork is in it: bare has the loop, std the threads");
    }
    const std::uint64_t n = r.integer("n");
    workers pool{r.threads()};
    return measure_on(pool, r, sum_of, r.integer("tasks"), compute, n);
}

harness::measured spawn_join(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    workers pool{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) -> std::uint64_t {
        return lf::sync_wait(pool, spawn_then_join, &watch, count);
    });
}

harness::measured memory_after(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    workers pool{r.threads()};
    return harness::measure_rest(r, [&](harness::stopwatch& watch) -> std::uint64_t {
        return lf::sync_wait(pool, spawn_then_join, &watch, count);
    });
}

harness::measured oversubscribed(const harness::request& r) {
    const harness::crowd crowd{r};
    if (crowd.sends()) {
        throw harness::unsupported_params("libfork has no channels");
    }
    if (crowd.workers() > 64) {
        throw harness::unsupported_params(
            "each worker of libfork knows all others: to make a pool of 1 000 takes seconds, and the row a minute");
    }
    workers pool{crowd.workers()};
    return harness::measure(r, [&](harness::stopwatch& watch) -> std::uint64_t {
        return lf::sync_wait(pool, spawn_then_join, &watch, crowd.count());
    });
}

}  // namespace lab

// Forks on the pool: awaited at once, joined as a burst, and nested as a pipeline.
#include "definitions.hpp"
#include "loads.hpp"
#include "workloads.hpp"

#include <coflux/coflux.hpp>

#include <vector>

namespace lab {
namespace {

using pool = coflux::thread_pool_executor;
using forked = coflux::fork<std::uint64_t, pool>;
using watch_ref = coflux::borrowed<harness::stopwatch>;

forked trivial(auto&&, std::uint64_t i) {
    co_return i;
}

forked immediate(coflux::environment&, std::uint64_t forks) {
    auto&& here = co_await coflux::context();
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < forks; ++i) {
        sum += co_await trivial(here, i);
    }
    co_return sum;
}

// A child that is part of its caller: no other worker can take it.
coflux::call<std::uint64_t> trivial_in_place(coflux::environment&, std::uint64_t i) {
    co_return i;
}

forked in_place(coflux::environment&, std::uint64_t forks) {
    auto&& here = co_await coflux::context();
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < forks; ++i) {
        sum += co_await trivial_in_place(here, i);
    }
    co_return sum;
}

forked burst(coflux::environment&, std::uint64_t forks) {
    auto&& here = co_await coflux::context();
    std::vector<forked> all;
    all.reserve(forks);
    for (std::uint64_t i = 0; i < forks; ++i) {
        all.push_back(trivial(here, i));
    }
    std::uint64_t sum = 0;
    // The youngest first: it is the newest of the worker's forks, and runs nested.
    for (; !all.empty(); all.pop_back()) {
        sum += co_await std::move(all.back());
    }
    co_return sum;
}

forked stage(auto&&, std::uint64_t depth) {
    if (depth == 1) {
        co_return 1;
    }
    auto&& here = co_await coflux::context();
    co_return 1 + co_await stage(here, depth - 1);
}

forked chains(auto&&, std::uint64_t depth, std::uint64_t items) {
    auto&& here = co_await coflux::context();
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i < items; ++i) {
        total += co_await stage(here, depth);
    }
    co_return total;
}

// A stage that is part of its caller: no other worker can take it.
coflux::call<std::uint64_t> stage_in_place(coflux::environment&, std::uint64_t depth) {
    if (depth == 1) {
        co_return 1;
    }
    auto&& here = co_await coflux::context();
    co_return 1 + co_await stage_in_place(here, depth - 1);
}

forked chains_in_place(auto&&, std::uint64_t depth, std::uint64_t items) {
    auto&& here = co_await coflux::context();
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i < items; ++i) {
        total += co_await stage_in_place(here, depth);
    }
    co_return total;
}

/// Runs what `make` forks, `tasks` times at once, and sums the results.
coflux::task<std::uint64_t, pool> sum_of(auto&&, std::uint64_t tasks, auto make, watch_ref watch) {
    auto&& here = co_await coflux::context();
    std::vector<forked> all;
    all.reserve(tasks);
    watch->start();
    for (std::uint64_t t = 0; t < tasks; ++t) {
        all.push_back(make(here));
    }
    std::uint64_t sum = 0;
    for (const std::uint64_t s : co_await coflux::when_all(std::move(all))) {
        sum += s;
    }
    watch->stop();
    co_return sum;
}

coflux::task<std::uint64_t, pool> spawn_then_join(auto&&, std::uint64_t count, watch_ref watch) {
    auto&& here = co_await coflux::context();
    std::vector<forked> all;
    all.reserve(count);
    watch->start();
    for (std::uint64_t i = 0; i < count; ++i) {
        all.push_back(trivial(here, i));
    }
    std::uint64_t sum = 0;
    for (; !all.empty(); all.pop_back()) {
        sum += co_await std::move(all.back());
    }
    watch->stop();
    co_return sum;
}

template <typename Make>
harness::measured measure_tasks(const harness::request& r, std::uint64_t tasks, Make make) {
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return sum_of(env, tasks, make, coflux::borrowed(watch)).get(); });
}

using sub_task = forked (*)(coflux::environment&, std::uint64_t forks);

harness::measured measure_fork_pool(const harness::request& r, sub_task one_by_one) {
    const sub_task body = r.choice("mode", {"immediate", "final"}) == "immediate" ? one_by_one : burst;
    const std::uint64_t forks = r.integer("count") / r.threads();
    return measure_tasks(r, r.threads(), [=](auto& here) { return body(here, forks); });
}

}  // namespace

harness::measured fork_pool(const harness::request& r) {
    return measure_fork_pool(r, immediate);
}

harness::measured fork_pool_expert(const harness::request& r) {
    return measure_fork_pool(r, in_place);
}

harness::measured pipeline(const harness::request& r) {
    const std::uint64_t depth = r.integer("depth");
    const std::uint64_t items = r.integer("items");
    return measure_tasks(r, r.integer("concurrency"),
                         [depth, items](auto& here) { return chains(here, depth, items); });
}

harness::measured pipeline_expert(const harness::request& r) {
    const std::uint64_t depth = r.integer("depth");
    const std::uint64_t items = r.integer("items");
    return measure_tasks(r, r.integer("concurrency"),
                         [depth, items](auto& here) { return chains_in_place(here, depth, items); });
}

harness::measured spawn_join(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return spawn_then_join(env, count, coflux::borrowed(watch)).get(); });
}

harness::measured memory_after(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure_rest(
        r, [&](harness::stopwatch& watch) { return spawn_then_join(env, count, coflux::borrowed(watch)).get(); });
}

harness::measured forks_of_a_crowd(const harness::request& r) {
    const harness::crowd crowd{r};
    pool threads{crowd.workers()};
    auto env = coflux::make_environment(threads);
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return spawn_then_join(env, crowd.count(), coflux::borrowed(watch)).get();
    });
}

}  // namespace lab

// Forks on the pool: awaited at once, joined as a burst, and nested as a pipeline.
// Idioms: docs/tour/01-first-program.md
#include "definitions.hpp"
#include "loads.hpp"
#include "sub_tasks.hpp"
#include "workloads.hpp"

#include <coflux/coflux.hpp>

#include <vector>

namespace lab {
namespace {

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

forked burst(coflux::environment&, std::uint64_t forks) {
    auto&& here = co_await coflux::context();
    std::vector<forked> all;
    all.reserve(forks);
    for (std::uint64_t i = 0; i < forks; ++i) {
        all.push_back(trivial(here, i));
    }
    std::uint64_t sum = 0;
    for (const std::uint64_t value : co_await coflux::when_all(std::move(all))) {
        sum += value;
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

coflux::task<std::uint64_t, pool> spawn_then_join(auto&&, std::uint64_t count, watch_ref watch) {
    auto&& here = co_await coflux::context();
    std::vector<forked> all;
    all.reserve(count);
    watch->start();
    for (std::uint64_t i = 0; i < count; ++i) {
        all.push_back(trivial(here, i));
    }
    std::uint64_t sum = 0;
    for (const std::uint64_t value : co_await coflux::when_all(std::move(all))) {
        sum += value;
    }
    watch->stop();
    co_return sum;
}

}  // namespace

harness::measured fork_pool(const harness::request& r) {
    const auto body = r.choice("mode", {"immediate", "final"}) == "immediate" ? immediate : burst;
    const std::uint64_t forks = r.integer("count") / r.threads();
    return measure_tasks(r, r.threads(), [=](auto& here) { return body(here, forks); });
}

harness::measured pipeline(const harness::request& r) {
    const std::uint64_t depth = r.integer("depth");
    const std::uint64_t items = r.integer("items");
    return measure_tasks(r, r.integer("concurrency"),
                         [depth, items](auto& here) { return chains(here, depth, items); });
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

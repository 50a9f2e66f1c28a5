// A lock that goes from coroutine to coroutine.
// Idioms: docs/tour/00-if-you-know.md
#include "workloads.hpp"

#include <coflux/coflux.hpp>

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

namespace lab {
namespace {

using pool = coflux::thread_pool_executor;

struct contest {
    std::uint64_t tasks;
    std::uint64_t locks;
    coflux::mutex lock{};
    std::uint64_t counter = 0;
    std::atomic<std::uint64_t> present{0};
};

coflux::fork<void, pool> count_under_lock(auto&&, coflux::borrowed<contest> shared) {
    shared->present.fetch_add(1);
    for (std::uint64_t i = 0; i < shared->locks; ++i) {
        const auto guard = co_await shared->lock.lock();
        const std::uint64_t before = shared->counter;
        // The first time, until all have come for the lock: a queue that is never empty keeps itself up.
        while (i == 0 && shared->present.load() < shared->tasks) {
            co_await coflux::yield();
        }
        shared->counter = before + 1;
    }
}

coflux::task<std::uint64_t, pool> run_handoff(auto&&, std::uint64_t tasks, std::uint64_t locks,
                                              coflux::borrowed<harness::stopwatch> watch) {
    auto&& here = co_await coflux::context();
    contest shared{.tasks = tasks, .locks = locks};
    std::vector<coflux::fork<void, pool>> all;
    all.reserve(tasks);
    watch->start();
    for (std::uint64_t t = 0; t < tasks; ++t) {
        all.push_back(count_under_lock(here, coflux::borrowed(shared)));
    }
    co_await coflux::when_all(std::move(all));
    watch->stop();
    co_return shared.counter;
}

}  // namespace

harness::measured mutex_handoff(const harness::request& r) {
    const std::uint64_t tasks = r.integer("tasks");
    const std::uint64_t locks = r.integer("locks");
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run_handoff(env, tasks, locks, coflux::borrowed(watch)).get(); });
}

}  // namespace lab

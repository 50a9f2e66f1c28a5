// A lock that goes from coroutine to coroutine.
#include "adapter.hpp"
#include "workloads.hpp"

#include <folly/coro/CurrentExecutor.h>
#include <folly/coro/Mutex.h>

#include <atomic>

namespace lab {
namespace {

struct contest {
    std::uint64_t tasks;
    std::uint64_t locks;
    coro::Mutex lock{};
    std::uint64_t counter = 0;
    std::atomic<std::uint64_t> present{0};
};

task<void> count_under_lock(contest& shared) {
    shared.present.fetch_add(1);
    for (std::uint64_t i = 0; i < shared.locks; ++i) {
        const auto guard = co_await shared.lock.co_scoped_lock();
        const std::uint64_t before = shared.counter;
        // The first time, until all have come for the lock: a queue that is never empty keeps itself up.
        while (i == 0 && shared.present.load() < shared.tasks) {
            co_await coro::co_reschedule_on_current_executor;
        }
        shared.counter = before + 1;
    }
}

task<std::uint64_t> run_handoff(pool& threads, std::uint64_t tasks, std::uint64_t locks, harness::stopwatch& watch) {
    contest shared{.tasks = tasks, .locks = locks};
    std::vector<forked<void>> all;
    all.reserve(tasks);
    watch.start();
    for (std::uint64_t t = 0; t < tasks; ++t) {
        all.push_back(fork_to(threads, count_under_lock(shared)));
    }
    co_await coro::collectAllRange(std::move(all));
    watch.stop();
    co_return shared.counter;
}

}  // namespace

harness::measured mutex_handoff(const harness::request& r) {
    const std::uint64_t tasks = r.integer("tasks");
    const std::uint64_t locks = r.integer("locks");
    pool threads{r.threads()};
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run(threads, run_handoff(threads, tasks, locks, watch)); });
}

}  // namespace lab

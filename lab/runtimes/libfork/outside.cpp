// Tasks that threads start which are not of the pool: requests, floods, and arrivals at their own times.
#include "loads.hpp"
#include "pinning.hpp"
#include "workloads.hpp"

#include <cstddef>
#include <span>

namespace lab {
namespace {

constexpr auto answer = [](auto /*self*/, std::uint64_t request) -> lf::task<std::uint64_t> { co_return request + 1; };

constexpr auto injected = [](auto /*self*/, harness::injection* all, std::uint64_t producer,
                             std::uint64_t number) -> lf::task<void> {
    all->ran(producer, number);
    co_return;
};

constexpr auto arrived = [](auto /*self*/, harness::open_loop* loop, std::uint64_t number) -> lf::task<void> {
    loop->run_task(number);
    co_return;
};

}  // namespace

harness::measured outside_wake(const harness::request& r) {
    if (r.integer("cpus") == 1) {
        throw harness::unsupported_params(
            "libfork's workers bind themselves to the machine's CPUs, also to others than the process has");
    }
    harness::stay_on(r.integer("cpus"));
    workers pool{r.workers()};
    return harness::ask_often(
        r, [&pool](std::uint64_t request) -> std::uint64_t { return lf::sync_wait(pool, answer, request); });
}

// A pool may be given tasks by one thread at a time, a worker by any: the threads take turns over the workers.
harness::measured inject(const harness::request& r) {
    harness::injection all{r};
    workers pool{r.threads()};
    const std::span<lf::worker_context*> contexts = pool.contexts();
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return all.run(watch, [&](std::uint64_t producer, std::uint64_t number) {
            lf::worker_context& worker = *contexts[static_cast<std::size_t>(number) % contexts.size()];
            lf::detach(worker, injected, &all, producer, number);
        });
    });
}

harness::measured latency_under_load(const harness::request& r) {
    harness::open_loop loop{r};
    workers pool{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return loop.run(watch, [&](std::uint64_t number) { lf::detach(pool, arrived, &loop, number); });
    });
}

}  // namespace lab

// Tasks that threads start which are not of the executor: requests, floods, and arrivals at their own times.
#include "loads.hpp"
#include "pinning.hpp"
#include "workloads.hpp"

namespace lab {

harness::measured outside_wake(const harness::request& r) {
    harness::stay_on(r.integer("cpus"));
    // The row says which CPUs they have.
    workers pool{r.workers(), tmc::work_stealing_strategy::HIERARCHY_MATRIX, false};
    return harness::ask_often(r, [&pool](std::uint64_t request) {
        return tmc::post_waitable(pool.executor(), [request] { return request + 1; }).get();
    });
}

harness::measured inject(const harness::request& r) {
    harness::injection all{r};
    workers pool{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return all.run(watch, [&](std::uint64_t producer, std::uint64_t number) {
            tmc::post(pool.executor(), [&all, producer, number] { all.ran(producer, number); });
        });
    });
}

harness::measured latency_under_load(const harness::request& r) {
    harness::open_loop loop{r};
    workers pool{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return loop.run(watch, [&](std::uint64_t number) {
            tmc::post(pool.executor(), [&loop, number] { loop.run_task(number); });
        });
    });
}

}  // namespace lab

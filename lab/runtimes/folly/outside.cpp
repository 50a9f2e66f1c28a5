// Tasks that threads start which are not of the pool: requests, floods, and arrivals at their own times.
#include "adapter.hpp"
#include "loads.hpp"
#include "pinning.hpp"
#include "workloads.hpp"

#include <folly/synchronization/Baton.h>

namespace lab {
namespace {

task<std::uint64_t> answer(std::uint64_t request) {
    co_return request + 1;
}

task<void> injected(harness::injection& all, std::uint64_t producer, std::uint64_t number) {
    all.ran(producer, number);
    co_return;
}

task<void> arrived(harness::open_loop& loop, std::uint64_t number) {
    loop.run_task(number);
    co_return;
}

template <typename Start>
harness::measured flood(const harness::request& r, Start start) {
    harness::injection all{r};
    pool threads{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return all.run(watch,
                       [&](std::uint64_t producer, std::uint64_t number) { start(threads, all, producer, number); });
    });
}

template <typename Start>
harness::measured arrivals(const harness::request& r, Start start) {
    harness::open_loop loop{r};
    pool threads{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return loop.run(watch, [&](std::uint64_t number) { start(threads, loop, number); });
    });
}

}  // namespace

harness::measured outside_wake(const harness::request& r) {
    harness::stay_on(r.integer("cpus"));
    pool threads{r.workers()};
    return harness::ask_often(r, [&threads](std::uint64_t request) { return run(threads, answer(request)); });
}

harness::measured outside_wake_expert(const harness::request& r) {
    harness::stay_on(r.integer("cpus"));
    pool threads{r.workers()};
    return harness::ask_often(r, [&threads](std::uint64_t request) {
        folly::Baton<> answered;
        std::uint64_t answer = 0;
        threads.add([&] {
            answer = request + 1;
            answered.post();
        });
        answered.wait();
        return answer;
    });
}

harness::measured inject(const harness::request& r) {
    return flood(r, [](pool& threads, harness::injection& all, std::uint64_t producer, std::uint64_t number) {
        fork_to(threads, injected(all, producer, number)).start();
    });
}

harness::measured inject_expert(const harness::request& r) {
    return flood(r, [](pool& threads, harness::injection& all, std::uint64_t producer, std::uint64_t number) {
        threads.add([&all, producer, number] { all.ran(producer, number); });
    });
}

harness::measured latency_under_load(const harness::request& r) {
    return arrivals(r, [](pool& threads, harness::open_loop& loop, std::uint64_t number) {
        fork_to(threads, arrived(loop, number)).start();
    });
}

harness::measured latency_under_load_expert(const harness::request& r) {
    return arrivals(r, [](pool& threads, harness::open_loop& loop, std::uint64_t number) {
        threads.add([&loop, number] { loop.run_task(number); });
    });
}

}  // namespace lab

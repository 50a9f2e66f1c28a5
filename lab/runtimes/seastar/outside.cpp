// Tasks that threads start which are not of a shard: requests, floods, and arrivals at their own times.
#include "loads.hpp"
#include "outside_thread.hpp"
#include "pinning.hpp"
#include "workloads.hpp"

namespace lab {
namespace {

harness::measured driven(unsigned shards, waiting how, outside_thread::function body) {
    outside_thread driver{std::move(body)};
    return on_shards(shards, how, [&driver] { return driver.run(); });
}

ss::future<std::uint64_t> answer(std::uint64_t request) {
    co_return request + 1;
}

}  // namespace

harness::measured outside_wake(const harness::request& r, waiting how) {
    harness::stay_on(r.integer("cpus"));
    const unsigned shards = r.workers();
    return driven(shards, how, [&r, shards](ss::alien::instance& reactors) {
        return harness::ask_often(r, [&reactors, shards](std::uint64_t request) {
            return ss::alien::submit_to(reactors, static_cast<unsigned>(request % shards),
                                        [request] { return answer(request); })
                .get();
        });
    });
}

harness::measured inject(const harness::request& r, waiting how) {
    const unsigned shards = r.threads();
    harness::injection all{r};
    return driven(shards, how, [&r, &all, shards](ss::alien::instance& reactors) {
        return harness::measure(r, [&](harness::stopwatch& watch) {
            return all.run(watch, [&](std::uint64_t producer, std::uint64_t number) {
                ss::alien::run_on(reactors, static_cast<unsigned>(number % shards),
                                  [&all, producer, number]() noexcept { all.ran(producer, number); });
            });
        });
    });
}

harness::measured latency_under_load(const harness::request& r, waiting how) {
    const unsigned shards = r.threads();
    harness::open_loop loop{r};
    return driven(shards, how, [&r, &loop, shards](ss::alien::instance& reactors) {
        return harness::measure(r, [&](harness::stopwatch& watch) {
            return loop.run(watch, [&](std::uint64_t number) {
                ss::alien::run_on(reactors, static_cast<unsigned>(number % shards),
                                  [&loop, number]() noexcept { loop.run_task(number); });
            });
        });
    });
}

}  // namespace lab

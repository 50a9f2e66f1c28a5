// The workloads of the libfork adapter, and the root task that all of them have.
#pragma once

#include "harness.hpp"

#include <libfork/core.hpp>
#include <libfork/schedule.hpp>

#include <cstdint>

namespace lab {

// The pool whose idle workers sleep.
using workers = lf::lazy_pool;

// Times `work` on a worker, so that the hand-over from the main thread is not in the figure.
inline constexpr auto timed = [](auto /*self*/, harness::stopwatch* watch, auto work,
                                 auto... arguments) -> lf::task<std::uint64_t> {
    watch->start();
    const std::uint64_t answer = co_await lf::just[work](arguments...);
    watch->stop();
    co_return answer;
};

// Passes of work(arguments...) on a pool.
template <typename Pool, typename Work, typename... Arguments>
harness::measured measure_on(Pool& pool, const harness::request& r, Work work, Arguments... arguments) {
    return harness::measure(r, [&](harness::stopwatch& watch) -> std::uint64_t {
        return lf::sync_wait(pool, timed, &watch, work, arguments...);
    });
}

harness::measured fork_pool(const harness::request& r);
harness::measured pipeline(const harness::request& r);
harness::measured pipeline_expert(const harness::request& r);
harness::measured spawn_join(const harness::request& r);
harness::measured memory_after(const harness::request& r);
harness::measured oversubscribed(const harness::request& r);
harness::measured fib_tasks(const harness::request& r);
harness::measured fib(const harness::request& r);
harness::measured skynet(const harness::request& r);
harness::measured nqueens(const harness::request& r);
harness::measured matmul(const harness::request& r);
harness::measured unbalanced(const harness::request& r);
harness::measured fork_noop(const harness::request& r);
harness::measured call_overhead(const harness::request& r);
harness::measured yield(const harness::request& r);
harness::measured fairness(const harness::request& r);
harness::measured outside_wake(const harness::request& r);
harness::measured inject(const harness::request& r);
harness::measured latency_under_load(const harness::request& r);

}  // namespace lab

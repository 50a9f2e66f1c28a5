// A task that is started and not awaited, beside a coroutine that forks and awaits.
#include "fairness.hpp"

#include "adapter.hpp"
#include "workloads.hpp"

#include <folly/futures/Future.h>

#include <chrono>

namespace lab {
namespace {

task<void> background_job(harness::fair_round& round) {
    round.begin_job();
    co_return;
}

task<void> child(std::chrono::microseconds step) {
    harness::compute_for(step);
    co_return;
}

task<std::uint64_t> run_rounds(pool& threads, std::uint64_t jobs, std::chrono::microseconds step,
                               harness::stopwatch& watch) {
    std::uint64_t fair = 0;
    watch.start();
    for (bool starved = false; fair < jobs && !starved;) {
        harness::fair_round round;
        auto background = fork_to(threads, background_job(round)).start();
        while (round.goes_on()) {
            co_await fork_to(threads, child(step));
        }
        starved = !round.job_has_begun();
        fair += starved ? 0 : 1;
        co_await std::move(background);
    }
    watch.stop();
    co_return fair;
}

}  // namespace

harness::measured fairness(const harness::request& r) {
    const std::uint64_t jobs = r.integer("jobs");
    const std::chrono::microseconds step{r.integer("step_us")};
    pool threads{r.threads()};
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run(threads, run_rounds(threads, jobs, step, watch)); });
}

}  // namespace lab

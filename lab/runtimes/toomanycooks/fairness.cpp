// A fork that nothing awaits yet, beside a task that spawns others and awaits them.
#include "fairness.hpp"

#include "workloads.hpp"

#include <tmc/spawn.hpp>

#include <chrono>
#include <utility>

namespace lab {
namespace {

tmc::task<void> background_job(harness::fair_round& round) {
    round.begin_job();
    co_return;
}

tmc::task<void> child(std::chrono::microseconds step) {
    harness::compute_for(step);
    co_return;
}

tmc::task<std::uint64_t> run_rounds(std::uint64_t jobs, std::chrono::microseconds step) {
    std::uint64_t fair = 0;
    for (bool starved = false; fair < jobs && !starved;) {
        harness::fair_round round;
        auto background = tmc::spawn(background_job(round)).fork();
        while (round.goes_on()) {
            co_await tmc::spawn(child(step));
        }
        starved = !round.job_has_begun();
        fair += starved ? 0 : 1;
        co_await std::move(background);
    }
    co_return fair;
}

}  // namespace

harness::measured fairness(const harness::request& r) {
    const std::uint64_t jobs = r.integer("jobs");
    const std::chrono::microseconds step{r.integer("step_us")};
    if (r.threads() == 1) {
        throw harness::unsupported_params(
            "with one thread the job does not begin while the maker spawns children and awaits them: the youngest task "
            "is taken first");
    }
    workers pool{r.threads()};
    return measure_on(pool, r, [jobs, step] { return run_rounds(jobs, step); });
}

}  // namespace lab

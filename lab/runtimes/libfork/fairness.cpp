// A fork beside a task that makes others: a fork begins at once, and it is its maker that others may take.
#include "fairness.hpp"

#include "workloads.hpp"

#include <chrono>

namespace lab {
namespace {

constexpr auto background_job = [](auto /*self*/, harness::fair_round* round) -> lf::task<void> {
    round->begin_job();
    co_return;
};

constexpr auto child = [](auto /*self*/, std::chrono::microseconds step) -> lf::task<void> {
    harness::compute_for(step);
    co_return;
};

// In a task of its own, as a join waits for all forks of its task.
constexpr auto fork_a_child = [](auto /*self*/, std::chrono::microseconds step) -> lf::task<void> {
    co_await lf::fork[child](step);
    co_await lf::join;
};

constexpr auto run_rounds = [](auto /*self*/, std::uint64_t jobs,
                               std::chrono::microseconds step) -> lf::task<std::uint64_t> {
    std::uint64_t fair = 0;
    for (bool starved = false; fair < jobs && !starved;) {
        harness::fair_round round;
        co_await lf::fork[background_job](&round);
        while (round.goes_on()) {
            co_await lf::call[fork_a_child](step);
        }
        starved = !round.job_has_begun();
        fair += starved ? 0 : 1;
        co_await lf::join;
    }
    co_return fair;
};

}  // namespace

harness::measured fairness(const harness::request& r) {
    const std::uint64_t jobs = r.integer("jobs");
    const std::chrono::microseconds step{r.integer("step_us")};
    workers pool{r.threads()};
    return measure_on(pool, r, run_rounds, jobs, step);
}

}  // namespace lab

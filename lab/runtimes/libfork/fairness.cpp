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

constexpr auto run_rounds = [](auto /*self*/, harness::fair_rounds* rounds,
                               harness::stopwatch* watch) -> lf::task<std::uint64_t> {
    rounds->begin();
    watch->start();
    while (rounds->go_on()) {
        harness::fair_round round;
        co_await lf::fork[background_job](&round);
        while (round.goes_on()) {
            co_await lf::call[fork_a_child](rounds->step());
        }
        const bool in_time = round.job_has_begun();
        co_await lf::join;
        rounds->end_round(round, in_time, *watch);
    }
    watch->stop();
    co_return rounds->fair();
};

}  // namespace

harness::measured fairness(const harness::request& r) {
    harness::fair_rounds rounds{r};
    if (rounds.is_timer()) {
        throw harness::unsupported_params("libfork has no timers");
    }
    if (rounds.is_injected()) {
        throw harness::unsupported_params(
            "a thread gives a task to one worker, and the one that runs the maker does not look at what it was given "
            "before that ends");
    }
    workers pool{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) -> std::uint64_t {
        return lf::sync_wait(pool, run_rounds, &rounds, &watch);
    });
}

}  // namespace lab

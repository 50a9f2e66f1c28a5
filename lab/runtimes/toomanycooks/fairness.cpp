// A job that nothing awaits yet, beside a task that spawns others and awaits them.
#include "fairness.hpp"

#include "workloads.hpp"

#include <tmc/aw_yield.hpp>
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

tmc::task<bool> makes_children(harness::fair_round& round, std::chrono::microseconds step) {
    while (round.goes_on()) {
        co_await tmc::spawn(child(step));
    }
    co_return round.job_has_begun();
}

tmc::task<std::uint64_t> run_rounds(harness::fair_rounds& rounds, harness::outsider& outside,
                                    harness::stopwatch& watch) {
    rounds.begin();
    watch.start();
    while (rounds.go_on()) {
        harness::fair_round round;
        bool in_time = false;
        if (rounds.is_injected()) {
            outside.ask(round);
            in_time = co_await makes_children(round, rounds.step());
            while (!round.job_has_begun()) {
                co_await tmc::reschedule();
            }
        } else {
            auto background = tmc::spawn(background_job(round)).fork();
            in_time = co_await makes_children(round, rounds.step());
            co_await std::move(background);
        }
        rounds.end_round(round, in_time, watch);
    }
    watch.stop();
    co_return rounds.fair();
}

}  // namespace

harness::measured fairness(const harness::request& r) {
    harness::fair_rounds rounds{r};
    if (rounds.is_timer()) {
        throw harness::unsupported_params("TooManyCooks has no timers of its own");
    }
    if (r.threads() == 1) {
        throw harness::unsupported_params(
            "with one thread the job does not begin while the maker spawns children and awaits them: the youngest task "
            "is taken first");
    }
    workers pool{r.threads()};
    harness::outsider outside{
        [&pool](harness::fair_round& round) { tmc::post(pool.executor(), [&round] { round.begin_job(); }); }};
    return harness::measure(r, [&](harness::stopwatch& watch) { return pool.run(run_rounds(rounds, outside, watch)); });
}

}  // namespace lab

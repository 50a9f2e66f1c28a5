// A task that is started and not awaited, beside a coroutine that forks and awaits.
#include "fairness.hpp"

#include "adapter.hpp"
#include "workloads.hpp"

#include <folly/coro/Sleep.h>
#include <folly/futures/Future.h>

#include <chrono>

namespace lab {
namespace {

task<void> background_job(harness::fair_round& round) {
    round.begin_job();
    co_return;
}

task<void> timer_job(harness::fair_round& round) {
    round.due_in(harness::fairness_delay);
    co_await coro::sleep(harness::fairness_delay);
    round.begin_job();
}

task<void> child(std::chrono::microseconds step) {
    harness::compute_for(step);
    co_return;
}

task<std::uint64_t> run_rounds(pool& threads, harness::fair_rounds& rounds, harness::outsider& outside,
                               harness::stopwatch& watch) {
    rounds.begin();
    watch.start();
    while (rounds.go_on()) {
        harness::fair_round round;
        auto background = folly::SemiFuture<folly::Unit>{};
        if (rounds.is_injected()) {
            outside.ask(round);
        } else {
            background = fork_to(threads, rounds.is_timer() ? timer_job(round) : background_job(round)).start();
        }
        while (round.goes_on()) {
            co_await fork_to(threads, child(rounds.step()));
        }
        const bool in_time = round.job_has_begun();
        co_await std::move(background);
        while (!round.job_has_begun()) {
            co_await coro::sleep(harness::fairness_delay);
        }
        rounds.end_round(round, in_time, watch);
    }
    watch.stop();
    co_return rounds.fair();
}

}  // namespace

harness::measured fairness(const harness::request& r) {
    harness::fair_rounds rounds{r};
    pool threads{r.threads()};
    harness::outsider outside{[&threads](harness::fair_round& round) { threads.add([&round] { round.begin_job(); }); }};
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run(threads, run_rounds(threads, rounds, outside, watch)); });
}

}  // namespace lab

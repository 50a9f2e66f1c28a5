// A task that nothing waits for yet, beside a task that starts others and waits for them.
#include "fairness.hpp"

#include "workloads.hpp"

#include <tbb/task_group.h>

#include <chrono>
#include <thread>

namespace lab {
namespace {

std::uint64_t run_rounds(harness::fair_rounds& rounds, harness::outsider& outside, harness::stopwatch& watch) {
    rounds.begin();
    watch.start();
    while (rounds.go_on()) {
        harness::fair_round round;
        tbb::task_group background;
        if (rounds.is_injected()) {
            outside.ask(round);
        } else {
            background.run([&round] { round.begin_job(); });
        }
        while (round.goes_on()) {
            tbb::task_group children;
            children.run([step = rounds.step()] { harness::compute_for(step); });
            children.wait();
        }
        const bool in_time = round.job_has_begun();
        background.wait();
        while (!round.job_has_begun()) {
            std::this_thread::yield();  // the other threads are free
        }
        rounds.end_round(round, in_time, watch);
    }
    watch.stop();
    return rounds.fair();
}

}  // namespace

harness::measured fairness(const harness::request& r) {
    harness::fair_rounds rounds{r};
    if (rounds.is_timer()) {
        throw harness::unsupported_params("oneTBB has no timers");
    }
    if (r.threads() == 1) {
        throw harness::unsupported_params(
            "with one thread the job does not begin while the maker makes children and waits for them: the youngest "
            "task is taken first");
    }
    workers pool{r.threads()};
    harness::outsider outside{[&pool](harness::fair_round& round) { pool.enqueue([&round] { round.begin_job(); }); }};
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return pool.run([&] { return run_rounds(rounds, outside, watch); }); });
}

}  // namespace lab

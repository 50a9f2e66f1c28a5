// A task that nothing waits for yet, beside a task that starts others and waits for them.
#include "fairness.hpp"

#include "workloads.hpp"

#include <tbb/task_group.h>

#include <chrono>

namespace lab {
namespace {

std::uint64_t run_rounds(std::uint64_t jobs, std::chrono::microseconds step) {
    std::uint64_t fair = 0;
    for (bool starved = false; fair < jobs && !starved;) {
        harness::fair_round round;
        tbb::task_group background;
        background.run([&round] { round.begin_job(); });
        while (round.goes_on()) {
            tbb::task_group children;
            children.run([step] { harness::compute_for(step); });
            children.wait();
        }
        starved = !round.job_has_begun();
        fair += starved ? 0 : 1;
        background.wait();
    }
    return fair;
}

}  // namespace

harness::measured fairness(const harness::request& r) {
    const std::uint64_t jobs = r.integer("jobs");
    const std::chrono::microseconds step{r.integer("step_us")};
    if (r.threads() == 1) {
        throw harness::unsupported_params(
            "with one thread the job does not begin while the maker makes children and waits for them: the youngest "
            "task is taken first");
    }
    workers pool{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return pool.run([&] {
            watch.start();
            const std::uint64_t fair = run_rounds(jobs, step);
            watch.stop();
            return fair;
        });
    });
}

}  // namespace lab

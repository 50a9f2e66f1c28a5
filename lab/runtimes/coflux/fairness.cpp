// A fork that nothing awaits, beside a coroutine that forks and awaits.
#include "fairness.hpp"

#include "workloads.hpp"

#include <coflux/coflux.hpp>

#include <chrono>
#include <cstdint>
#include <utility>

namespace lab {
namespace {

using pool = coflux::thread_pool_executor;

coflux::fork<void, pool> background_job(auto&&, coflux::borrowed<harness::fair_round> round) {
    round->begin_job();
    co_return;
}

coflux::fork<void, pool> child(auto&&, std::chrono::microseconds step) {
    harness::compute_for(step);
    co_return;
}

coflux::task<std::uint64_t, pool> run_rounds(auto&&, std::uint64_t jobs, std::chrono::microseconds step,
                                             coflux::borrowed<harness::stopwatch> watch) {
    auto&& here = co_await coflux::context();
    std::uint64_t fair = 0;
    watch->start();
    for (bool starved = false; fair < jobs && !starved;) {
        harness::fair_round round;
        auto background = background_job(here, coflux::borrowed(round));
        while (round.goes_on()) {
            co_await child(here, step);
        }
        starved = !round.job_has_begun();
        fair += starved ? 0 : 1;
        co_await std::move(background);
    }
    watch->stop();
    co_return fair;
}

}  // namespace

harness::measured fairness(const harness::request& r) {
    const std::uint64_t jobs = r.integer("jobs");
    const std::chrono::microseconds step{r.integer("step_us")};
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run_rounds(env, jobs, step, coflux::borrowed(watch)).get(); });
}

}  // namespace lab

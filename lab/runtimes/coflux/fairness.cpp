// A job that nothing awaits, beside a coroutine that forks and awaits.
// Idioms: docs/tour/01-first-program.md
#include "fairness.hpp"

#include "open_scope.hpp"
#include "workloads.hpp"

#include <coflux/coflux.hpp>

#include <chrono>
#include <cstdint>
#include <utility>

namespace lab {
namespace {

using coflux::borrowed;
using job = coflux::fork<void, pool>;

job background_job(auto&&, borrowed<harness::fair_round> round) {
    round->begin_job();
    co_return;
}

job timer_job(auto&&, borrowed<harness::fair_round> round) {
    round->due_in(harness::fairness_delay);
    co_await coflux::sleep_for(harness::fairness_delay);
    round->begin_job();
}

job injected_job(coflux::environment&, borrowed<harness::fair_round> round) {
    round->begin_job();
    co_return;
}

coflux::fork<void, pool> child(auto&&, std::chrono::microseconds step) {
    harness::compute_for(step);
    co_return;
}

coflux::task<std::uint64_t, pool> run_rounds(auto&&, borrowed<harness::fair_rounds> rounds,
                                             borrowed<harness::outsider> outside, borrowed<harness::stopwatch> watch) {
    auto&& here = co_await coflux::context();
    rounds->begin();
    watch->start();
    while (rounds->go_on()) {
        harness::fair_round round;
        job background;
        if (rounds->is_injected()) {
            outside->ask(round);
        } else if (rounds->is_timer()) {
            background = timer_job(here, borrowed(round));
        } else {
            background = background_job(here, borrowed(round));
        }
        while (round.goes_on()) {
            co_await child(here, rounds->step());
        }
        const bool in_time = round.job_has_begun();
        if (background.valid()) {
            co_await std::move(background);
        }
        while (!round.job_has_begun()) {
            co_await coflux::sleep_for(harness::fairness_delay);
        }
        rounds->end_round(round, in_time, *watch);
    }
    watch->stop();
    co_return rounds->fair();
}

}  // namespace

harness::measured fairness(const harness::request& r) {
    harness::fair_rounds rounds{r};
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    const open_scope scope{env};
    harness::outsider outside{[&](harness::fair_round& round) { scope.get().spawn(injected_job, borrowed(round)); }};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return run_rounds(env, borrowed(rounds), borrowed(outside), borrowed(watch)).get();
    });
}

}  // namespace lab

// A job that nothing awaits, beside a coroutine that spawns and awaits.
#include "fairness.hpp"

#include "adapter.hpp"
#include "workloads.hpp"

#include <boost/asio/steady_timer.hpp>

#include <chrono>

namespace lab {
namespace {

using timer =
    asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, pool_executor>;

// Posted: a plain start would run it inside the maker's call, which measures nothing.
awaitable<void> background_job(harness::fair_round& round) {
    co_await to_the_pool();
    round.begin_job();
}

awaitable<void> timer_job(harness::fair_round& round) {
    timer delay{co_await asio::this_coro::executor};
    round.due_in(harness::fairness_delay);
    delay.expires_after(harness::fairness_delay);
    co_await delay.async_wait(use_awaitable);
    round.begin_job();
}

awaitable<void> child(std::chrono::microseconds step) {
    harness::compute_for(step);
    co_return;
}

awaitable<std::uint64_t> run_rounds(harness::fair_rounds& rounds, harness::outsider& outside,
                                    harness::stopwatch& watch) {
    const pool_executor pool = co_await asio::this_coro::executor;
    rounds.begin();
    watch.start();
    while (rounds.go_on()) {
        harness::fair_round round;
        sum_of_children background{rounds.is_injected() ? 0U : 1U};
        if (rounds.is_injected()) {
            outside.ask(round);
        } else if (rounds.is_timer()) {
            asio::co_spawn(pool, timer_job(round), background.delivery());
        } else {
            asio::co_spawn(pool, background_job(round), background.delivery());
        }
        while (round.goes_on()) {
            co_await asio::co_spawn(pool, child(rounds.step()), use_awaitable);
        }
        const bool in_time = round.job_has_begun();
        co_await background.wait();
        while (!round.job_has_begun()) {
            co_await to_the_pool();
        }
        rounds.end_round(round, in_time, watch);
    }
    watch.stop();
    co_return rounds.fair();
}

}  // namespace

harness::measured fairness(const harness::request& r) {
    harness::fair_rounds rounds{r};
    asio::thread_pool pool{r.threads()};
    harness::outsider outside{
        [&pool](harness::fair_round& round) { asio::post(pool, [&round] { round.begin_job(); }); }};
    return harness::measure(r,
                            [&](harness::stopwatch& watch) { return run(pool, run_rounds(rounds, outside, watch)); });
}

}  // namespace lab

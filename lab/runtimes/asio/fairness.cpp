// A co_spawn that nothing awaits, beside a coroutine that spawns and awaits.
#include "fairness.hpp"

#include "adapter.hpp"
#include "workloads.hpp"

#include <chrono>

namespace lab {
namespace {

// Posted: a plain start would run it inside the maker's call, which measures nothing.
awaitable<void> background_job(harness::fair_round& round) {
    co_await to_the_pool();
    round.begin_job();
}

awaitable<void> child(std::chrono::microseconds step) {
    harness::compute_for(step);
    co_return;
}

awaitable<std::uint64_t> run_rounds(std::uint64_t jobs, std::chrono::microseconds step, harness::stopwatch& watch) {
    const pool_executor pool = co_await asio::this_coro::executor;
    std::uint64_t fair = 0;
    watch.start();
    for (bool starved = false; fair < jobs && !starved;) {
        harness::fair_round round;
        sum_of_children background{1};
        asio::co_spawn(pool, background_job(round), background.delivery());
        while (round.goes_on()) {
            co_await asio::co_spawn(pool, child(step), use_awaitable);
        }
        starved = !round.job_has_begun();
        fair += starved ? 0 : 1;
        co_await background.wait();
    }
    watch.stop();
    co_return fair;
}

}  // namespace

harness::measured fairness(const harness::request& r) {
    const std::uint64_t jobs = r.integer("jobs");
    const std::chrono::microseconds step{r.integer("step_us")};
    asio::thread_pool pool{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) { return run(pool, run_rounds(jobs, step, watch)); });
}

}  // namespace lab

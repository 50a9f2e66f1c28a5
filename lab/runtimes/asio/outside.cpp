// Tasks that threads start which are not of the pool: requests, floods, and arrivals at their own times.
#include "adapter.hpp"
#include "loads.hpp"
#include "pinning.hpp"
#include "workloads.hpp"

#include <boost/asio/detached.hpp>

#include <future>

namespace lab {
namespace {

awaitable<std::uint64_t> answer(std::uint64_t request) {
    co_return request + 1;
}

awaitable<void> injected(harness::injection& all, std::uint64_t producer, std::uint64_t number) {
    all.ran(producer, number);
    co_return;
}

awaitable<void> arrived(harness::open_loop& loop, std::uint64_t number) {
    loop.run_task(number);
    co_return;
}

template <typename Start>
harness::measured flood(const harness::request& r, Start start) {
    harness::injection all{r};
    asio::thread_pool pool{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return all.run(watch,
                       [&](std::uint64_t producer, std::uint64_t number) { start(pool, all, producer, number); });
    });
}

}  // namespace

harness::measured outside_wake(const harness::request& r) {
    harness::stay_on(r.integer("cpus"));
    asio::thread_pool pool{r.workers()};
    return harness::ask_often(r, [&pool](std::uint64_t request) { return run(pool, answer(request)); });
}

harness::measured outside_wake_expert(const harness::request& r) {
    harness::stay_on(r.integer("cpus"));
    asio::thread_pool pool{r.workers()};
    return harness::ask_often(r, [&pool](std::uint64_t request) {
        return asio::post(pool, std::packaged_task<std::uint64_t()>{[request] { return request + 1; }}).get();
    });
}

harness::measured inject(const harness::request& r) {
    return flood(r, [](asio::thread_pool& pool, harness::injection& all, std::uint64_t producer, std::uint64_t number) {
        asio::co_spawn(pool, injected(all, producer, number), asio::detached);
    });
}

harness::measured inject_expert(const harness::request& r) {
    return flood(r, [](asio::thread_pool& pool, harness::injection& all, std::uint64_t producer, std::uint64_t number) {
        asio::post(pool, [&all, producer, number] { all.ran(producer, number); });
    });
}

harness::measured latency_under_load(const harness::request& r) {
    harness::open_loop loop{r};
    asio::thread_pool pool{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return loop.run(watch,
                        [&](std::uint64_t number) { asio::co_spawn(pool, arrived(loop, number), asio::detached); });
    });
}

harness::measured latency_under_load_expert(const harness::request& r) {
    harness::open_loop loop{r};
    asio::thread_pool pool{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return loop.run(watch,
                        [&](std::uint64_t number) { asio::post(pool, [&loop, number] { loop.run_task(number); }); });
    });
}

}  // namespace lab

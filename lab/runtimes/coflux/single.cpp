// Workloads of one coroutine after another: forks in place, calls, yields.
// Idioms: docs/tour/02-structure-and-stop.md
#include "definitions.hpp"
#include "executors.hpp"
#include "fresh_pages.hpp"
#include "workloads.hpp"

#include <coflux/coflux.hpp>

#include <cstddef>
#include <memory_resource>
#include <vector>

namespace lab {
namespace {

using coflux::noop_executor;

coflux::fork<std::uint64_t, noop_executor> child(auto&&, std::uint64_t i) {
    co_return i;
}

coflux::task<std::uint64_t, noop_executor> await_children(auto&&, std::uint64_t count,
                                                          coflux::borrowed<harness::stopwatch> watch) {
    auto&& here = co_await coflux::context();
    std::uint64_t sum = 0;
    watch->start();
    for (std::uint64_t i = 0; i < count; ++i) {
        sum += co_await child(here, i);
    }
    watch->stop();
    co_return sum;
}

std::uint64_t run_in(std::pmr::memory_resource* frames, std::uint64_t count, harness::stopwatch& watch) {
    auto env = coflux::make_environment(frames, noop_executor{});
    return await_children(env, count, coflux::borrowed(watch)).get();
}

__attribute__((noinline)) coflux::call<std::uint64_t> next(auto&&, std::uint64_t x) {
    co_return harness::opaque(x) + 1;
}

template <typename On>
coflux::task<std::uint64_t, On> await_calls(auto&&, std::uint64_t calls, coflux::borrowed<harness::stopwatch> watch) {
    auto&& here = co_await coflux::context();
    std::uint64_t x = 0;
    watch->start();
    for (std::uint64_t i = 0; i < calls; ++i) {
        x = co_await next(here, x);
    }
    watch->stop();
    co_return x;
}

coflux::fork<std::uint64_t, pool> yielder(auto&&, std::uint64_t yields, coflux::borrowed<harness::roll_call> all) {
    all->come();
    while (all->waits()) {
        co_await coflux::yield();
    }
    std::uint64_t done = 0;
    for (; done < yields; ++done) {
        co_await coflux::yield();
    }
    co_return all->complete() ? done : 0;
}

coflux::task<std::uint64_t, pool> run_yielders(auto&&, std::uint64_t tasks, std::uint64_t yields,
                                               coflux::borrowed<harness::stopwatch> watch) {
    auto&& here = co_await coflux::context();
    std::vector<coflux::fork<std::uint64_t, pool>> all;
    all.reserve(tasks);
    harness::roll_call roll{tasks};
    watch->start();
    for (std::uint64_t t = 0; t < tasks; ++t) {
        all.push_back(yielder(here, yields, coflux::borrowed(roll)));
    }
    std::uint64_t done = 0;
    for (const std::uint64_t d : co_await coflux::when_all(std::move(all))) {
        done += d;
    }
    watch->stop();
    co_return done;
}

}  // namespace

harness::measured fork_noop(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    const std::string resource = r.choice("resource", {"monotonic", "fresh", "pool", "frame_pool"});
    harness::measured m;
    if (resource == "frame_pool") {
        m = harness::measure(
            r, [&](harness::stopwatch& watch) { return run_in(&coflux::frame_pool::shared(), count, watch); });
    } else if (resource == "fresh") {
        m = harness::measure(r, [&](harness::stopwatch& watch) {
            const harness::fresh_pages pages{count * 192 + 4096};
            std::pmr::monotonic_buffer_resource monotonic(pages.data(), pages.size());
            return run_in(&monotonic, count, watch);
        });
        m.allocator = "std::pmr monotonic";
    } else {
        // Faulted in beforehand, as the seed document's benchmark does: the question is the runtime, not the kernel.
        std::vector<std::byte> buffer(resource == "monotonic" ? count * 192 + 4096 : std::size_t{1} << 24);
        m = harness::measure(r, [&](harness::stopwatch& watch) {
            std::pmr::monotonic_buffer_resource monotonic(buffer.data(), buffer.size());
            if (resource == "monotonic") {
                return run_in(&monotonic, count, watch);
            }
            std::pmr::unsynchronized_pool_resource pool_resource(&monotonic);
            return run_in(&pool_resource, count, watch);
        });
        m.allocator = "std::pmr " + resource;
    }
    return m;
}

harness::measured call_overhead(const harness::request& r) {
    const std::uint64_t calls = r.integer("calls");
    auto env = coflux::make_environment(noop_executor{});
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return await_calls<noop_executor>(env, calls, coflux::borrowed(watch)).get();
    });
}

harness::measured call_overhead_expert(const harness::request& r) {
    const std::uint64_t calls = r.integer("calls");
    serial thread;
    auto env = coflux::make_environment(thread);
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return await_calls<serial>(env, calls, coflux::borrowed(watch)).get(); });
}

harness::measured yield(const harness::request& r) {
    const std::uint64_t tasks = r.integer("tasks");
    const std::uint64_t yields = r.integer("yields");
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run_yielders(env, tasks, yields, coflux::borrowed(watch)).get(); });
}

}  // namespace lab

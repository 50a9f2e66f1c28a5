// Tasks that threads start which are not of the pool: requests, floods, and arrivals at their own times.
#include "loads.hpp"
#include "open_scope.hpp"
#include "pinning.hpp"
#include "workloads.hpp"

#include <coflux/coflux.hpp>

#include <cstdint>

namespace lab {
namespace {

coflux::task<std::uint64_t, pool> answer(coflux::environment&, std::uint64_t request) {
    co_return request + 1;
}

coflux::fork<void, pool> injected(coflux::environment&, coflux::borrowed<harness::injection> all,
                                  std::uint64_t producer, std::uint64_t number) {
    all->ran(producer, number);
    co_return;
}

coflux::fork<void, pool> arrived(coflux::environment&, coflux::borrowed<harness::open_loop> loop,
                                 std::uint64_t number) {
    loop->run_task(number);
    co_return;
}

}  // namespace

harness::measured outside_wake(const harness::request& r) {
    harness::stay_on(r.integer("cpus"));
    pool threads{r.workers()};
    auto env = coflux::make_environment(threads);
    return harness::ask_often(r, [&env](std::uint64_t request) { return answer(env, request).get(); });
}

harness::measured inject(const harness::request& r) {
    harness::injection all{r};
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    const open_scope scope{env};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return all.run(watch, [&](std::uint64_t producer, std::uint64_t number) {
            scope.get().spawn(injected, coflux::borrowed(all), producer, number);
        });
    });
}

harness::measured latency_under_load(const harness::request& r) {
    harness::open_loop loop{r};
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    const open_scope scope{env};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return loop.run(watch,
                        [&](std::uint64_t number) { scope.get().spawn(arrived, coflux::borrowed(loop), number); });
    });
}

}  // namespace lab

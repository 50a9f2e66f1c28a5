// What threads start that are not of the pool: requests, floods, and arrivals at their own times.
#include "loads.hpp"
#include "pinning.hpp"
#include "workloads.hpp"

#include <coflux/coflux.hpp>

#include <cstdint>
#include <future>

namespace lab {
namespace {

using pool = coflux::thread_pool_executor;

coflux::task<std::uint64_t, pool> answer(coflux::environment&, std::uint64_t request) {
    co_return request + 1;
}

// Where the threads outside find the scope that they spawn into, and how they say that they are done.
struct door {
    std::promise<coflux::borrowed<coflux::task_scope>> opened{};
    coflux::manual_reset_event closing{};
};

coflux::task<void, pool> keep_open(coflux::environment&, coflux::borrowed<door> at) {
    auto&& here = co_await coflux::context();
    coflux::task_scope scope(here);
    at->opened.set_value(coflux::borrowed(scope));
    co_await at->closing.wait();
    co_await scope.join();
}

// A scope on the pool for threads outside, joined at the end.
class open_scope {
public:
    explicit open_scope(coflux::environment_object& env) : keeper_{keep_open(env, coflux::borrowed(door_))} {}
    ~open_scope() {
        door_.closing.set();
        keeper_.join();
    }
    open_scope(const open_scope&) = delete;
    open_scope& operator=(const open_scope&) = delete;

    [[nodiscard]] coflux::task_scope& get() const noexcept { return *scope_; }

private:
    door door_{};
    coflux::task<void, pool> keeper_;
    coflux::borrowed<coflux::task_scope> scope_ = door_.opened.get_future().get();
};

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

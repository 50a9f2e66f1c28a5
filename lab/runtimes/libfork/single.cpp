// Workloads of one task after another: calls, and yields.
#include "definitions.hpp"
#include "workloads.hpp"

#include <numeric>
#include <vector>

namespace lab {
namespace {

constexpr auto child = [](auto /*self*/, std::uint64_t i) -> lf::task<std::uint64_t> { co_return i; };

constexpr auto call_children = [](auto /*self*/, std::uint64_t count) -> lf::task<std::uint64_t> {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        sum += co_await lf::just[child](i);
    }
    co_return sum;
};

constexpr auto next = [](auto /*self*/, std::uint64_t x) -> lf::task<std::uint64_t> {
    co_return harness::opaque(x) + 1;
};

constexpr auto call_often = [](auto /*self*/, std::uint64_t calls) -> lf::task<std::uint64_t> {
    std::uint64_t x = 0;
    for (std::uint64_t i = 0; i < calls; ++i) {
        x = co_await lf::just[next](x);
    }
    co_return x;
};

// A task that submits itself to its own worker: the nearest thing to a yield.
struct give_way {
    lf::worker_context* here;

    [[nodiscard]] static bool await_ready() noexcept { return false; }
    void await_suspend(lf::submit_handle task) const { here->schedule(task); }
    static void await_resume() noexcept {}
};

constexpr auto yielder = [](auto self, std::uint64_t yields, harness::roll_call* all) -> lf::task<std::uint64_t> {
    all->come();
    while (all->waits()) {
        co_await give_way{self.context()};
    }
    std::uint64_t done = 0;
    for (; done < yields; ++done) {
        co_await give_way{self.context()};
    }
    co_return all->complete() ? done : 0;
};

constexpr auto yield_together = [](auto /*self*/, std::uint64_t tasks,
                                   std::uint64_t yields) -> lf::task<std::uint64_t> {
    std::vector<std::uint64_t> done(tasks);
    harness::roll_call roll{tasks};
    for (std::uint64_t& mine : done) {
        co_await lf::fork[&mine, yielder](yields, &roll);
    }
    co_await lf::join;
    co_return std::accumulate(done.begin(), done.end(), std::uint64_t{0});
};

}  // namespace

harness::measured fork_noop(const harness::request& r) {
    if (r.choice("resource", {"monotonic", "fresh", "pool", "frame_pool"}) != "frame_pool") {
        throw harness::unsupported_params("libfork's frames are on its workers' own stacks");
    }
    const std::uint64_t count = r.integer("count");
    lf::unit_pool one;
    return measure_on(one, r, call_children, count);
}

harness::measured call_overhead(const harness::request& r) {
    const std::uint64_t calls = r.integer("calls");
    lf::unit_pool one;
    return measure_on(one, r, call_often, calls);
}

harness::measured yield(const harness::request& r) {
    const std::uint64_t tasks = r.integer("tasks");
    const std::uint64_t yields = r.integer("yields");
    workers pool{r.threads()};
    return measure_on(pool, r, yield_together, tasks, yields);
}

}  // namespace lab

// A task that is set aside and resumed at once: the nearest thing to a yield in oneTBB.
#include "definitions.hpp"
#include "workloads.hpp"

#include <tbb/task.h>
#include <tbb/task_group.h>

#include <vector>

namespace lab {
namespace {

// The task's stack is left as it is, the thread goes on with another one, and any thread may take this one up again.
void give_way() {
    tbb::task::suspend([](tbb::task::suspend_point here) { tbb::task::resume(here); });
}

std::uint64_t yield_often(std::uint64_t yields, harness::roll_call& all) {
    all.come();
    while (all.waits()) {
        give_way();
    }
    std::uint64_t done = 0;
    for (; done < yields; ++done) {
        give_way();
    }
    return all.complete() ? done : 0;
}

}  // namespace

harness::measured yield(const harness::request& r) {
    const std::uint64_t tasks = r.integer("tasks");
    const std::uint64_t yields = r.integer("yields");
    workers pool{r.threads()};
    return harness::measure(r, [&] {
        return pool.run([&] {
            std::vector<std::uint64_t> done(tasks);
            harness::roll_call roll{tasks};
            tbb::task_group group;
            for (std::uint64_t& mine : done) {
                group.run([&mine, &roll, yields] { mine = yield_often(yields, roll); });
            }
            group.wait();
            std::uint64_t sum = 0;
            for (const std::uint64_t counted : done) {
                sum += counted;
            }
            return sum;
        });
    });
}

}  // namespace lab

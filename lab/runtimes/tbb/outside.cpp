// Tasks that threads start which are not of the arena: requests, floods, and arrivals at their own times.
#include "loads.hpp"
#include "pinning.hpp"
#include "workloads.hpp"

#include <future>
#include <memory>
#include <utility>

namespace lab {
namespace {

// An arena of which all places are for workers: the threads that enqueue stay outside.
class arena_of_workers {
public:
    explicit arena_of_workers(unsigned threads)
        : limit_{tbb::global_control::max_allowed_parallelism, threads + 1},
          arena_{static_cast<int>(threads), 0} {}

    template <typename Body>
    void enqueue(Body body) {
        arena_.enqueue(std::move(body));
    }

private:
    tbb::global_control limit_;
    tbb::task_arena arena_;
};

}  // namespace

harness::measured outside_wake(const harness::request& r) {
    harness::stay_on(r.integer("cpus"));
    arena_of_workers arena{r.workers()};
    return harness::ask_often(r, [&arena](std::uint64_t request) {
        // The task shares it: it is still inside set_value() when the answer is there.
        const auto promise = std::make_shared<std::promise<std::uint64_t>>();
        std::future<std::uint64_t> answer = promise->get_future();
        arena.enqueue([request, promise] { promise->set_value(request + 1); });
        return answer.get();
    });
}

harness::measured inject(const harness::request& r) {
    harness::injection all{r};
    arena_of_workers arena{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return all.run(watch, [&](std::uint64_t producer, std::uint64_t number) {
            arena.enqueue([&all, producer, number] { all.ran(producer, number); });
        });
    });
}

harness::measured latency_under_load(const harness::request& r) {
    harness::open_loop loop{r};
    arena_of_workers arena{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return loop.run(watch,
                        [&](std::uint64_t number) { arena.enqueue([&loop, number] { loop.run_task(number); }); });
    });
}

}  // namespace lab

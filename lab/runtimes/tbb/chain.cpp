// Stages in a row, each of which is set aside until the one before it has a value for it.
#include "workloads.hpp"

#include <tbb/task.h>
#include <tbb/task_group.h>

#include <atomic>
#include <cstddef>
#include <vector>

namespace lab {
namespace {

// A place between two tasks, of which one puts and the other takes; a value is taken before the next one is put.
class place {
public:
    void put(std::uint64_t value) {
        value_ = value;
        if (state_.exchange(full) == waiting) {
            tbb::task::resume(waiter_);
        }
    }

    std::uint64_t take() {
        if (state_.load() != full) {
            tbb::task::suspend([this](tbb::task::suspend_point here) {
                waiter_ = here;
                int before = empty;
                if (!state_.compare_exchange_strong(before, waiting)) {
                    tbb::task::resume(here);
                }
            });
        }
        const std::uint64_t value = value_;
        state_.store(empty);
        return value;
    }

private:
    static constexpr int empty = 0;    // none is there, and none waits; the taker empties it
    static constexpr int waiting = 1;  // the taker is set aside; made from empty alone
    static constexpr int full = 2;     // made from empty or waiting by the one that puts, which then resumes the taker

    std::atomic<int> state_{empty};
    std::uint64_t value_ = 0;
    tbb::task::suspend_point waiter_{};
};

void stage(place& from, place& to, std::uint64_t values) {
    for (std::uint64_t i = 0; i < values; ++i) {
        to.put(from.take() + 1);
    }
}

// One value at a time, so that each stage waits when its value comes.
std::uint64_t chain(std::uint64_t depth, std::uint64_t values) {
    std::vector<place> places(depth + 1);
    tbb::task_group stages;
    for (std::size_t d = 0; d < depth; ++d) {
        stages.run([&from = places[d], &to = places[d + 1], values] { stage(from, to, values); });
    }
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < values; ++i) {
        places.front().put(i);
        sum += places.back().take();
    }
    stages.wait();
    return sum;
}

}  // namespace

harness::measured suspend_chain(const harness::request& r) {
    const std::uint64_t chains = r.integer("chains");
    const std::uint64_t depth = r.integer("depth");
    const std::uint64_t values = r.integer("values");
    workers pool{r.threads()};
    return harness::measure(r, [&] {
        return pool.run([&] {
            std::atomic<std::uint64_t> sum{0};
            tbb::task_group all;
            for (std::uint64_t c = 0; c < chains; ++c) {
                all.run([&] { sum.fetch_add(chain(depth, values)); });
            }
            all.wait();
            return sum.load();
        });
    });
}

}  // namespace lab

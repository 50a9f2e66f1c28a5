// The loops of coroutine_costs: many steps in one timed interval, in which nothing folds.
#pragma once

#include "harness.hpp"

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <string>
#include <vector>

namespace harness {

[[nodiscard]] inline std::string step_of(const request& r) {
    return r.choice("step", {"clock", "rdtsc", "allocate", "create_destroy", "create_destroy_pooled",
                             "create_run_destroy", "create_live", "destroy_live", "switch", "co_yield", "thread"});
}

// Makes the optimiser believe that other code reads and changes the object.
template <typename T>
inline void escape(T&& object) noexcept {
    asm volatile("" : : "r"(&object) : "memory");
}

// Returns the answer: how many steps were made.
template <std::invocable<std::uint64_t> Step>
std::uint64_t timed_steps(stopwatch& watch, std::uint64_t count, Step step) {
    std::uint64_t done = 0;
    watch.start();
    for (; done < count; ++done) {
        step(opaque(done));
    }
    watch.stop();
    return done;
}

// The steps of which many live at a time: `live` are made, then all destroyed, again and again; one half is timed.
struct live_steps {
    explicit live_steps(const request& r)
        : count{r.integer("count")},
          live{r.integer("live")},
          times_creation{step_of(r) == "create_live"} {
        if (live == 0) {
            throw usage_error{"live of coroutine_costs is at least 1"};
        }
    }

    std::uint64_t count;
    std::uint64_t live;
    bool times_creation;

    // `make(i)` returns a T that owns a coroutine.
    template <typename T, typename Make>
    std::uint64_t timed(stopwatch& watch, Make make) const {
        std::vector<T> all;
        all.reserve(live);
        std::uint64_t done = 0;
        while (done < count) {
            const std::uint64_t end = std::min(done + live, count);
            if (times_creation) {
                watch.go_on();
            }
            for (; done < end; ++done) {
                all.push_back(make(opaque(done)));
            }
            if (times_creation) {
                watch.stop();
            } else {
                watch.go_on();
            }
            all.clear();
            if (!times_creation) {
                watch.stop();
            }
        }
        return done;
    }
};

}  // namespace harness

#include "loads.hpp"

#include "fairness.hpp"

#include <cmath>
#include <numeric>
#include <sys/prctl.h>

namespace harness {
namespace {

// splitmix64: the same arrivals in all adapters.
std::uint64_t next_random(std::uint64_t& state) noexcept {
    std::uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
}

// From 0 on, below 1.
double share_of(std::uint64_t random) noexcept {
    return static_cast<double>(random >> 11) / 9007199254740992.0;
}

}  // namespace

injection::injection(const request& r)
    : each_{r.integer("count") / r.integer("producers")},
      parts_(r.integer("producers")) {}

void injection::prepare() noexcept {
    for (part& mine : parts_) {
        mine.sum.store(0);
        mine.left.store(each_);
    }
    running_.store(parts_.size());
}

void injection::wait_for_all() const noexcept {
    for (std::uint64_t running = running_.load(); running != 0; running = running_.load()) {
        running_.wait(running);
    }
}

void injection::ran(std::uint64_t producer, std::uint64_t number) noexcept {
    part& mine = parts_[producer];
    mine.sum.fetch_add(number, std::memory_order_relaxed);  // published by the decrement
    if (mine.left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            running_.notify_one();
        }
    }
}

std::uint64_t injection::sum() const noexcept {
    std::uint64_t sum = 0;
    for (const part& each : parts_) {
        sum += each.sum.load();
    }
    return sum;
}

open_loop::open_loop(const request& r)
    : work_{std::chrono::microseconds{r.integer("work_us")}},
      intended_(r.integer("count")),
      latencies_(intended_.size()) {
    const double gap =
        static_cast<double>(work_.count()) / r.threads() * 100.0 / static_cast<double>(r.integer("load_percent"));
    std::uint64_t state = 17;
    double at = 0;
    for (auto& arrival : intended_) {
        at -= gap * std::log(1 - share_of(next_random(state)));
        arrival = std::chrono::nanoseconds{static_cast<std::int64_t>(at)};
    }
}

void open_loop::run_task(std::uint64_t number) noexcept {
    compute_for(std::chrono::duration_cast<std::chrono::microseconds>(work_));
    latencies_[number] = clock::now() - began_ - intended_[number];
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        left_.notify_one();
    }
}

void open_loop::begin(stopwatch& watch) {
    // A thread's sleep may otherwise be 50 us too long.
    prctl(PR_SET_TIMERSLACK, 1UL);
    left_.store(latencies_.size());
    watch.start();
    began_ = clock::now();
}

void open_loop::wait_for_arrival(std::uint64_t number) const {
    const clock::time_point at = began_ + intended_[number];
    // It sleeps and does not look: it would take a CPU from the workers.
    if (clock::now() < at) {
        std::this_thread::sleep_until(at);
    }
}

std::uint64_t open_loop::end(stopwatch& watch) {
    for (std::uint64_t left = left_.load(); left != 0; left = left_.load()) {
        left_.wait(left);
    }
    watch.stop();
    std::uint64_t sum = 0;
    for (std::uint64_t number = 0; number < latencies_.size(); ++number) {
        sum += latencies_[number] >= work_ ? number + 1 : 0;  // none can be done sooner
        watch.item_took(latencies_[number]);
        latencies_[number] = {};
    }
    return sum;
}

idlers::idlers(const request& r) : count_{r.integer("count")}, length_{r.integer("sleep_ms")} {}

void idlers::spawning(stopwatch& watch) {
    rss_before_ = rss_bytes();
    watch.start();
}

void idlers::sleeping(stopwatch& watch) {
    watch.stop();
    const std::uint64_t rss = rss_bytes();
    none_had_woken_ = woken_.load() == 0;
    const std::uint64_t bytes = rss > rss_before_ ? rss - rss_before_ : 0;
    watch.figure("bytes_each", static_cast<double>(bytes) / static_cast<double>(count_));
}

}  // namespace harness

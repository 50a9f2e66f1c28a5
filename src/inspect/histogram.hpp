// How often a time was within which limits.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <coflux/base/atomic.hpp>
#include <coflux/inspect/metrics.hpp>
#include <coflux/time/clock.hpp>

#include "metric_source.hpp"

namespace coflux::detail {

/// Written by one thread at a time, read by any: relaxed, pairs with nothing.
class histogram {
public:
    void add(clock_tick nanoseconds) noexcept {
        const auto* const at = std::lower_bound(limits.begin(), limits.end(), nanoseconds);
        add(counts_[static_cast<std::size_t>(at - limits.begin())], 1);
        add(sum_, nanoseconds);
    }
    /// Errors: std::bad_alloc.
    void add_metrics(metric_snapshot& to, const inspect::metric_family& family,
                     std::vector<inspect::metric_label> labels) const {
        std::vector<inspect::metric_bucket> buckets;
        buckets.reserve(counts_.size());
        std::uint64_t all = 0;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            all += counts_[i].load(memory_order_relaxed);
            buckets.push_back(
                {i < limits.size() ? in_seconds(limits[i]) : std::numeric_limits<double>::infinity(), all});
        }
        to.add_histogram(family, in_seconds(sum_.load(memory_order_relaxed)), std::move(buckets), std::move(labels));
    }

private:
    static constexpr std::array<clock_tick, 7> limits{1'000,      10'000,      100'000,      1'000'000,
                                                      10'000'000, 100'000'000, 1'000'000'000};

    static double in_seconds(clock_tick nanoseconds) noexcept { return static_cast<double>(nanoseconds) / 1e9; }
    static void add(atomic<std::uint64_t>& to, std::uint64_t n) noexcept {
        to.store(to.load(memory_order_relaxed) + n, memory_order_relaxed);
    }

    std::array<atomic<std::uint64_t>, limits.size() + 1> counts_{};  // the last: more than all limits
    atomic<std::uint64_t> sum_{0};
};

}  // namespace coflux::detail

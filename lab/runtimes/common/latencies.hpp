// How long many things took, for percentiles, and other numbers that are told beside the time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace harness {

// Numbers by name, in the order in which they were told.
class named_figures {
public:
    void set(std::string_view name, double value) {
        for (auto& [known, old] : all_) {
            if (known == name) {
                old = value;
                return;
            }
        }
        all_.emplace_back(name, value);
    }
    [[nodiscard]] const std::vector<std::pair<std::string, double>>& all() const noexcept { return all_; }

private:
    std::vector<std::pair<std::string, double>> all_;
};

// Counts in buckets, each no wider than a 256th of what is in it.
class latencies {
public:
    // On one thread at a time: what several threads measured each keeps for itself, and `add` unites it.
    void record(std::uint64_t ns);
    void add(const latencies& others);
    void clear() noexcept;

    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    // The time that at least this share of all took at most: 0.99. 0 where nothing was recorded.
    [[nodiscard]] std::uint64_t percentile(double share) const noexcept;
    // Sets p50_ns, p99_ns, p999_ns and max_ns, or nothing where nothing was recorded.
    void tell(named_figures& figures) const;

private:
    std::vector<std::uint64_t> buckets_;
    std::uint64_t count_ = 0;
    std::uint64_t longest_ = 0;
};

}  // namespace harness

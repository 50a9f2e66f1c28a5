// How long many things took, for percentiles: counts in buckets, each at most a 64th wider than what is in it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace harness {

class latencies {
public:
    // On one thread at a time: what several threads measured each keeps for itself, and `add` unites it.
    void record(std::uint64_t ns);
    void add(const latencies& others);
    void clear() noexcept;

    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    // What at least this share of all took at most: 0.99. 0 where nothing was recorded.
    [[nodiscard]] std::uint64_t percentile(double share) const noexcept;
    // Sets p50_ns, p99_ns, p999_ns and max_ns, or nothing where nothing was recorded.
    void tell(std::map<std::string, double, std::less<>>& figures) const;

private:
    std::vector<std::uint64_t> buckets_;
    std::uint64_t count_ = 0;
    std::uint64_t longest_ = 0;
};

}  // namespace harness

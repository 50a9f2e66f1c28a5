#include "latencies.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace harness {
namespace {

// Up to 512 ns each nanosecond has a bucket; above, each power of two has 256.
constexpr unsigned bits = 8;

std::size_t bucket_of(std::uint64_t ns) noexcept {
    const int width = std::bit_width(ns | 1);
    const unsigned shift = width > static_cast<int>(bits) + 1 ? static_cast<unsigned>(width) - bits - 1 : 0;
    return (std::size_t{shift} << bits) + (ns >> shift);
}

// The longest that falls into it.
std::uint64_t upper_end(std::size_t bucket) noexcept {
    if (bucket < (std::size_t{2} << bits)) {
        return bucket;
    }
    const std::size_t shift = (bucket >> bits) - 1;
    const std::uint64_t within = bucket - (shift << bits);
    return ((within + 1) << shift) - 1;
}

}  // namespace

void latencies::record(std::uint64_t ns) {
    const std::size_t bucket = bucket_of(ns);
    if (bucket >= buckets_.size()) {
        buckets_.resize(bucket + 1);
    }
    ++buckets_[bucket];
    ++count_;
    longest_ = std::max(longest_, ns);
}

void latencies::add(const latencies& others) {
    buckets_.resize(std::max(buckets_.size(), others.buckets_.size()));
    for (std::size_t bucket = 0; bucket < others.buckets_.size(); ++bucket) {
        buckets_[bucket] += others.buckets_[bucket];
    }
    count_ += others.count_;
    longest_ = std::max(longest_, others.longest_);
}

void latencies::clear() noexcept {
    *this = {};
}

std::uint64_t latencies::percentile(double share) const noexcept {
    const auto least = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
    std::uint64_t seen = 0;
    for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
        seen += buckets_[bucket];
        if (seen != 0 && seen >= least) {
            return std::min(upper_end(bucket), longest_);
        }
    }
    return 0;
}

void latencies::tell(named_figures& figures) const {
    if (count_ == 0) {
        return;
    }
    figures.set("p50_ns", static_cast<double>(percentile(0.50)));
    figures.set("p99_ns", static_cast<double>(percentile(0.99)));
    figures.set("p999_ns", static_cast<double>(percentile(0.999)));
    figures.set("max_ns", static_cast<double>(longest_));
}

}  // namespace harness

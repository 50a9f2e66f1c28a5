#include "seed_work.hpp"

#include <algorithm>
#include <array>
#include <fstream>

namespace harness {
namespace {

double fib(double x) {
    return x <= 1.0 ? x : fib(x - 1) + fib(x - 2);
}

}  // namespace

void read_zeros_for(std::chrono::microseconds wait) {
    const wait_clock::time_point end = wait_clock::now() + wait;
    std::ifstream zeros{"/dev/zero", std::ios::binary};
    std::array<char, 1024> buffer;
    do {
        zeros.read(buffer.data(), buffer.size());
    } while (wait_clock::now() < end);
}

std::uint64_t waited(wait_clock::time_point began, std::chrono::microseconds wait) noexcept {
    return wait_clock::now() - began < wait ? 0 : static_cast<std::uint64_t>(wait.count());
}

std::uint64_t fib_by_recursion(std::uint64_t n) {
    return static_cast<std::uint64_t>(fib(static_cast<double>(opaque(n))));
}

// FNV-1a over the bytes of the number.
std::size_t record::partition(std::size_t partitions) const noexcept {
    std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
    for (int byte = 0; byte < 8; ++byte) {
        hash = (hash ^ (number >> (8 * byte) & 0xff)) * 0x0000'0100'0000'01b3;
    }
    return hash % partitions;
}

record_work::record_work(const request& r)
    : records{r.integer("records")},
      batch{r.integer("batch")},
      partitions{r.integer("partitions")},
      steps{r.integer("steps")} {
    if (batch == 0 || partitions == 0) {
        throw usage_error{"batch and partitions of record_path are at least 1"};
    }
}

record_batch record_work::read(std::uint64_t index) const {
    const std::uint64_t first = index * batch;
    record_batch read;
    read.reserve(batch);
    for (std::uint64_t i = first; i < std::min(first + batch, records); ++i) {
        read.push_back({.number = i + 1});
    }
    return read;
}

void engine::process(record r) noexcept {
    std::uint64_t value = r.number;
    for (std::uint64_t step = 0; step < steps_; ++step) {
        value = value * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
        value ^= value >> 29;
    }
    sum_ += value;
}

void engine::process(std::span<const record> batch) noexcept {
    for (const record each : batch) {
        process(each);
    }
}

std::vector<record_batch> routed(const record_batch& batch, std::size_t partitions) {
    std::vector<record_batch> parts(partitions);
    for (const record each : batch) {
        parts[each.partition(partitions)].push_back(each);
    }
    return parts;
}

partition_work::partition_work(const request& r)
    : how{receiver::parks},
      batches{r.integer("batches")},
      yields{r.integer("yields")},
      gap{r.integer("gap_us")} {
    const std::string name = r.choice("receiver", {"yields", "polls", "parks"});
    if (name != "parks") {
        how = name == "polls" ? receiver::polls : receiver::yields;
    }
}

}  // namespace harness

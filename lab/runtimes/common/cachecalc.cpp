#include "cachecalc.hpp"

#include <utility>

namespace harness {
namespace {

constexpr int counters = 10;
constexpr int first_value = 10'000;

std::string key(int counter) {
    static const std::string prefix = "hello";
    return prefix + std::to_string(counter);
}

}  // namespace

// As the seed document's benchmark has it: two look-ups and one copy for each counter.
void cache::calc() {
    for (int counter = 0; counter < counters; ++counter) {
        const std::string name = key(counter);
        const std::string value = values_[name];
        std::string next = std::to_string((value.empty() ? first_value : std::stoi(value)) + 1);
        values_[name] = std::move(next);
    }
}

std::uint64_t cache::answer() const {
    std::uint64_t sum = 0;
    for (int counter = 0; counter < counters; ++counter) {
        const auto found = values_.find(key(counter));
        const std::uint64_t value = found != values_.end() ? std::stoull(found->second) : 0;
        sum += (static_cast<std::uint64_t>(counter) + 1) * value;
    }
    return sum;
}

cache_work::cache_work(const request& r)
    : rounds{r.integer("rounds")},
      tasks{r.integer("tasks")},
      wait{r.integer("wait_us")} {}

std::uint64_t cache_work::compute_alone() const {
    std::uint64_t sum = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        cache values;
        for (std::uint64_t task = 0; task < tasks; ++task) {
            values.calc();
            values.calc();
        }
        sum += values.answer();
    }
    return sum;
}

}  // namespace harness

#include "scenario_work.hpp"

#include <string>

namespace harness {
namespace {

constexpr std::int64_t customers = 1'000;

scenario_work::scenario scenario_of(const request& r) {
    using enum scenario_work::scenario;
    const std::string name = r.choice("scenario", {"filter", "rows", "group", "tumbling", "changes", "join"});
    if (name == "filter") {
        return filter;
    }
    if (name == "rows") {
        return rows;
    }
    if (name == "group") {
        return group;
    }
    if (name == "join") {
        return join;
    }
    return name == "tumbling" ? tumbling : changes;
}

std::vector<order> orders_of(const request& r) {
    const std::uint64_t count = r.integer("records");
    require_memory(count * sizeof(order), "the orders of stream_scenarios");
    std::vector<order> all;
    all.reserve(count);
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(count); ++i) {
        all.push_back({.number = i, .customer = i % customers, .time = i, .amount = 150 + i % 100});
    }
    return all;
}

std::vector<payment> payments_of(std::size_t count) {
    std::vector<payment> all;
    all.reserve(count);
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(count); ++i) {
        all.push_back({.number = i, .customer = i * 7 % customers, .time = i});
    }
    return all;
}

}  // namespace

scenario_work::scenario_work(const request& r)
    : what{scenario_of(r)},
      batch{r.integer("batch")},
      partitions{r.integer("partitions")},
      orders{orders_of(r)},
      payments{what == scenario::join ? payments_of(orders.size()) : std::vector<payment>{}} {
    if (batch == 0 || partitions == 0) {
        throw usage_error{"batch and partitions of stream_scenarios are at least 1"};
    }
}

}  // namespace harness

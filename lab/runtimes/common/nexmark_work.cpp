#include "nexmark_work.hpp"

#include "nexmark/generator.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace harness {
namespace {

lab::nexmark::query query_of(const request& r) {
    const std::string name = r.text("query");
    const std::optional<lab::nexmark::query> found = lab::nexmark::find_query(name);
    if (!found) {
        throw usage_error{"--params needs query, one that lab/workloads/nexmark.py has, and not " + name};
    }
    return *found;
}

std::vector<lab::nexmark::event> events_of(const request& r) {
    const std::uint64_t count = r.integer("events");
    require_memory(count * sizeof(lab::nexmark::event), "the events of nexmark");
    return lab::nexmark::make_events({}, static_cast<std::int64_t>(count));
}

}  // namespace

nexmark_work::nexmark_work(const request& r) : query{query_of(r)}, events{events_of(r)} {}

}  // namespace harness

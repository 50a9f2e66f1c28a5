#include "nexmark_work.hpp"

#include "nexmark/generator.hpp"

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

namespace harness {

lab::nexmark::query query_of(const request& r) {
    const std::string name = r.text("query");
    const std::optional<lab::nexmark::query> found = lab::nexmark::find_query(name);
    if (!found) {
        throw usage_error{"--params needs query, one that lab/workloads/nexmark.py has, and not " + name};
    }
    return *found;
}

std::string nexmark_file() {
    const char* const path = std::getenv("LAB_NEXMARK_FILE");
    if (path == nullptr) {
        throw unsupported_params{"LAB_NEXMARK_FILE names no file: scripts/lab writes one"};
    }
    return path;
}

namespace {

std::vector<lab::nexmark::event> events_of(const request& r) {
    const std::uint64_t count = r.integer("events");
    require_memory(count * sizeof(lab::nexmark::event), "the events of nexmark");
    return lab::nexmark::make_events({}, static_cast<std::int64_t>(count));
}

}  // namespace

nexmark_work::nexmark_work(const request& r) : query{query_of(r)}, events{events_of(r)} {}

}  // namespace harness

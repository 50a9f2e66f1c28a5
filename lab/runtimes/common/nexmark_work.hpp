// A request for nexmark or nexmark_source: its query, and the events that it is about.
#pragma once

#include "harness.hpp"
#include "nexmark/event.hpp"
#include "nexmark/queries.hpp"

#include <string>
#include <vector>

namespace harness {

// The query that a request asks.
[[nodiscard]] lab::nexmark::query query_of(const request& r);

// The file that the runner has written for nexmark_source, an event a line. Throws unsupported_params where it has not.
[[nodiscard]] std::string nexmark_file();

struct nexmark_work {
    // Makes the events, so before the clock starts.
    explicit nexmark_work(const request& r);

    lab::nexmark::query query;
    std::vector<lab::nexmark::event> events;
};

}  // namespace harness

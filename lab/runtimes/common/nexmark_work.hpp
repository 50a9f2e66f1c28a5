// The numbers of a request for nexmark, and the events that it is about.
#pragma once

#include "harness.hpp"
#include "nexmark/event.hpp"
#include "nexmark/queries.hpp"

#include <vector>

namespace harness {

struct nexmark_work {
    // Makes the events, so before the clock starts.
    explicit nexmark_work(const request& r);

    lab::nexmark::query query;
    std::vector<lab::nexmark::event> events;
};

}  // namespace harness

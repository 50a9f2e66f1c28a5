// Nexmark's queries as loops over the events, each written for its query: the floor. A loop goes over them once, in order
// of time, which it relies on, and keeps what a stream without an end would let it keep.
#pragma once

#include "event.hpp"
#include "queries.hpp"
#include "rows.hpp"

#include <span>

namespace lab::nexmark {

// The rows of the query's answer, once the events have ended.
[[nodiscard]] row_sum run_loop(query which, std::span<const event> in_order);

}  // namespace lab::nexmark

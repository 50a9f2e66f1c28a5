// The answers of Nexmark's queries, by their definitions: all events are there at once, in any order, and each query goes
// over them as often as it likes. No code is shared with what answers them event by event.
#pragma once

#include "event.hpp"
#include "queries.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lab::nexmark {

struct answer {
    std::vector<std::string> rows;  // fields with "," between them; sorted as texts
    std::uint64_t checksum = 0;     // of row_sum
};

// At the end of the events: all windows and sessions are closed, and all auctions have expired.
[[nodiscard]] answer ask(query which, std::span<const event> events);

}  // namespace lab::nexmark

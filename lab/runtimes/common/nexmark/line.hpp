// An event of Nexmark as a line of text, for sources that are files and topics: a letter for its kind and its fields,
// between commas. No text of an event has a comma, a quote or a line end.
#pragma once

#include "event.hpp"

#include <string>
#include <string_view>

namespace lab::nexmark {

// With all texts of the event, and without a line end.
[[nodiscard]] std::string line_of(const event& e);

// Makes an event that has all that the queries ask for. A line does not say where in the draws its texts begin, so they
// cannot be made again, and the sizes of those that no query asks for are 0. Throws std::invalid_argument for what is
// no such line.
[[nodiscard]] event event_of(std::string_view line);

}  // namespace lab::nexmark

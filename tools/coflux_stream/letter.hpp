// Dead letters, read again from the lines of JSON that dead_letter_file has written.
#pragma once

#include <string>
#include <string_view>

#include <coflux/stream/dead_letters.hpp>

namespace coflux_stream {

/// The letter of which `line` is the stream::json_line().
///
/// Errors: std::runtime_error that says why it is none.
[[nodiscard]] coflux::stream::dead_letter read_letter(std::string_view line);

/// On one line, and without what a terminal would take for a command: bytes that are no text, and a backslash, are
/// escaped as in C.
[[nodiscard]] std::string shown(std::string_view bytes);
/// As "2026-03-01T12:00:00.000000005Z"; "-" for no time.
[[nodiscard]] std::string shown(coflux::stream::event_time time);

}  // namespace coflux_stream

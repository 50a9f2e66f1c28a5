// dead_letter_file: dead letters as lines of JSON.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/stream/dead_letters.hpp>
#include <coflux/stream/line_sink.hpp>
#include <coflux/stream/record.hpp>
#include <coflux/stream/sink.hpp>

namespace coflux::stream {

/// One line of JSON: job, stage, error, attempts, partition, next, time (nanoseconds since 1970, or null), headers
/// (pairs), key and value. Bytes that are not UTF-8 are in base64 instead, in key_base64, value_base64 and pairs
/// whose second part is an object {"base64": …}. Other texts that are not UTF-8, as of an error, have U+FFFD for each
/// such byte.
/// Source: RFC 8259; RFC 4648, section 4.
[[nodiscard]] std::string json_line(const dead_letter& letter);

/// A sink of dead letters: `dead_letter_file dlq("orders.dead"); … .on_error = stream::dead_letters(dlq)`.
///
/// The file is read by `coflux-stream dlq list|show|replay` (docs/howto/replay-dead-letters.md).
///
/// Errors, Stops, Threads, Costs: as line_sink.
class dead_letter_file {
public:
    explicit dead_letter_file(std::string path, line_sink_options options = {}) : to_(std::move(path), options) {}

    [[nodiscard]] call<void> write(environment& here, std::span<record<dead_letter>> letters);
    [[nodiscard]] call<void> flush(environment& here) { return to_.flush(here); }

private:
    line_sink to_;
};
static_assert(sink_of<dead_letter_file, dead_letter>);

}  // namespace coflux::stream

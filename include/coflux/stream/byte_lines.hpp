// byte_line_source, byte_line_sink: the lines of a connection, a pipe or another stream of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <coflux/core/call.hpp>
#include <coflux/core/context.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/io/buffered_reader.hpp>
#include <coflux/io/byte_source.hpp>
#include <coflux/io/tcp.hpp>
#include <coflux/stream/record.hpp>
#include <coflux/stream/sink.hpp>
#include <coflux/stream/source.hpp>
#include <coflux/stream/text_line.hpp>

namespace coflux::stream {

/// Lines that come over a connection: `byte_line_source lines(connection, "10.0.0.7:5000"); … from(lines)`.
///
/// A batch is what has come. Lines that were read and are not committed when a job fails are lost: a connection cannot
/// be read again.
///
/// Shapes: any byte_source. One partition, of the name that is given; `next` counts lines.
/// Errors: bad_text with the name and the line for one that is longer than `most_bytes`, its end included, and where
/// the stream ends within a line. Else of the source of bytes.
/// Stops: loses nothing.
/// Threads: as a source.
/// Costs: as buffered_reader; a string for each line.
/// Lifetime: the source of bytes outlives it.
template <byte_source Bytes>
class byte_line_source {
public:
    using value_type = text_line;

    explicit byte_line_source(Bytes& from, std::string name, std::size_t most_bytes = std::size_t{1} << 20)
        : name_(std::move(name)),
          most_bytes_(most_bytes),
          in_(from) {}

    [[nodiscard]] call<bool> read(environment&, batch<text_line>& into, std::size_t most) {
        auto& here = co_await context();
        std::optional<std::string_view> line;
        try {
            line = co_await in_.read_line(here, {.limit = most_bytes_});
        } catch (const limit_exceeded&) {
            throw bad_text(name_, lines_ + 1, "it has more than " + std::to_string(most_bytes_) + " bytes");
        } catch (const end_of_stream&) {
            throw bad_text(name_, lines_ + 1, "the stream ends within it");
        }
        if (!line) co_return false;
        put(*line, into);
        // Lines that have come already need no wait, and so no stop can come between.
        for (std::size_t n = 1; n != most; ++n) {
            const auto bytes = in_.buffered();
            const std::string_view left(reinterpret_cast<const char*>(bytes.data()), bytes.size());
            const std::size_t end = left.find('\n');
            if (end == std::string_view::npos || end >= most_bytes_) break;
            put(left.substr(0, end != 0 && left[end - 1] == '\r' ? end - 1 : end), into);
            in_.consume(end + 1);
        }
        co_return true;
    }
    [[nodiscard]] std::string partition_name(std::uint32_t) const { return name_; }

private:
    void put(std::string_view line, batch<text_line>& into) {
        record<text_line> r{{std::string(line), lines_ + 1, &name_}, no_time, static_cast<std::int64_t>(lines_ + 1)};
        if (into.keeps_originals()) {
            into.push_back(std::move(r), std::make_shared<const original>(original{{}, std::string(line), {}}));
        } else {
            into.push_back(std::move(r));
        }
        ++lines_;
    }

    std::string name_;
    std::size_t most_bytes_;
    std::uint64_t lines_ = 0;
    buffered_reader<Bytes> in_;
};
static_assert(source<byte_line_source<tcp_stream>>);

/// Sends each string, and a "\n" behind it, over a connection.
///
/// Shapes: any byte_sink.
/// Errors: std::invalid_argument for a string with a "\n". Else of the sink of bytes; what it has taken of a batch
/// before it failed is sent again with the next attempt.
/// Stops: a part of a batch may have been sent.
/// Threads: as a sink.
/// Lifetime: the sink of bytes outlives it.
template <byte_sink Bytes>
class byte_line_sink {
public:
    explicit byte_line_sink(Bytes& to) noexcept : to_(to) {}

    [[nodiscard]] call<void> write(environment&, std::span<record<std::string>> records) {
        auto& here = co_await context();
        std::string lines;
        for (const record<std::string>& r : records) {
            if (r.value.find('\n') != std::string::npos)
                throw std::invalid_argument("coflux: a byte_line_sink is given a string with a line end");
            lines.append(r.value).append(1, '\n');
        }
        for (auto left = std::as_bytes(std::span(lines)); !left.empty();) {
            left = left.subspan(co_await coflux::detail::write_some_of(to_, here, left));
        }
    }
    /// The system has all that was written.
    [[nodiscard]] call<void> flush(environment&) { co_return; }

private:
    Bytes& to_;
};
static_assert(sink_of<byte_line_sink<tcp_stream>, std::string>);

}  // namespace coflux::stream

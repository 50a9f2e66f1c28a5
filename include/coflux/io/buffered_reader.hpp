// buffered_reader: lines, messages and single bytes of a stream, which is read in large pieces.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include <coflux/core/call.hpp>
#include <coflux/core/context.hpp>
#include <coflux/core/detail/wait/turn.hpp>
#include <coflux/io/byte_source.hpp>
#include <coflux/io/detail/byte_block.hpp>
#include <coflux/io/detail/use_mark.hpp>
#include <coflux/io/tcp.hpp>

namespace coflux {

/// Thrown by read_line() and read_until() where the first bytes have no delimiter, and by read_to_end() where there are
/// more bytes. They are kept, by the reader or in the container.
class limit_exceeded : public std::runtime_error {
public:
    limit_exceeded(std::size_t limit, std::size_t seen)
        : std::runtime_error("coflux: no delimiter within the limit of " + std::to_string(limit) + " bytes, of " +
                             std::to_string(seen) + " that have come"),
          limit_(limit),
          seen_(seen) {}
    /// `whose` is what has more bytes: "the stream".
    limit_exceeded(std::string_view whose, std::size_t limit, std::size_t seen)
        : std::runtime_error("coflux: " + std::string(whose) + " has more than the limit of " + std::to_string(limit) +
                             " bytes: " + std::to_string(seen) + " have come"),
          limit_(limit),
          seen_(seen) {}
    /// How many bytes were looked at, or allowed.
    [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
    /// How many bytes have come: as many, or more.
    [[nodiscard]] std::size_t seen() const noexcept { return seen_; }

private:
    std::size_t limit_;
    std::size_t seen_;
};

/// Says which bytes read_line() and peek_line() take for a line.
struct line_options {
    /// How many bytes a line takes at most, its end included. The buffer grows up to that.
    std::size_t limit = 64 * 1024;
    /// The bytes behind the last "\n" of the stream are a line, too. Else they are the error end_of_stream: a peer that
    /// dies within a line has not said it.
    bool unterminated = false;
};

/// Reads a stream in large pieces, and gives lines and messages out of them: `coflux::buffered_reader in(stream); while
/// (const auto line = co_await in.read_line(here)) use(*line);`
///
/// Shapes: `Source` is a byte_source, which is used by reference. Neither movable nor copyable. One coroutine at a time
/// reads.
/// Errors: those of the source, after which the reader has all bytes that came before. std::bad_alloc of a call,
/// without effect, and of a line for which the buffer cannot grow, whose bytes stay. A reader that dies, or is used,
/// while an operation of it waits is a checked error.
/// Stops: all its operations are stop points where the source waits. A stop loses nothing: the reader keeps what was
/// read, and the next call goes on from there. The result of an operation is taken out: where it does not win in a
/// when_any() or select() although it completes, that is lost with its value, unless it was a peek.
/// Threads: those of the source; one at a time.
/// Costs: one block of `size` bytes, from the first to the last. It is replaced by one that is twice as large where a
/// line, or what read_until() gives, does not fit; it does not shrink. An operation is a frame and allocates nothing
/// else. A byte is moved once or twice, and once more at most as the block grows; a call looks at it once.
/// Lifetime: the source outlives it. A view that it gives is valid until its next operation that reads.
/// Example: examples/43_lines.cpp
template <byte_source Source>
class buffered_reader {
public:
    /// The source chooses how much memory a line takes: it must be trusted.
    static constexpr std::size_t no_limit = static_cast<std::size_t>(-1);

    /// Errors: std::invalid_argument for a size of 0; std::bad_alloc.
    explicit buffered_reader(Source& from, std::size_t size = 8192,
                             std::pmr::memory_resource* memory = std::pmr::get_default_resource())
        : from_(from),
          block_(size, memory) {}
    buffered_reader(const buffered_reader&) = delete;
    buffered_reader& operator=(const buffered_reader&) = delete;

    /// `co_await in.read_line(here)`: the next line, without its end.
    ///
    /// Returns: an optional view; none at the end of the stream. A line ends at "\n", and a "\r" just before that
    /// belongs to the end. A "\r" elsewhere is a byte of the line.
    /// Errors: end_of_stream, with the bytes behind the last "\n", where there are some and line_options::unterminated
    /// does not make them a line. limit_exceeded where none of the first `limit` bytes of the line is its "\n". Counted
    /// is all that the line takes, the "\n" and a "\r" before it included, from where the last operation has ended: a
    /// line of 80 letters and "\r\n" needs a limit of 82. An unterminated line must be shorter than the limit: a byte
    /// more could be its end. An error takes nothing out: buffered() has the bytes, and the same call fails again.
    /// Take them by consume(), or ask with other options; what follows of a line that is too long is read as another
    /// one.
    [[nodiscard]] call<std::optional<std::string_view>> read_line(environment& here, line_options options = {}) {
        return read_to(here, "\n", options, wanted::line);
    }
    // Not a number.
    template <std::convertible_to<std::size_t> Number>
    call<std::optional<std::string_view>> read_line(environment& here, Number) {
        static_assert(detail::never<Number>,
                      "coflux: the limit of a line is an option with a name: read_line(here, {.limit = 100})");
        return read_line(here);
    }
    /// `co_await in.peek_line(here)`: the next line, which stays: read_line() gives it, too, without a wait. For
    /// select() and when_any(), where the value of an operation that completes and does not win is lost.
    /// Returns, Errors: as read_line().
    [[nodiscard]] call<std::optional<std::string_view>> peek_line(environment& here, line_options options = {}) {
        return read_to(here, "\n", options, wanted::line_that_stays);
    }
    template <std::convertible_to<std::size_t> Number>
    call<std::optional<std::string_view>> peek_line(environment& here, Number limit) {
        return read_line(here, limit);
    }
    /// `co_await in.read_until(here, "\r\n\r\n", 8192)`: all up to the delimiter, which is a part of it.
    ///
    /// Shapes: the delimiter lives until the await ends.
    /// Returns: an optional view; none where the stream ends and nothing is left.
    /// Errors: end_of_stream, with the bytes that are left, where it ends without a delimiter: they stay in the reader.
    /// limit_exceeded where the first `limit` bytes have no delimiter; the buffer grows up to that.
    /// std::invalid_argument for an empty delimiter.
    [[nodiscard]] call<std::optional<std::string_view>> read_until(environment& here, std::string_view delimiter,
                                                                   std::size_t limit = line_options().limit) {
        return read_to(here, delimiter, {.limit = limit}, wanted::all);
    }
    /// Some bytes, as soon as there are some: what is buffered, else one read of the source.
    /// Returns: how many, 0 at the end of the stream, or where `into` has no room.
    [[nodiscard]] call<std::size_t> read_some(environment&, std::span<std::byte> into) {
        co_await detail::turn();
        used_.check_unused();
        if (block_.is_empty() && !into.empty()) {
            auto&& here = co_await context();
            const detail::use_mark::use using_it(used_);
            if (into.size() >= block_.size()) {
                const std::size_t direct = co_await detail::read_some_of(from_, here, into);
                co_return detail::checked_read(direct, into.size());
            }
            const std::size_t n = co_await detail::read_some_of(from_, here, block_.room());
            (void)keep(n);
        }
        co_return block_.take(into);
    }
    /// All of `into`.
    /// Errors: end_of_stream, with the count, where the stream ends before.
    /// Stops: also after a stop, an error or an end nothing is lost. Where `into` is no larger than the buffer, the
    /// reader has all bytes. A larger one has the first taken() bytes: go on with
    /// `into.subspan(in.taken())`.
    [[nodiscard]] call<void> read_exactly(environment& here, std::span<std::byte> into) {
        taken_ = 0;  // also where a stop comes before the call has begun
        return fill(here, into);
    }
    /// At least `count` bytes, which stay where they are: the next operation gives them, too.
    /// Returns: a view of all that is buffered; less than `count` only at the end of the stream.
    /// Errors: std::invalid_argument for more than the size of the buffer.
    [[nodiscard]] call<std::span<const std::byte>> peek(environment&, std::size_t count = 1) {
        co_await detail::turn();
        used_.check_unused();
        if (count > block_.size()) throw std::invalid_argument("coflux: peek() of more bytes than the buffer holds");
        if (block_.count() < count) {
            auto&& here = co_await context();
            const detail::use_mark::use using_it(used_);
            while (block_.count() < count) {
                const std::size_t n = co_await detail::read_some_of(from_, here, block_.room());
                if (!keep(n)) break;
            }
        }
        co_return block_.bytes();
    }

    /// Until read_some() would not wait: bytes are buffered, or wait in the source.
    [[nodiscard]] call<void> wait_readable(environment&)
        requires readable_source<Source>
    {
        used_.check_unused();
        if (!block_.is_empty()) co_return;
        auto&& here = co_await context();
        const detail::use_mark::use using_it(used_);
        co_await detail::wait_readable_of(from_, here);
    }
    /// True if wait_readable() would not wait. A part of a line is something to read; see has_line().
    [[nodiscard]] bool is_readable() const noexcept
        requires readable_source<Source>
    {
        return !block_.is_empty() || from_.is_readable();
    }

    /// Takes out bytes that peek() or buffered() has shown.
    /// Pre: so many are buffered, checked.
    void consume(std::size_t count) noexcept {
        used_.check_unused();
        COFLUX_VERIFY(count <= block_.count(), "consume() of %zu bytes where %zu are buffered", count, block_.count());
        block_.take(count);
    }
    /// The bytes that were read and not given out yet.
    [[nodiscard]] std::span<const std::byte> buffered() const noexcept { return block_.bytes(); }
    /// True if read_line() would not wait: for a server that flushes its answers when no further question is there.
    /// (That buffered() is not empty does not say so: it may be a part of a line.)
    [[nodiscard]] bool has_line() const noexcept { return block_.text().find('\n') != std::string_view::npos; }
    /// How many bytes the last read_exactly() has put into its place.
    [[nodiscard]] std::size_t taken() const noexcept { return taken_; }
    /// The size of the buffer, which may have grown.
    [[nodiscard]] std::size_t size() const noexcept { return block_.size(); }
    [[nodiscard]] Source& source() const noexcept { return from_; }

private:
    enum class wanted : std::uint8_t { line, line_that_stays, all };

    call<void> fill(environment&, std::span<std::byte> into) {
        co_await detail::turn();
        used_.check_unused();
        if (into.size() > block_.count()) {
            auto&& here = co_await context();
            const detail::use_mark::use using_it(used_);
            while (into.size() - taken_ > block_.size()) {
                if (!block_.is_empty()) {
                    taken_ += block_.take(into.subspan(taken_));
                    continue;
                }
                const std::span<std::byte> part = into.subspan(taken_);
                const std::size_t n = co_await detail::read_some_of(from_, here, part);
                if (n == 0) throw end_of_stream(taken_);
                taken_ += detail::checked_read(n, part.size());
            }
            while (block_.count() < into.size() - taken_) {
                const std::size_t n = co_await detail::read_some_of(from_, here, block_.room());
                if (!keep(n)) throw end_of_stream(taken_ + block_.count());
            }
        }
        taken_ += block_.take(into.subspan(taken_));
    }
    call<std::optional<std::string_view>> read_to(environment&, std::string_view delimiter, line_options options,
                                                  wanted what) {
        co_await detail::turn();
        used_.check_unused();
        if (delimiter.empty()) throw std::invalid_argument("coflux: read_until() with an empty delimiter");
        std::size_t searched = 0;
        for (;;) {
            const std::string_view text = block_.text().substr(0, options.limit);
            const std::size_t at = text.find(delimiter, searched - std::min(searched, delimiter.size() - 1));
            if (at != std::string_view::npos) co_return cut(text, at, delimiter, what);
            if (text.size() == options.limit) throw limit_exceeded(options.limit, block_.count());
            if (text.size() == block_.size()) block_.grow(options.limit);
            searched = text.size();
            auto&& here = co_await context();
            const detail::use_mark::use using_it(used_);
            const std::size_t n = co_await detail::read_some_of(from_, here, block_.room());
            if (!keep(n)) break;
        }
        const std::string_view rest = block_.text();
        if (rest.empty()) co_return std::nullopt;
        if (!options.unterminated) throw end_of_stream(rest);
        if (what == wanted::line) block_.take(rest.size());
        co_return rest;
    }
    std::string_view cut(std::string_view text, std::size_t at, std::string_view delimiter, wanted what) noexcept {
        if (what != wanted::line_that_stays) block_.take(at + delimiter.size());
        if (what == wanted::all) return text.substr(0, at + delimiter.size());
        return text.substr(0, at != 0 && text[at - 1] == '\r' ? at - 1 : at);
    }
    /// The source has put so many bytes into the room: false at its end.
    bool keep(std::size_t count) noexcept {
        block_.add(detail::checked_read(count, block_.size() - block_.count()));
        return count != 0;
    }

    Source& from_;
    detail::byte_block block_;
    std::size_t taken_ = 0;
    detail::use_mark used_{"buffered_reader"};
};

static_assert(byte_source<buffered_reader<tcp_stream>> && readable_source<buffered_reader<tcp_stream>>);

}  // namespace coflux

// buffered_writer: collects bytes, and sends them in large pieces.
#pragma once

#include <concepts>
#include <cstddef>
#include <exception>
#include <memory_resource>
#include <source_location>
#include <span>
#include <string_view>
#include <system_error>

#include <coflux/base/assert.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/call.hpp>
#include <coflux/core/context.hpp>
#include <coflux/core/detail/wait/turn.hpp>
#include <coflux/io/byte_source.hpp>
#include <coflux/io/detail/byte_block.hpp>
#include <coflux/io/detail/use_mark.hpp>
#include <coflux/io/result.hpp>
#include <coflux/io/tcp.hpp>

namespace coflux {

/// Collects what is written, and sends it when its buffer is full, or by flush(): `coflux::buffered_writer out(stream);
/// co_await out.write_all(here, "hello\n"); co_await out.flush(here);`
///
/// Shapes: `Sink` is a byte_sink, which is used by reference. Neither movable nor copyable. One coroutine at a time
/// writes.
/// Errors: those of the sink; what was not sent stays in the writer. One that dies, or is used, while an operation of
/// it waits is a checked error.
/// A writer that dies with bytes: its flush was forgotten, a checked error without NDEBUG. With NDEBUG what the sink
/// takes without waiting is sent. If a rest is left, the connection is aborted, and the handler of errors of the
/// environment gets a std::system_error that names the place where the writer was made (on_unobserved_error); without a
/// handler it is printed. A sink without try_write_some() takes nothing so, as a file_writer: the code of the error is
/// std::errc::operation_canceled then, and else what the sink said. One without abort() is left as it is. Nothing of
/// this happens, and the bytes are dropped, where an exception or a stop destroys the writer, where its last operation
/// was stopped or failed, and after discard().
/// Stops: its operations are stop points where the sink waits. A stop loses nothing: unflushed() is what was not sent,
/// and the next operation goes on there.
/// Threads: those of the sink; one at a time.
/// Costs: one block of `size` bytes, from the first to the last. An operation is a frame and allocates nothing else.
/// Lifetime: the sink outlives it.
/// Example: examples/43_lines.cpp
template <byte_sink Sink>
class buffered_writer {
    static_assert(
        !detail::has_try_write<Sink> || requires(Sink& to, std::span<const std::byte> from) {
            { to.try_write_some(from) } noexcept -> std::same_as<io_result<std::size_t>>;
        }, "coflux: try_write_some() of a byte_sink is noexcept and returns an io_result<std::size_t>");
    static_assert(
        !detail::has_abort<Sink> || requires(Sink& to) {
            { to.abort() } noexcept;
        }, "coflux: abort() of a byte_sink is noexcept");

public:
    /// Errors: std::invalid_argument for a size of 0; std::bad_alloc.
    explicit buffered_writer(Sink& to, std::size_t size = 8192,
                             std::pmr::memory_resource* memory = std::pmr::get_default_resource(),
                             std::source_location made_at = std::source_location::current())
        : to_(to),
          block_(size, memory),
          made_at_(made_at) {}
    buffered_writer(const buffered_writer&) = delete;
    buffered_writer& operator=(const buffered_writer&) = delete;
    ~buffered_writer() {
        if (block_.is_empty() || was_cut_ || std::uncaught_exceptions() > exceptions_ || detail::is_unwound_by_stop())
            return;
        COFLUX_DEBUG_VERIFY(false,
                            "a buffered_writer made at %s:%u dies with %zu bytes that were not sent: co_await its "
                            "flush(here), or discard() them",
                            made_at_.file_name(), made_at_.line(), block_.count());
        send_or_abort();
    }

    /// Puts in as many of the bytes as there is room for, and sends nothing: never waits.
    /// Returns: how many.
    [[nodiscard("bytes that found no room are not written")]] std::size_t
    write(std::span<const std::byte> from) noexcept {
        used_.check_unused();
        const std::size_t n = block_.add(from);
        if (n != 0) was_cut_ = false;
        return n;
    }
    [[nodiscard("bytes that found no room are not written")]] std::size_t write(std::string_view from) noexcept {
        return write(std::as_bytes(std::span(from)));
    }
    /// As many bytes as there is room for, at least one; where there is none, what is buffered is sent before.
    /// Returns: how many.
    [[nodiscard]] call<std::size_t> write_some(environment& here, std::span<const std::byte> from) {
        if (!from.empty()) was_cut_ = true;  // also where a stop comes before the call has begun
        return take_some(here, from);
    }
    /// All bytes. Sends what has no room; the rest waits for the next operation, or for flush().
    /// Stops: taken() says how many of the bytes the writer has; go on with `from.subspan(out.taken())`. So it does
    /// after an error.
    [[nodiscard]] call<void> write_all(environment& here, std::span<const std::byte> from) {
        // Also where a stop comes before the call has begun:
        taken_ = 0;
        if (!from.empty()) was_cut_ = true;
        return take_all(here, from);
    }
    [[nodiscard]] call<void> write_all(environment& here, std::string_view from) {
        return write_all(here, std::as_bytes(std::span(from)));
    }
    /// Sends all that is buffered.
    [[nodiscard("nothing is sent until this is awaited: co_await it")]] call<void> flush(environment& here) {
        was_cut_ = true;  // also where a stop comes before the call has begun
        return send_all(here);
    }

    /// The bytes that were written and not sent.
    [[nodiscard]] std::span<const std::byte> unflushed() const noexcept { return block_.bytes(); }
    /// How many bytes of the last write_all() the writer has taken.
    [[nodiscard]] std::size_t taken() const noexcept { return taken_; }
    /// Drops what was not sent.
    void discard() noexcept { block_.take(block_.count()); }
    /// The size of the buffer.
    [[nodiscard]] std::size_t size() const noexcept { return block_.size(); }
    [[nodiscard]] Sink& sink() const noexcept { return to_; }

private:
    call<void> send_all(environment&) {
        co_await detail::turn();
        if (!block_.is_empty()) {
            auto&& here = co_await context();
            const detail::use_mark::use using_it(used_);
            while (!block_.is_empty()) {
                const std::size_t n = co_await detail::write_some_of(to_, here, block_.bytes());
                sent(n);
            }
        }
        was_cut_ = false;
    }
    call<std::size_t> take_some(environment&, std::span<const std::byte> from) {
        co_await detail::turn();
        if (block_.count() == block_.size() && !from.empty()) {
            auto&& here = co_await context();
            const detail::use_mark::use using_it(used_);
            while (!block_.is_empty()) {
                const std::size_t n = co_await detail::write_some_of(to_, here, block_.bytes());
                sent(n);
            }
        }
        co_return write(from);
    }
    call<void> take_all(environment&, std::span<const std::byte> from) {
        co_await detail::turn();
        taken_ = write(from);
        if (taken_ == from.size()) co_return;
        auto&& here = co_await context();
        was_cut_ = true;  // write() has said otherwise
        const detail::use_mark::use using_it(used_);
        for (;;) {
            while (!block_.is_empty()) {
                const std::size_t n = co_await detail::write_some_of(to_, here, block_.bytes());
                sent(n);
            }
            const std::span<const std::byte> rest = from.subspan(taken_);
            if (rest.size() < block_.size()) break;
            // More than the buffer holds: not through it.
            const std::size_t n = co_await detail::write_some_of(to_, here, rest);
            taken_ += detail::checked_write(n, rest.size());
        }
        was_cut_ = false;
        taken_ += block_.add(from.subspan(taken_));
    }
    /// Without waiting. A peer may choose that this happens: so it ends no process.
    COFLUX_COLD void send_or_abort() noexcept {
        // A sink that may always wait was not asked.
        std::error_code why = std::make_error_code(detail::has_try_write<Sink> ? std::errc::operation_would_block
                                                                               : std::errc::operation_canceled);
        if constexpr (detail::has_try_write<Sink>) {
            while (!block_.is_empty()) {
                const io_result<std::size_t> n = to_.try_write_some(block_.bytes());
                if (!n) why = n.error();
                if (!n || *n == 0) break;
                sent(*n);
            }
            if (block_.is_empty()) return;
        }
        if constexpr (detail::has_abort<Sink>) to_.abort();
        detail::report_unsent(block_.count(), made_at_, why);
    }
    void sent(std::size_t count) noexcept { block_.take(detail::checked_write(count, block_.count())); }

    Sink& to_;
    detail::byte_block block_;
    std::size_t taken_ = 0;
    bool was_cut_ = false;  // an operation was stopped or has failed, and nothing was written since
    std::source_location made_at_;
    int exceptions_ = std::uncaught_exceptions();
    detail::use_mark used_{"buffered_writer"};
};

static_assert(byte_sink<buffered_writer<tcp_stream>>);

}  // namespace coflux

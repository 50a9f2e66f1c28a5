// byte_reader, byte_writer and byte_stream: what streams of sockets and pipes have in common.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/io/detail/stream_operations.hpp>
#include <coflux/io/endpoint.hpp>
#include <coflux/io/result.hpp>

namespace coflux {

/// The peer has ended its side before all was read.
class end_of_stream : public std::runtime_error {
public:
    explicit end_of_stream(std::size_t count)
        : std::runtime_error("coflux: the stream ended after " + std::to_string(count) + " bytes"),
          count_(count) {}
    /// The stream ended behind `bytes`, which no delimiter ends.
    /// Errors: std::bad_alloc.
    explicit end_of_stream(std::string_view bytes)
        : std::runtime_error("coflux: the stream ended after " + std::to_string(bytes.size()) +
                             " bytes without a delimiter"),
          count_(bytes.size()),
          bytes_(std::make_shared<const std::string>(bytes)) {}
    /// How many bytes had been read.
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    /// Half a line or message, where one was asked for; else empty. A buffered_reader has kept these bytes, too.
    [[nodiscard]] std::string_view bytes() const noexcept {
        return bytes_ != nullptr ? std::string_view(*bytes_) : std::string_view();
    }

private:
    std::size_t count_;
    std::shared_ptr<const std::string> bytes_;  // shared: the copy of an exception must not throw
};

/// The side of a stream or of a pipe that bytes come from.
///
/// Shapes: owns its direction; movable, also while an operation waits, which stays with the descriptor. One coroutine
/// at a time reads.
/// Errors: std::system_error with the operation and the peer in its text, unless as_result() asks for a value. A stop
/// is no error. An operation of a reader that is closed or was moved from, one that waits when the reader dies, and two
/// coroutines that wait are checked errors.
/// Threads: of any executor, as tcp_stream.
class byte_reader {
public:
    byte_reader() noexcept = default;
    byte_reader(byte_reader&&) noexcept = default;
    byte_reader& operator=(byte_reader&& other) noexcept;
    ~byte_reader() { from_.close_way(detail::direction::in, "dies"); }

    /// Some bytes, as soon as there are some.
    /// Returns: how many, 0 at the end of the stream, or where `into` has no room.
    /// Stops: a stop point where it waits; loses nothing. A read that is a losing case of when_any() or select()
    /// is dropped, as each value of one; wait_readable() as a case loses nothing.
    /// Lifetime: `into` is used until the await ends.
    [[nodiscard("nothing is read until this is awaited: co_await it")]] detail::transfer_request<std::size_t, std::byte>
    read_some(std::span<std::byte> into) noexcept {
        return {from_, into, how_->read_some};
    }
    /// The same into several buffers, which are filled one after the other, by one call of the system: 64 buffers at
    /// most.
    /// Lifetime: `into`, too, is used until the await ends.
    [[nodiscard("nothing is read until this is awaited: co_await it")]] detail::buffers_request<std::size_t, std::byte>
    read_some(std::span<const std::span<std::byte>> into) noexcept {
        return {from_, into, how_->read_buffers};
    }
    /// All of `into`.
    /// Errors: end_of_stream, with the count, where the stream ends before; as a value std::errc::no_message_available.
    /// Stops: a stop point where it waits; what was read by then is lost.
    [[nodiscard("nothing is read until this is awaited: co_await it")]] detail::transfer_request<void, std::byte>
    read_exactly(std::span<std::byte> into) noexcept {
        return {from_, into, how_->read_exactly};
    }
    /// Until read_some() would not wait: for a stream that is idle for long, without a buffer.
    /// Stops: a stop point where it waits; loses nothing.
    [[nodiscard("nothing is waited for until this is awaited: co_await it")]] detail::wait_readable_request
    wait_readable() noexcept {
        return detail::wait_readable_request(from_);
    }
    /// True if wait_readable() would not wait: bytes are there, the end of the stream, or an error.
    /// Costs: a call of the system.
    [[nodiscard]] bool is_readable() const noexcept;

    /// Reads no more. Where a writer of the same stream is left, its peer is not told.
    void close() noexcept { from_.close_way(detail::direction::in, "is closed"); }
    [[nodiscard]] bool is_open() const noexcept { return from_.is_open(); }
    /// The system's number; -1 if it is closed. It stays the reader's own.
    [[nodiscard]] int native_handle() const noexcept { return from_.number(); }

protected:
    byte_reader(detail::descriptor_handle from, const detail::byte_kinds& how) noexcept
        : from_(std::move(from)),
          how_(&how) {}

    detail::descriptor_handle from_;

private:
    const detail::byte_kinds* how_ = &detail::byte_kinds::of_sockets;
};

/// The side of a stream or of a pipe that takes bytes.
///
/// Shapes: owns its direction; movable, also while an operation waits, which stays with the descriptor. One coroutine
/// at a time writes.
/// Errors: as byte_reader. A write to a peer that is gone is std::errc::broken_pipe, or
/// std::errc::connection_reset, and never SIGPIPE.
/// Threads: of any executor, as tcp_stream.
class byte_writer {
public:
    byte_writer() noexcept = default;
    byte_writer(byte_writer&&) noexcept = default;
    byte_writer& operator=(byte_writer&& other) noexcept;
    ~byte_writer() { end("dies"); }

    /// As many bytes as the system takes at once, at least one.
    /// Returns: how many.
    /// Stops: a stop point where it waits; loses nothing.
    /// Lifetime: `from` is used until the await ends.
    [[nodiscard(
        "nothing is sent until this is awaited: co_await it")]] detail::transfer_request<std::size_t, const std::byte>
    write_some(std::span<const std::byte> from) noexcept {
        return {to_, from, how_->write_some};
    }
    [[nodiscard(
        "nothing is sent until this is awaited: co_await it")]] detail::transfer_request<std::size_t, const std::byte>
    write_some(std::string_view from) noexcept {
        return {to_, std::as_bytes(std::span(from)), how_->write_some};
    }
    /// The same of several buffers, one after the other, by one call of the system: 64 buffers at most.
    /// Lifetime: `from`, too, is used until the await ends.
    [[nodiscard(
        "nothing is sent until this is awaited: co_await it")]] detail::buffers_request<std::size_t, const std::byte>
    write_some(std::span<const std::span<const std::byte>> from) noexcept {
        return {to_, from, how_->write_some_buffers};
    }
    /// All bytes.
    /// Stops: a stop point where it waits; how much was sent by then is not told.
    [[nodiscard("nothing is sent until this is awaited: co_await it")]] detail::transfer_request<void, const std::byte>
    write_all(std::span<const std::byte> from) noexcept {
        return {to_, from, how_->write_all};
    }
    [[nodiscard("nothing is sent until this is awaited: co_await it")]] detail::transfer_request<void, const std::byte>
    write_all(std::string_view from) noexcept {
        return {to_, std::as_bytes(std::span(from)), how_->write_all};
    }
    /// All bytes of several buffers, one after the other: a header and its body by one call of the system. One call
    /// takes 64 buffers at most; what is left goes with the next.
    /// Lifetime: `from`, too, is used until the await ends.
    [[nodiscard("nothing is sent until this is awaited: co_await it")]] detail::buffers_request<void, const std::byte>
    write_all(std::span<const std::span<const std::byte>> from) noexcept {
        return {to_, from, how_->write_buffers};
    }

    /// As many bytes as the system takes now: for what cannot wait, as a destructor.
    /// Returns: how many; 0 where the system has no room, or another write waits for that.
    /// Errors: as a value; std::errc::bad_file_descriptor where the writer is closed.
    /// Stops: no stop point.
    [[nodiscard("what was not taken is not written")]] io_result<std::size_t>
    try_write_some(std::span<const std::byte> from) noexcept;

    /// Cuts the connection, at once and for both sides, and leaves it open: a writer that cannot end what it has begun
    /// calls it. Bytes that were not sent are dropped. Later writes fail with std::errc::broken_pipe; a read that waits
    /// ends. The peer of a TCP connection sees an error, that of a local socket an end, and that of a pipe an end once
    /// this is closed. Nothing happens to one that is closed.
    void abort() noexcept;

    /// Writes no more. Bytes that were written are still sent, and then the peer is told that no more comes, also where
    /// a reader of the same stream is left.
    void close() noexcept { end("is closed"); }
    [[nodiscard]] bool is_open() const noexcept { return to_.is_open(); }
    /// The system's number; -1 if it is closed. It stays the writer's own.
    [[nodiscard]] int native_handle() const noexcept { return to_.number(); }

protected:
    byte_writer(detail::descriptor_handle to, const detail::byte_kinds& how) noexcept
        : to_(std::move(to)),
          how_(&how) {}

    detail::descriptor_handle to_;

private:
    void end(const char* how) noexcept;

    const detail::byte_kinds* how_ = &detail::byte_kinds::of_sockets;
};

/// The two directions of a connection, which may live apart.
struct byte_stream_halves {
    byte_reader reader;
    byte_writer writer;
};

/// A connection: bytes in both directions, in order. The base of tcp_stream and unix_stream.
///
/// Shapes: owns its descriptor; movable. A function that takes a byte_stream& serves connections of each kind.
/// Errors, Threads: as tcp_stream.
class byte_stream : public byte_reader, public byte_writer {
public:
    byte_stream() noexcept = default;
    byte_stream(byte_stream&&) noexcept = default;
    byte_stream& operator=(byte_stream&&) noexcept = default;
    /// Closes it. Bytes that were written are still sent.
    ~byte_stream() { from_.close_way(detail::direction::in, "dies"); }

    /// Its two directions, for two coroutines that may be on two executors; it is closed then itself.
    /// Returns: the halves. The connection is closed with the second. Where the writer ends first, by close() or
    /// because it dies, the peer is told that no more comes (shutdown_send()), and reading goes on. Where the reader
    /// ends first, the peer is not told. The parameters of a fork live until its result is taken: a writer that is one
    /// is closed by close().
    /// Costs: none: no allocation, and no call of the system.
    [[nodiscard("without its halves it is closed")]] byte_stream_halves split() && noexcept {
        return {static_cast<byte_reader&&>(*this), static_cast<byte_writer&&>(*this)};
    }

    /// Tells the peer that no more comes; reading goes on.
    /// Errors: std::system_error; std::errc::not_connected once the peer has reset the connection.
    void shutdown_send();
    /// Closes it. Bytes that were written are still sent.
    void close() noexcept;

    [[nodiscard]] bool is_open() const noexcept { return byte_reader::is_open(); }
    /// Errors: std::system_error.
    [[nodiscard]] endpoint local_endpoint() const;
    [[nodiscard]] const endpoint& peer_endpoint() const noexcept { return from_.peer(); }
    /// The system's number; -1 if it is closed. It stays the stream's own.
    [[nodiscard]] int native_handle() const noexcept { return byte_reader::native_handle(); }

protected:
    explicit byte_stream(detail::descriptor_handle socket) noexcept;
};

}  // namespace coflux

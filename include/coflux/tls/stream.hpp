// tls_stream: TLS over a tcp_stream.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/io/byte_source.hpp>
#include <coflux/io/endpoint.hpp>
#include <coflux/io/tcp.hpp>
#include <coflux/tls/context.hpp>
#include <coflux/tls/error.hpp>

namespace coflux {

namespace detail {
class tls_connection;
}  // namespace detail

/// A connection under TLS 1.2 or 1.3: bytes in both directions, in order, secret and unchanged.
///
/// The end of the peer's stream is said by the peer (close_notify). A connection that ends without is cut, and that is
/// an error, tls_errc::truncated: an attacker in between can do that.
///
/// Shapes: owns its tcp_stream; movable, also while an operation waits, which stays with the connection. One coroutine
/// at a time reads, and one writes; they may be two, on two executors. handshake() and shutdown() do both.
/// Errors: tls_error with the operation, the peer and OpenSSL's reason; std::system_error for errors of the socket.
/// An error that TLS cannot go on after, as a record that was changed, ends the stream: has_failed(), and all later
/// operations fail with that error. SIGPIPE is never raised. An operation before the handshake has ended, a write after
/// the end was sent, two coroutines that read, or write, and an operation of a stream that is closed are checked
/// errors.
/// Stops: each operation is a stop point before it begins, and where it waits. A stop never damages a stream: records
/// are sent and received whole, by the next operation if need be.
/// Threads: as tcp_stream. Records are made and opened on the coroutine's own thread; a reader and a writer on two
/// threads exclude each other for one record at a time.
/// Costs: some 50 KiB a connection, and what OpenSSL uses; a frame an operation, and a copy of the bytes; a handshake
/// computes for about a millisecond.
/// Lifetime: buffers are used until the await ends. A stream that dies while an operation waits is a checked error.
/// Example: examples/42_tls.cpp
class tls_stream {
public:
    tls_stream() noexcept;
    /// The side of a client: `host` is the name, or the numeric address, that the server's certificate must be for; a
    /// name is told to the server (SNI). It is looked for among the alternative names of the certificate, and never in
    /// its subject. A dot at its end is left out, in both. The side of a server: without a host.
    /// Errors: std::invalid_argument without a host where it must be verified, with one for a server, and for a name
    /// with an empty part, as ".example.org". tls_error,
    /// std::bad_alloc: then the connection is closed.
    tls_stream(const tls_context& context, tcp_stream connection, std::string_view host = {});
    tls_stream(tls_stream&& other) noexcept;
    tls_stream& operator=(tls_stream&& other) noexcept;
    ~tls_stream();

    /// `co_await stream.handshake(here)`: agrees with the peer, and checks its certificate. First of all operations.
    /// Errors: tls_error, as tls_errc::certificate_refused with what is wrong with it; tls_errc::truncated if the peer
    /// ends the connection meanwhile.
    /// A server's ends once all is sent, its session tickets, too: a client that writes and does not read may hold it
    /// up where the connection has little room.
    /// Stops: loses nothing: the next handshake() goes on from there.
    call<void> handshake(environment& env);

    /// Some bytes, as soon as there are some.
    /// Returns: how many; 0 when the peer has ended its stream, or where `into` has no room.
    /// Errors: tls_errc::truncated where the connection ended without that.
    /// Stops: loses nothing.
    call<std::size_t> read_some(environment& env, std::span<std::byte> into);
    /// All of `into`.
    /// Errors: end_of_stream, with the count, where the peer has ended its stream before; as read_some().
    /// Stops: what was read by then is lost.
    call<void> read_exactly(environment& env, std::span<std::byte> into);
    /// Waits until read_some() would not: until there are bytes, or the peer has ended its stream. It takes none.
    /// Errors, Stops: as read_some().
    call<void> wait_readable(environment& env);
    /// True if there is something to read, or a part of it: bytes of a record that has not come whole count. A server
    /// between two requests asks by `server.idle(here, stream)`. Some computation, and a call of the system.
    [[nodiscard]] bool is_readable() noexcept;
    /// All bytes. It returns when the system has taken them. There is no write_some(): a tls_stream is a byte_source
    /// and a whole_sink, for copy(), and no byte_sink. Where the peer has sent a part of a message of TLS, it waits for
    /// the rest, beside a reader or without one.
    /// Stops: how much was sent by then is not told. Bytes that are encrypted already go out with the next operation
    /// that writes, or waits for bytes.
    call<void> write_all(environment& env, std::span<const std::byte> from);
    call<void> write_all(environment& env, std::string_view from);

    /// Tells the peer that no more comes; reading goes on.
    /// Stops: loses nothing: the next call goes on from there.
    call<void> shutdown_send(environment& env);
    /// Ends the stream on both sides: says so, and reads until the peer says so, too, or until `by`. Bytes that the
    /// peer still sends are dropped. Where no time is left, the end is still sent, if the system takes it at once.
    /// Without this the peer takes the end of the connection for a cut.
    /// Returns: true if the peer has ended its side; false if time was up, or the connection was cut.
    /// Stops: what the peer has sent by then is dropped.
    call<bool> shutdown(environment& env, std::chrono::steady_clock::time_point by);

    /// Cuts the connection, at once and for both sides, and leaves it open, as byte_writer::abort(): for what has begun
    /// to write and cannot end it.
    void abort() noexcept;
    /// Closes the connection, without a word to the peer: see shutdown().
    void close() noexcept;

    [[nodiscard]] bool is_open() const noexcept { return connection_ != nullptr; }
    /// True: TLS itself has failed, and each operation fails from now on.
    [[nodiscard]] bool has_failed() const noexcept;
    /// The one that the handshake chose of the offered; empty without ALPN.
    [[nodiscard]] std::string alpn() const;
    /// The subject of the peer's certificate, as RFC 2253 writes it: `CN=example.org,O=Example`; empty if it showed
    /// none.
    [[nodiscard]] std::string peer_subject() const;
    /// A server has the name that the client asked for, in a resumed session of TLS 1.2 that of the first handshake. A
    /// client has its host. Empty if there is none.
    [[nodiscard]] std::string server_name() const;
    /// `TLSv1.3`, once the handshake has ended.
    [[nodiscard]] std::string protocol() const;
    /// True: the handshake, once it has ended, has resumed a session of an earlier connection, so no certificate was
    /// sent or verified. That of the earlier one is in peer_subject().
    [[nodiscard]] bool resumed() const noexcept;
    [[nodiscard]] const endpoint& peer_endpoint() const noexcept;
    /// Errors: std::system_error.
    [[nodiscard]] endpoint local_endpoint() const;

private:
    [[nodiscard]] detail::tls_connection& get() const noexcept;

    std::unique_ptr<detail::tls_connection> connection_;
};

static_assert(byte_source<tls_stream> && readable_source<tls_stream> && whole_sink<tls_stream>);

}  // namespace coflux

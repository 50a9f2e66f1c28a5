// unix_listener and unix_stream: connections between processes of one machine.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <coflux/base/config.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/io/byte_stream.hpp>
#include <coflux/io/detail/bound_path.hpp>
#include <coflux/io/detail/unix_operations.hpp>
#include <coflux/io/endpoint.hpp>
#include <coflux/io/owned_descriptor.hpp>
#include <coflux/io/result.hpp>

namespace coflux {

/// The process at the other end of a unix_stream.
struct peer_credentials {
    int process = 0;  ///< its number; another process may have it by now
    unsigned user = 0;
    unsigned group = 0;
};

/// A connection over a local socket: bytes in both directions, in order, and descriptors with them.
///
/// Shapes: as tcp_stream.
/// Errors, Threads: as tcp_stream.
/// Costs: as tcp_stream.
/// Example: examples/36_local.cpp
class unix_stream : public byte_stream {
public:
    unix_stream() noexcept = default;

    /// `co_await unix_stream::connect(endpoint::local(path))`: a connection to the listener there.
    /// Errors: std::errc::no_such_file_or_directory where there is no file, std::errc::connection_refused where none
    /// listens, std::errc::resource_unavailable_try_again where the listener has no room: wait before the next call.
    /// Stops: a stop point where it waits; the connection is given up.
    [[nodiscard("nothing is connected until this is awaited: co_await it")]] static detail::unix_connect_request
    connect(const endpoint& to) {
        return detail::unix_connect_request(endpoint(to));
    }
    // Not to anything else.
    template <typename To, typename... Others>
        requires(!std::is_convertible_v<To, const endpoint&>)
    static detail::unix_connect_request connect(To&&, Others&&...) {
        static_assert(detail::never<To>, "coflux: unix_stream::connect() takes an endpoint and no environment: write "
                                         "connect(endpoint::local(\"/run/x.socket\"))");
        return connect(endpoint());
    }
    /// Two ends of one connection, without a name.
    /// Errors: std::system_error.
    [[nodiscard]] static std::pair<unix_stream, unix_stream> pair();
    /// Takes over a connection that the system has made, or another process has sent.
    /// Errors: std::system_error if it is no local socket that is connected; then it is closed.
    [[nodiscard]] static unix_stream adopt(owned_descriptor opened);

    /// All bytes of `with`, and the descriptors with the first of them. The peer gets descriptors of its own; those of
    /// the caller stay open.
    /// Errors: std::errc::invalid_argument for more than 253 descriptors. An error after the first byte may leave the
    /// peer with them.
    /// Stops: a stop point where it waits; how much was sent by then is not told. No byte sent: no descriptor either.
    /// Pre: `with` is not empty: descriptors come with bytes.
    /// Lifetime: both are used until the await ends.
    [[nodiscard("nothing is sent until this is awaited: co_await it")]] detail::send_descriptors_request
    send_descriptors(std::span<const int> descriptors, std::span<const std::byte> with) noexcept {
        return {to_, descriptors, with};
    }
    /// Some bytes, as soon as there are some, and the descriptors that came with them, which are not inherited by
    /// programs that the process starts. Only this operation receives descriptors: read_some() of the bytes that they
    /// came with closes them.
    /// Returns: how many of both. All that one call of send_descriptors() has sent comes by one call, if it has room
    /// for all.
    /// Errors: std::errc::message_size if more came than `descriptors` has room for, and
    /// std::errc::too_many_files_open if the process has none left. Then those that came are closed, the bytes are in
    /// `into`, and how many they are is not told: such a connection is at its end.
    /// Stops: a stop point where it waits; loses nothing.
    /// Lifetime: both are used until the await ends.
    [[nodiscard("nothing is read until this is awaited: co_await it")]] detail::receive_descriptors_request
    receive_descriptors(std::span<std::byte> into, std::span<owned_descriptor> descriptors) noexcept {
        return {from_, into, descriptors};
    }

    /// The process that has connected, or that listened, when it did.
    /// Errors: std::system_error.
    [[nodiscard]] peer_credentials credentials() const;

private:
    friend class detail::unix_accept_awaiter;
    friend class detail::unix_connect_awaiter;
    friend class unix_listener;
    explicit unix_stream(detail::descriptor_handle socket) noexcept : byte_stream(std::move(socket)) {}
};

/// How a local socket is bound.
struct unix_options {
    /// Connections that the system keeps until they are accepted, at most; 0 or more; of a listener.
    int backlog = 1024;
    /// The file is removed when the socket is closed, if it still is that of this socket.
    bool unlink = true;
    /// A socket at the path is removed first, if none listens there: one of a process that was killed. Two
    /// processes that do so at the same time may both believe that they listen. The question is a connection: a server
    /// that listens there accepts it, and finds it ended.
    bool replace_stale = false;
};

/// Waits for connections over a local socket.
///
/// A path becomes a file, whose permissions say who may connect (umask). An abstract name, endpoint::local("\0name"sv),
/// has none, is gone with the socket, and any process of the machine may connect.
/// Shapes: owns its descriptor and its file; movable. One coroutine at a time accepts.
/// Errors: as tcp_stream. A path at which there is a file: std::errc::address_in_use. An endpoint that is not local,
/// here and for unix_stream: std::errc::address_family_not_supported.
/// Threads: as tcp_stream.
class unix_listener {
public:
    unix_listener() noexcept = default;
    /// Listens at `at`. A path that is not absolute must mean the same when the listener is closed.
    /// Errors: std::invalid_argument for a backlog below 0. std::system_error with the endpoint in its text.
    explicit unix_listener(const endpoint& at, unix_options options = {});

    /// `co_await listener.accept()`: the next connection.
    /// Errors, Stops: as tcp_listener::accept().
    [[nodiscard("nothing is accepted until this is awaited: co_await it")]] detail::unix_accept_request
    accept() noexcept {
        return detail::unix_accept_request(socket_);
    }
    /// The next connection from the backlog, without a wait; nullopt if there is none.
    /// Errors, Pre: as tcp_listener::try_accept().
    [[nodiscard]] std::optional<unix_stream> try_accept();

    void close() noexcept;
    [[nodiscard]] bool is_open() const noexcept { return socket_.is_open(); }
    /// Errors: std::system_error.
    [[nodiscard]] endpoint local_endpoint() const;
    [[nodiscard]] int native_handle() const noexcept { return socket_.number(); }

private:
    detail::descriptor_handle socket_;
    detail::bound_path file_;  // it dies first: a client finds no file before it finds no listener
};

}  // namespace coflux

// datagram_socket: what sockets of messages have in common.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/io/detail/datagram_operations.hpp>
#include <coflux/io/endpoint.hpp>
#include <coflux/io/result.hpp>

namespace coflux {

/// Messages, each sent and received as a whole. The base of udp_socket and unix_datagram.
///
/// Shapes: owns its descriptor; movable, also while an operation waits, which stays with the socket. One coroutine at a
/// time receives, and one sends; they may be two, on two executors.
/// Errors, Threads: as tcp_stream.
/// Stops: a message that a losing case of select(), or a losing child of when_any(), has received is dropped. Where
/// each message counts, a coroutine receives from one socket.
/// Costs: no allocation once a socket has waited.
class datagram_socket {
public:
    /// The next message, with its sender.
    /// Returns: the message, which may be empty. One that is longer than `into` is_truncated().
    /// Errors: std::errc::connection_refused on a socket that is connected: none listens there. The socket goes on.
    /// Stops: a stop point where it waits; loses nothing.
    /// Lifetime: `into` is used until the await ends.
    [[nodiscard("nothing is received until this is awaited: co_await it")]] detail::receive_from_request
    receive_from(std::span<std::byte> into) noexcept {
        return {socket_, into};
    }
    /// The next message, where the sender is known or does not matter.
    /// Returns: how many bytes; 0 for an empty message.
    /// Errors: std::errc::message_size for a message that is longer than `into`, and is lost; as receive_from().
    /// Stops: a stop point where it waits; loses nothing.
    /// Lifetime: `into` is used until the await ends.
    [[nodiscard("nothing is received until this is awaited: co_await it")]] detail::receive_whole_request
    receive(std::span<std::byte> into) noexcept {
        return {socket_, into};
    }
    /// The messages that are there, by one call of the system: as many as there is room for, 32 at most. Waits for the
    /// first.
    /// Returns: how many, at least one; 0 where `into` has no element.
    /// Stops: a stop point where it waits; loses nothing.
    /// Lifetime: `into` and its buffers are used until the await ends.
    [[nodiscard("nothing is received until this is awaited: co_await it")]] detail::receive_batch_request
    receive_batch(std::span<incoming_datagram> into) noexcept {
        return {socket_, into};
    }

    /// A message to `to`. Whether it arrives is not told.
    /// Errors: std::errc::message_size for one that is too long.
    /// Stops: a stop point where it waits; loses nothing: it is not sent.
    /// Lifetime: `bytes` is used until the await ends.
    [[nodiscard("nothing is sent until this is awaited: co_await it")]] detail::send_to_request
    send_to(std::span<const std::byte> bytes, const endpoint& to) noexcept {
        return {socket_, bytes, endpoint(to)};
    }
    [[nodiscard("nothing is sent until this is awaited: co_await it")]] detail::send_to_request
    send_to(std::string_view bytes, const endpoint& to) noexcept {
        return {socket_, std::as_bytes(std::span(bytes)), endpoint(to)};
    }
    /// A message to where the socket is connected to.
    /// Errors: std::errc::destination_address_required, or std::errc::not_connected, if it is not; those of send_to().
    /// An answer of the other machine to an earlier message may be the error of this one: that was not sent then.
    /// Stops: a stop point where it waits; loses nothing: it is not sent.
    /// Lifetime: `bytes` is used until the await ends.
    [[nodiscard("nothing is sent until this is awaited: co_await it")]] detail::send_to_request
    send(std::span<const std::byte> bytes) noexcept {
        return {socket_, bytes, endpoint()};
    }
    [[nodiscard("nothing is sent until this is awaited: co_await it")]] detail::send_to_request
    send(std::string_view bytes) noexcept {
        return {socket_, std::as_bytes(std::span(bytes)), endpoint()};
    }
    /// As many of the messages, from the first on, as the system takes by one call, 32 at most.
    /// Returns: how many, at least one; 0 where `messages` has no element. The others are not sent: call again.
    /// Errors: that of the first message. That of a later one ends the batch before it, and is an error of the call
    /// that begins with it.
    /// Stops: a stop point where it waits; loses nothing: none is sent.
    /// Lifetime: `messages` and their bytes are used until the await ends.
    [[nodiscard("nothing is sent until this is awaited: co_await it")]] detail::send_batch_request
    send_batch(std::span<const outgoing_datagram> messages) noexcept {
        return {socket_, messages};
    }

    /// From now on send() has `to` as its destination, and only messages from there are received; those that wait are
    /// kept. At once: nothing is sent.
    /// Errors: std::system_error.
    void connect(const endpoint& to);

    [[nodiscard]] bool is_open() const noexcept { return socket_.is_open(); }
    /// Errors: std::system_error.
    [[nodiscard]] endpoint local_endpoint() const;
    /// The system's number; -1 if it is closed. It stays the socket's own.
    [[nodiscard]] int native_handle() const noexcept { return socket_.number(); }

protected:
    datagram_socket() noexcept = default;
    datagram_socket(datagram_socket&&) noexcept = default;
    datagram_socket& operator=(datagram_socket&&) noexcept = default;
    ~datagram_socket() = default;
    /// Opens it.
    /// Errors: std::system_error.
    datagram_socket(int family, const endpoint& at);
    explicit datagram_socket(detail::descriptor_handle socket) noexcept : socket_(std::move(socket)) {}

    /// Errors: std::system_error.
    void bind(const endpoint& at);

    detail::descriptor_handle socket_;
};

}  // namespace coflux

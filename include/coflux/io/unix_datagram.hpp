// unix_datagram: messages between processes of one machine.
#pragma once

#include <utility>

#include <coflux/io/datagram.hpp>
#include <coflux/io/detail/bound_path.hpp>
#include <coflux/io/endpoint.hpp>
#include <coflux/io/unix.hpp>

namespace coflux {

/// Messages over a local socket: none is lost, and they come in order.
///
/// Paths and abstract names: see unix_listener.
/// Shapes: as datagram_socket; owns its file, too.
/// Errors: as datagram_socket. A receiver without room: send(), of a socket that is connected, waits for room.
/// send_to() does not, as the system would not tell when there is some: std::errc::resource_unavailable_try_again. So
/// does send_batch() of messages with a destination.
/// Threads: as tcp_stream.
class unix_datagram : public datagram_socket {
public:
    unix_datagram() noexcept = default;
    /// Receives what is sent to `at`. A path that is not absolute must mean the same when the socket is closed.
    /// Errors: std::system_error with the endpoint in its text.
    explicit unix_datagram(const endpoint& at, unix_options options = {});
    /// Sends, and has no name that could be answered to.
    /// Errors: std::system_error.
    [[nodiscard]] static unix_datagram unbound();
    /// Two that are connected to each other, without names. Where one is gone, a send of the other fails with
    /// std::errc::connection_refused, and its receive waits on: a socket of messages has no end.
    /// Errors: std::system_error.
    [[nodiscard]] static std::pair<unix_datagram, unix_datagram> pair();

    void close() noexcept;

private:
    explicit unix_datagram(detail::descriptor_handle socket) noexcept : datagram_socket(std::move(socket)) {}

    detail::bound_path file_;
};

}  // namespace coflux

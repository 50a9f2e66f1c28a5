// udp_socket: messages over UDP.
#pragma once

#include <coflux/io/datagram.hpp>
#include <coflux/io/endpoint.hpp>
#include <coflux/io/socket_options.hpp>

namespace coflux {

/// How a udp_socket is made.
struct udp_options {
    bool shared_port = false;  ///< other sockets may be bound to the same endpoint; the system spreads senders
    bool broadcast = false;    ///< it may send to all machines of a network
    socket_options socket{};   ///< its buffers and its DSCP; the others are of TCP, and an error
};

/// Messages over UDP: each may be lost, come twice, or come late.
///
/// Shapes: as datagram_socket.
/// Errors, Threads: as tcp_stream.
/// Costs: no allocation once a socket has waited. A message of a batch costs a sixth less than one by itself, and a
/// third of it where the messages have one length and one destination (docs/design/sockets.md).
/// Example: examples/38_udp.cpp
class udp_socket : public datagram_socket {
public:
    udp_socket() noexcept = default;
    /// Receives what is sent to `at`; port 0: the system chooses one, see local_endpoint().
    /// Errors: std::system_error with the endpoint in its text.
    explicit udp_socket(const endpoint& at, udp_options options = {});

    /// Receives what is sent to the group, too. The socket is bound to the group's port, and in general to any(): what
    /// is bound to one address does not receive what is sent to another. The system chooses the interface.
    /// Errors: std::system_error.
    void join_group(const endpoint& group);
    void leave_group(const endpoint& group);

    void close() noexcept { socket_.close("is closed"); }
};

}  // namespace coflux

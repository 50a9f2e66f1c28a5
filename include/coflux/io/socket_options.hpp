// socket_options: what the system is told about a socket.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include <coflux/io/endpoint.hpp>

namespace coflux {

/// A peer that is silent is asked whether it is still there.
///
/// Units: seconds, from 1 to 32 767, and 1 to 127 questions.
struct keep_alive_times {
    std::chrono::seconds idle{60};      ///< how long it is silent before the first question
    std::chrono::seconds interval{10};  ///< from one question to the next
    unsigned count = 6;                 ///< so many without an answer end the connection; 0: none is asked
};

/// Options of a socket. The others are left as the system has them.
///
/// Errors: std::invalid_argument for a number outside of its bounds. Else std::system_error, which names the option.
/// Costs: a call of the system for each, and three for keep_alive.
struct socket_options {
    /// false: small messages wait for the answer to the one before, and go together (Nagle). Streams of Coflux have
    /// true, also those that are accepted, whatever their listener was told.
    std::optional<bool> no_delay{};
    /// A connection whose peer is gone without a word then ends with std::errc::timed_out. TCP alone has it.
    std::optional<keep_alive_times> keep_alive{};
    /// How many bytes the system holds, as it counts them: Linux takes twice the number, for what it needs beside, and
    /// no more than net.core.wmem_max and rmem_max. Without one it finds the size by itself, which is mostly better.
    /// A receiver over TCP must be told before it is connected: by a listener, or in connect().
    std::optional<std::size_t> send_buffer{};
    std::optional<std::size_t> receive_buffer{};
    /// Which treatment the packets ask of the network: a code point of DiffServ (RFC 2474), 0 to 63; 46 is expedited
    /// forwarding.
    std::optional<unsigned> dscp{};
};

/// How tcp_stream::connect() connects.
struct tcp_options {
    /// The address of this machine that it connects from, and the port where that is not 0. It has the family of the
    /// target. None: the system chooses.
    endpoint from{};
    socket_options socket{};
};

}  // namespace coflux

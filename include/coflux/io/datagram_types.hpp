// datagram, incoming_datagram and outgoing_datagram: messages, and batches of them.
#pragma once

#include <cstddef>
#include <span>

#include <coflux/io/endpoint.hpp>

namespace coflux {

/// One message that was received.
struct datagram {
    std::size_t size = 0;   ///< its bytes, as far as there was room
    std::size_t whole = 0;  ///< how many were sent
    endpoint from;          ///< of the sender; none, if that has no name

    /// The buffer was too small, and the rest is lost.
    [[nodiscard]] bool is_truncated() const noexcept { return whole > size; }
};

/// A buffer of a batch, and what has been received into it.
struct incoming_datagram {
    std::span<std::byte> into;
    datagram got;
};

/// A message of a batch.
struct outgoing_datagram {
    std::span<const std::byte> bytes;
    endpoint to;  ///< none: where the socket is connected to
};

}  // namespace coflux

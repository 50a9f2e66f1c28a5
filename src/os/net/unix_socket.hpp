// The calls that local sockets have beside streams and datagrams. Each returns what it gives, or the negative error
// number.
#pragma once

#include <cstddef>
#include <cstdint>

#include "socket.hpp"

namespace coflux::detail::os {

/// Two that are connected, do not block and are not inherited.
int open_stream_pair(int (&ends)[2]) noexcept;
int open_datagram_pair(int (&ends)[2]) noexcept;

struct credentials {
    int process;
    unsigned user;
    unsigned group;
};
/// The credentials of the process that connected, or that listened, when it did.
int peer_credentials(int descriptor, credentials& of) noexcept;

/// Which file it is: 0 for none.
struct file_identity {
    std::uint64_t device = 0;
    std::uint64_t number = 0;
};
/// The file at the path of a local socket's name; none for an abstract name, and for a name that is none.
file_identity file_of_name(const_socket_name name) noexcept;
/// Removes the file at that path, if it still is that one.
void remove_file_of_name(const_socket_name name, const file_identity& which) noexcept;
/// Removes the file at that path if it is a socket at which none listens any more. `type`: of a stream, or of
/// datagrams.
enum class socket_type : std::uint8_t { stream, datagram };
void remove_stale_socket(const_socket_name name, socket_type type) noexcept;

/// From now on it does not block.
int stop_blocking(int descriptor) noexcept;
/// -ENOTCONN: it has none.
int peer_name(int descriptor, socket_name& name) noexcept;

}  // namespace coflux::detail::os

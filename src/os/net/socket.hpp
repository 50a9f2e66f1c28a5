// The system calls of sockets. Each returns what it gives, or the negative error number; none blocks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coflux::detail::os {

/// An address as the system knows it.
struct socket_name {
    void* data;
    std::size_t size;  // in: the room; out: what it took
};
struct const_socket_name {
    const void* data;
    std::size_t size;
};

/// True for what says: not now.
[[nodiscard]] bool would_block(std::ptrdiff_t result) noexcept;

/// True for what begin_connect() gives where the connection is being made.
[[nodiscard]] bool goes_on(std::ptrdiff_t result) noexcept;

/// True for what says that the process, or the system, can have no more descriptors.
[[nodiscard]] bool has_no_number(std::ptrdiff_t result) noexcept;
/// True for what an accept gives where one connection is gone: it goes on with the next one.
[[nodiscard]] bool is_of_one_connection(std::ptrdiff_t result) noexcept;
/// So many of these in a row: what lasts, as a network that is down, must not keep an accept for ever.
inline constexpr int most_passed_over = 15;
[[nodiscard]] bool is_local_family(int family) noexcept;
[[nodiscard]] bool is_internet_family(int family) noexcept;
/// True if `descriptor` gives bytes, which have no borders.
[[nodiscard]] bool is_tcp(int descriptor) noexcept;

/// A stream socket that does not block and is not inherited.
int open_stream(int family) noexcept;
void close_descriptor(int descriptor) noexcept;
/// Binds and listens. `shared_port`: other sockets may listen there, too.
int listen_at(int descriptor, const_socket_name at, int backlog, bool shared_port) noexcept;
/// A descriptor that does not block.
int accept_one(int descriptor, socket_name& peer) noexcept;
/// -EINPROGRESS: connect_result() will tell.
int begin_connect(int descriptor, const_socket_name to) noexcept;
/// After begin_connect(): 0 if it is connected, EAGAIN negated while it is not, its error negated.
int connect_result(int descriptor) noexcept;
std::ptrdiff_t receive(int descriptor, void* into, std::size_t size) noexcept;
/// 1 if something can be read without blocking, the end or an error included.
int is_readable(int descriptor) noexcept;
std::ptrdiff_t send(int descriptor, const void* from, std::size_t size) noexcept;
int shutdown_send(int descriptor) noexcept;
/// The connection is cut for both sides, and the descriptor stays open. A family that cannot tell the peer of a cut
/// tells it of an end.
int cut_connection(int descriptor) noexcept;
/// Small messages are sent at once.
int send_at_once(int descriptor) noexcept;
/// The address, and where it has one the port, that begin_connect() connects from.
int bind_source(int descriptor, const_socket_name at, bool has_port) noexcept;

/// Negative: as the system has it.
struct socket_settings {
    int no_delay = -1;
    int keep_alive_idle = -1;  // s
    int keep_alive_interval = -1;
    int keep_alive_count = -1;  // 0: no questions
    int send_buffer = -1;
    int receive_buffer = -1;
    int traffic_class = -1;
};
/// Where it fails, `failed` says at what, as "set the keep-alive".
int change_settings(int descriptor, const socket_settings& to, const char*& failed) noexcept;
int local_name(int descriptor, socket_name& name) noexcept;

}  // namespace coflux::detail::os

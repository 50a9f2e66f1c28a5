// The system calls of sockets that take several buffers, a name, or descriptors. Each returns what it gives, or the
// negative error number; none blocks, and none raises SIGPIPE.
#pragma once

#include <cstddef>
#include <cstdint>

#include "os/buffer.hpp"
#include "socket.hpp"

namespace coflux::detail::os {

std::ptrdiff_t receive_buffers(int descriptor, const buffer* into, std::size_t buffers) noexcept;
std::ptrdiff_t send_buffers(int descriptor, const buffer* from, std::size_t buffers) noexcept;

// --- descriptors, over local sockets ---------------------------------------------------------------------------------

/// That one message carries.
inline constexpr std::size_t most_descriptors = 253;

/// Descriptors that came with bytes.
struct received_descriptors {
    int numbers[most_descriptors];
    std::size_t count = 0;
    bool is_cut = false;  // more were sent than came
};

/// Pre: size is not 0; count is 1 to most_descriptors.
std::ptrdiff_t send_descriptors(int descriptor, buffer from, const int* numbers, std::size_t count) noexcept;
/// They are not inherited. At most `most` come; the others are closed by the system.
std::ptrdiff_t receive_descriptors(int descriptor, buffer into, std::size_t most, received_descriptors& came) noexcept;

// --- datagrams -------------------------------------------------------------------------------------------------------

/// A message of a batch, both ways.
struct datagram_message {
    buffer bytes;
    void* name;             // nullptr: none
    std::size_t name_size;  // in: of the name, or the room for one; out: of the name that came
    std::size_t whole;      // out: how long the message was that came
};
inline constexpr std::size_t most_messages = 32;

int open_datagram(int family) noexcept;
int bind_to(int descriptor, const_socket_name at) noexcept;
/// At once.
int connect_datagram(int descriptor, const_socket_name to) noexcept;
/// How many bytes came; m.whole says how many were sent.
std::ptrdiff_t receive_datagram(int descriptor, datagram_message& m) noexcept;
std::ptrdiff_t send_datagram(int descriptor, const datagram_message& m) noexcept;
inline constexpr std::size_t laid_out_size = 9 * sizeof(void*);
/// Lays the header of `m` out for a call of recvmsg that another makes, in `room`, which is laid_out_size bytes and
/// aligned as a pointer. It, the bytes and the name are used until that call ends. Pre: m.name is not nullptr.
[[nodiscard]] void* lay_out(const datagram_message& m, std::byte* room) noexcept;
/// After it was made: how long the name is that came.
[[nodiscard]] std::size_t name_size_of(const std::byte* room) noexcept;
/// How many messages, at least one. Pre: count is 1 to most_messages.
int receive_datagrams(int descriptor, datagram_message* messages, std::size_t count) noexcept;
int send_datagrams(int descriptor, const datagram_message* messages, std::size_t count) noexcept;

int share_port(int descriptor) noexcept;
int allow_broadcast(int descriptor) noexcept;
/// The system chooses the interface.
int join_group(int descriptor, const_socket_name group) noexcept;
int leave_group(int descriptor, const_socket_name group) noexcept;

/// AF_UNIX.
[[nodiscard]] int local_family() noexcept;
[[nodiscard]] bool is_local(int family) noexcept;

}  // namespace coflux::detail::os

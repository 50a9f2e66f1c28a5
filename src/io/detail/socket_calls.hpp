// The calls that sockets are made of: the seam below which the system is, or a simulated network.
#pragma once

#include <cstddef>
#include <memory>

#include "io_source.hpp"
#include "os/buffer.hpp"
#include "os/net/message.hpp"
#include "os/net/socket.hpp"

namespace coflux::detail {

/// Each function is that of os/socket.hpp or os/message.hpp, and returns the same. The object that opened a
/// descriptor is asked about it as long as it lives; that a number is one of this table's, and of no other, is the
/// caller's.
class socket_calls {
public:
    socket_calls(const socket_calls&) = delete;
    socket_calls& operator=(const socket_calls&) = delete;

    [[nodiscard]] static socket_calls& of_system() noexcept;
    /// The calls for sockets that are opened on this thread now.
    [[nodiscard]] static socket_calls& here() noexcept;

    virtual int open_stream(int family) noexcept = 0;
    virtual void close_descriptor(int descriptor) noexcept = 0;
    virtual int listen_at(int descriptor, os::const_socket_name at, int backlog, bool shared_port) noexcept = 0;
    virtual int accept_one(int descriptor, os::socket_name& peer) noexcept = 0;
    virtual int begin_connect(int descriptor, os::const_socket_name to) noexcept = 0;
    virtual int connect_result(int descriptor) noexcept = 0;
    virtual std::ptrdiff_t receive(int descriptor, void* into, std::size_t size) noexcept = 0;
    virtual int is_readable(int descriptor) noexcept = 0;
    /// As is_readable(), but no await of an operation: a simulated network lets none come in between.
    virtual int is_readable_now(int descriptor) noexcept = 0;
    virtual std::ptrdiff_t send(int descriptor, const void* from, std::size_t size) noexcept = 0;
    /// As send(), but no await of an operation: a simulated network lets none come in between.
    virtual std::ptrdiff_t send_now(int descriptor, const void* from, std::size_t size) noexcept = 0;
    virtual std::ptrdiff_t receive_buffers(int descriptor, const os::buffer* into, std::size_t buffers) noexcept = 0;
    virtual std::ptrdiff_t send_buffers(int descriptor, const os::buffer* from, std::size_t buffers) noexcept = 0;
    virtual int shutdown_send(int descriptor) noexcept = 0;
    virtual int cut_connection(int descriptor) noexcept = 0;
    virtual int send_at_once(int descriptor) noexcept = 0;
    virtual int bind_source(int descriptor, os::const_socket_name at, bool has_port) noexcept = 0;
    virtual int change_settings(int descriptor, const os::socket_settings& to, const char*& failed) noexcept = 0;
    virtual int local_name(int descriptor, os::socket_name& name) noexcept = 0;

    virtual int open_datagram(int family) noexcept = 0;
    virtual int open_datagram_pair(int (&ends)[2]) noexcept = 0;
    virtual int bind_to(int descriptor, os::const_socket_name at) noexcept = 0;
    virtual int connect_datagram(int descriptor, os::const_socket_name to) noexcept = 0;
    virtual std::ptrdiff_t receive_datagram(int descriptor, os::datagram_message& m) noexcept = 0;
    virtual std::ptrdiff_t send_datagram(int descriptor, const os::datagram_message& m) noexcept = 0;
    virtual int receive_datagrams(int descriptor, os::datagram_message* messages, std::size_t count) noexcept = 0;
    virtual int send_datagrams(int descriptor, const os::datagram_message* messages, std::size_t count) noexcept = 0;
    virtual int share_port(int descriptor) noexcept = 0;
    virtual int allow_broadcast(int descriptor) noexcept = 0;
    virtual int join_group(int descriptor, os::const_socket_name group) noexcept = 0;
    virtual int leave_group(int descriptor, os::const_socket_name group) noexcept = 0;

    /// Where coroutines of this thread wait for its descriptors.
    /// Errors: std::system_error, std::bad_alloc.
    [[nodiscard]] virtual std::shared_ptr<io_source> source(promise_base& p) = 0;
    /// The same at less cost, but nullptr where source() has to be asked.
    [[nodiscard]] virtual io_source* made_source(const promise_base&) noexcept { return nullptr; }

protected:
    constexpr socket_calls() noexcept = default;
    ~socket_calls() = default;
};

}  // namespace coflux::detail

#include "socket_calls.hpp"

#include <coflux/core/detail/thread/thread_driver.hpp>
#include <coflux/core/detail/thread/thread_state.hpp>

#include "os/net/message.hpp"
#include "os/net/unix_socket.hpp"

namespace coflux::detail {
namespace {

class system_calls final : public socket_calls {
public:
    constexpr system_calls() noexcept = default;

    int open_stream(int family) noexcept override { return os::open_stream(family); }
    void close_descriptor(int descriptor) noexcept override { os::close_descriptor(descriptor); }
    int listen_at(int descriptor, os::const_socket_name at, int backlog, bool shared_port) noexcept override {
        return os::listen_at(descriptor, at, backlog, shared_port);
    }
    int accept_one(int descriptor, os::socket_name& peer) noexcept override { return os::accept_one(descriptor, peer); }
    int begin_connect(int descriptor, os::const_socket_name to) noexcept override {
        return os::begin_connect(descriptor, to);
    }
    int connect_result(int descriptor) noexcept override { return os::connect_result(descriptor); }
    std::ptrdiff_t receive(int descriptor, void* into, std::size_t size) noexcept override {
        return os::receive(descriptor, into, size);
    }
    int is_readable(int descriptor) noexcept override { return os::is_readable(descriptor); }
    int is_readable_now(int descriptor) noexcept override { return os::is_readable(descriptor); }
    std::ptrdiff_t send(int descriptor, const void* from, std::size_t size) noexcept override {
        return os::send(descriptor, from, size);
    }
    std::ptrdiff_t send_now(int descriptor, const void* from, std::size_t size) noexcept override {
        return os::send(descriptor, from, size);
    }
    std::ptrdiff_t receive_buffers(int descriptor, const os::buffer* into, std::size_t buffers) noexcept override {
        return os::receive_buffers(descriptor, into, buffers);
    }
    std::ptrdiff_t send_buffers(int descriptor, const os::buffer* from, std::size_t buffers) noexcept override {
        return os::send_buffers(descriptor, from, buffers);
    }
    int shutdown_send(int descriptor) noexcept override { return os::shutdown_send(descriptor); }
    int cut_connection(int descriptor) noexcept override { return os::cut_connection(descriptor); }
    int send_at_once(int descriptor) noexcept override { return os::send_at_once(descriptor); }
    int bind_source(int descriptor, os::const_socket_name at, bool has_port) noexcept override {
        return os::bind_source(descriptor, at, has_port);
    }
    int change_settings(int descriptor, const os::socket_settings& to, const char*& failed) noexcept override {
        return os::change_settings(descriptor, to, failed);
    }
    int local_name(int descriptor, os::socket_name& name) noexcept override { return os::local_name(descriptor, name); }

    int open_datagram(int family) noexcept override { return os::open_datagram(family); }
    int open_datagram_pair(int (&ends)[2]) noexcept override { return os::open_datagram_pair(ends); }
    int bind_to(int descriptor, os::const_socket_name at) noexcept override { return os::bind_to(descriptor, at); }
    int connect_datagram(int descriptor, os::const_socket_name to) noexcept override {
        return os::connect_datagram(descriptor, to);
    }
    std::ptrdiff_t receive_datagram(int descriptor, os::datagram_message& m) noexcept override {
        return os::receive_datagram(descriptor, m);
    }
    std::ptrdiff_t send_datagram(int descriptor, const os::datagram_message& m) noexcept override {
        return os::send_datagram(descriptor, m);
    }
    int receive_datagrams(int descriptor, os::datagram_message* messages, std::size_t count) noexcept override {
        return os::receive_datagrams(descriptor, messages, count);
    }
    int send_datagrams(int descriptor, const os::datagram_message* messages, std::size_t count) noexcept override {
        return os::send_datagrams(descriptor, messages, count);
    }
    int share_port(int descriptor) noexcept override { return os::share_port(descriptor); }
    int allow_broadcast(int descriptor) noexcept override { return os::allow_broadcast(descriptor); }
    int join_group(int descriptor, os::const_socket_name group) noexcept override {
        return os::join_group(descriptor, group);
    }
    int leave_group(int descriptor, os::const_socket_name group) noexcept override {
        return os::leave_group(descriptor, group);
    }

    std::shared_ptr<io_source> source(promise_base& p) override { return source_for(p); }
    io_source* made_source(const promise_base& p) noexcept override { return made_source_for(p); }
};

constinit system_calls the_systems_sockets;

}  // namespace

socket_calls& socket_calls::of_system() noexcept {
    return the_systems_sockets;
}
socket_calls& socket_calls::here() noexcept {
    const thread_driver* const driver = this_thread.driver;
    socket_calls* const simulated = driver != nullptr ? driver->sockets() : nullptr;
    return simulated != nullptr ? *simulated : the_systems_sockets;
}

}  // namespace coflux::detail

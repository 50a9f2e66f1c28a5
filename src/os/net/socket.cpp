#include "socket.hpp"

#include <cerrno>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/system_call.hpp"
#include "unix_socket.hpp"

namespace coflux::detail::os {
namespace {

int set_option(int descriptor, int level, int name, int value) noexcept {
    return result_of([&] { return setsockopt(descriptor, level, name, &value, sizeof value); });
}

}  // namespace

bool would_block(std::ptrdiff_t result) noexcept {
    return result == -EAGAIN || result == -EWOULDBLOCK || result == -EINPROGRESS || result == -EALREADY;
}

bool goes_on(std::ptrdiff_t result) noexcept {
    return result == -EINPROGRESS;
}

bool has_no_number(std::ptrdiff_t result) noexcept {
    return result == -EMFILE || result == -ENFILE;
}

bool is_of_one_connection(std::ptrdiff_t result) noexcept {
    // Errors that waited on the connection, and are gone with it: accept(2) says to go on.
    switch (-result) {
    case ECONNABORTED:
    case EPROTO:
    case ENETDOWN:
    case ENETUNREACH:
    case ENONET:
    case EHOSTDOWN:
    case EHOSTUNREACH: return true;
    default: return false;
    }
}

bool is_local_family(int family) noexcept {
    return family == AF_UNIX;
}
bool is_internet_family(int family) noexcept {
    return family == AF_INET || family == AF_INET6;
}
bool is_tcp(int descriptor) noexcept {
    int protocol = 0;
    socklen_t size = sizeof protocol;
    return getsockopt(descriptor, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 && protocol == IPPROTO_TCP;
}

int open_stream(int family) noexcept {
    return result_of([&] { return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
}

void close_descriptor(int descriptor) noexcept {
    close(descriptor);  // interrupted: it is closed nevertheless
}

int listen_at(int descriptor, const_socket_name at, int backlog, bool shared_port) noexcept {
    (void)set_option(descriptor, SOL_SOCKET, SO_REUSEADDR, 1);
    if (shared_port) {
        if (const int e = set_option(descriptor, SOL_SOCKET, SO_REUSEPORT, 1); e < 0) return e;
    }
    const auto* const name = static_cast<const sockaddr*>(at.data);
    if (const int e = result_of([&] { return bind(descriptor, name, static_cast<socklen_t>(at.size)); }); e < 0)
        return e;
    const int e = result_of([&] { return listen(descriptor, backlog); });
    if (e < 0) remove_file_of_name(at, file_of_name(at));  // which bind() has made
    return e;
}

int accept_one(int descriptor, socket_name& peer) noexcept {
    for (int passed_over = 0;; ++passed_over) {
        const int accepted = result_of([&] {
            auto size = static_cast<socklen_t>(peer.size);
            const int got = accept4(descriptor, static_cast<sockaddr*>(peer.data), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (got >= 0) peer.size = size;
            return got;
        });
        // Linux looks for a descriptor first, and says that there is none although there is no connection either.
        if (has_no_number(accepted) && is_readable(descriptor) == 0) return -EAGAIN;
        if (!is_of_one_connection(accepted) || passed_over == most_passed_over) return accepted;
    }
}

int begin_connect(int descriptor, const_socket_name to) noexcept {
    const auto* const name = static_cast<const sockaddr*>(to.data);
    // Interrupted, it goes on by itself, and a second call would say that it does.
    if (connect(descriptor, name, static_cast<socklen_t>(to.size)) == 0) return 0;
    return errno == EINTR ? -EINPROGRESS : -errno;
}

int connect_result(int descriptor) noexcept {
    int error = 0;
    socklen_t size = sizeof error;
    if (const int e = result_of([&] { return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size); }); e < 0)
        return e;
    if (error != 0) return -error;
    sockaddr_storage peer{};
    socklen_t peer_size = sizeof peer;
    const int e = result_of([&] { return getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &peer_size); });
    return e == -ENOTCONN ? -EAGAIN : e;
}

std::ptrdiff_t receive(int descriptor, void* into, std::size_t size) noexcept {
    return result_of([&] { return recv(descriptor, into, size, MSG_DONTWAIT); });
}

int is_readable(int descriptor) noexcept {
    pollfd asked{descriptor, POLLIN | POLLRDHUP, 0};
    return result_of([&] { return poll(&asked, 1, 0); });
}

std::ptrdiff_t send(int descriptor, const void* from, std::size_t size) noexcept {
    return result_of([&] { return ::send(descriptor, from, size, MSG_DONTWAIT | MSG_NOSIGNAL); });
}

int shutdown_send(int descriptor) noexcept {
    return result_of([&] { return shutdown(descriptor, SHUT_WR); });
}

int cut_connection(int descriptor) noexcept {
    // TCP sends a reset now, whatever else has the descriptor. SO_LINGER would wait for the close.
    const sockaddr none{AF_UNSPEC, {}};
    if (result_of([&] { return connect(descriptor, &none, sizeof none); }) == 0) return 0;
    return result_of([&] { return shutdown(descriptor, SHUT_RDWR); });
}

int send_at_once(int descriptor) noexcept {
    return set_option(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
}

int bind_source(int descriptor, const_socket_name at, bool has_port) noexcept {
    if (has_port) {
        // A connection from there that has ended keeps the port for a minute.
        (void)set_option(descriptor, SOL_SOCKET, SO_REUSEADDR, 1);
    } else {
        // The port is chosen when it is known where to: then it may serve for several destinations.
        (void)set_option(descriptor, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
    }
    const auto* const name = static_cast<const sockaddr*>(at.data);
    return result_of([&] { return bind(descriptor, name, static_cast<socklen_t>(at.size)); });
}

int change_settings(int descriptor, const socket_settings& to, const char*& failed) noexcept {
    int e = 0;
    const auto set = [&](int level, int name, int value, const char* what) {
        if (e < 0 || value < 0) return;
        failed = what;
        e = set_option(descriptor, level, name, value);
    };
    set(IPPROTO_TCP, TCP_NODELAY, to.no_delay, "set no_delay");
    if (to.keep_alive_count > 0) {
        constexpr const char* what = "set the keep-alive";
        set(IPPROTO_TCP, TCP_KEEPIDLE, to.keep_alive_idle, what);
        set(IPPROTO_TCP, TCP_KEEPINTVL, to.keep_alive_interval, what);
        set(IPPROTO_TCP, TCP_KEEPCNT, to.keep_alive_count, what);
    }
    set(SOL_SOCKET, SO_KEEPALIVE, to.keep_alive_count < 0 ? -1 : to.keep_alive_count > 0, "set the keep-alive");
    set(SOL_SOCKET, SO_SNDBUF, to.send_buffer, "set the send buffer");
    set(SOL_SOCKET, SO_RCVBUF, to.receive_buffer, "set the receive buffer");
    if (to.traffic_class >= 0) {
        int family = 0;
        socklen_t size = sizeof family;
        const bool is_v6 = getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &family, &size) == 0 && family == AF_INET6;
        if (is_v6) set(IPPROTO_IPV6, IPV6_TCLASS, to.traffic_class, "set the DSCP");
        // A socket of IPv6 may speak IPv4, too; some refuse to know of that.
        const int four = set_option(descriptor, IPPROTO_IP, IP_TOS, to.traffic_class);
        if (!is_v6 && e >= 0 && four < 0) {
            failed = "set the DSCP";
            e = four;
        }
    }
    return e;
}

int local_name(int descriptor, socket_name& name) noexcept {
    auto size = static_cast<socklen_t>(name.size);
    const int e = result_of([&] { return getsockname(descriptor, static_cast<sockaddr*>(name.data), &size); });
    if (e >= 0) name.size = size;
    return e;
}

}  // namespace coflux::detail::os

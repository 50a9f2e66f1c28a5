#include "raw_sockets.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/un.h>
#include <unistd.h>

namespace harness {
namespace {

struct unix_address {
    sockaddr_un address{};
    socklen_t size = 0;

    explicit unix_address(std::string_view who) {
        const std::string name = abstract_name(who);
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path, name.data(), name.size());
        size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    }
    [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&address); }
};

descriptor make_socket(int family, int type) {
    return descriptor{checked(socket(family, type | SOCK_CLOEXEC, 0), "socket")};
}

void bind_to(const descriptor& socket, const sockaddr* address, socklen_t size) {
    checked(bind(socket.get(), address, size), "bind");
}

void bind_to_loopback(const descriptor& socket) {
    const sockaddr_in at = loopback(0);
    bind_to(socket, reinterpret_cast<const sockaddr*>(&at), sizeof at);
}

void connect_socket(const descriptor& socket, const sockaddr* address, socklen_t size) {
    checked(connect(socket.get(), address, size), "connect");
}

void set_flags(const descriptor& fd, int flags) {
    if ((flags & SOCK_NONBLOCK) != 0) {
        checked(fcntl(fd.get(), F_SETFL, O_NONBLOCK), "fcntl");
    }
}

descriptor accept_from(const descriptor& listener) {
    return descriptor{checked(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept")};
}

echo_pair tcp_pair() {
    const descriptor listener = listen_on_loopback();
    echo_pair p;
    p.client.reads = connect_to_loopback(port_of(listener.get()));
    p.server.reads = accept_from(listener);
    send_at_once(p.server.in());
    p.client.is_stream = p.server.is_stream = true;
    return p;
}

echo_pair unix_pair() {
    const unix_address at{"server"};
    const descriptor listener = make_socket(AF_UNIX, SOCK_STREAM);
    bind_to(listener, at.get(), at.size);
    checked(listen(listener.get(), 1), "listen");
    echo_pair p;
    p.client.reads = make_socket(AF_UNIX, SOCK_STREAM);
    connect_socket(p.client.reads, at.get(), at.size);
    p.server.reads = accept_from(listener);
    p.client.is_stream = p.server.is_stream = true;
    return p;
}

echo_pair udp_pair() {
    echo_pair p;
    p.server.reads = make_socket(AF_INET, SOCK_DGRAM);
    bind_to_loopback(p.server.reads);
    p.client.reads = make_socket(AF_INET, SOCK_DGRAM);
    const sockaddr_in to = loopback(port_of(p.server.in()));
    connect_socket(p.client.reads, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    p.server.answers_sender = true;
    return p;
}

echo_pair unix_datagram_pair() {
    const unix_address server{"server"};
    const unix_address client{"client"};
    echo_pair p;
    p.server.reads = make_socket(AF_UNIX, SOCK_DGRAM);
    bind_to(p.server.reads, server.get(), server.size);
    p.client.reads = make_socket(AF_UNIX, SOCK_DGRAM);
    bind_to(p.client.reads, client.get(), client.size);
    connect_socket(p.client.reads, server.get(), server.size);
    p.server.answers_sender = true;
    return p;
}

echo_pair pipe_pair() {
    echo_pair p;
    for (auto [reader, writer] : {std::pair{&p.client, &p.server}, std::pair{&p.server, &p.client}}) {
        std::array<int, 2> ends{};
        checked(pipe2(ends.data(), O_CLOEXEC), "pipe");
        reader->reads = descriptor{ends[0]};
        writer->writes = descriptor{ends[1]};
    }
    for (echo_end* const end : {&p.client, &p.server}) {
        end->is_socket = false;
        end->is_stream = true;
    }
    return p;
}

echo_pair pair_over(transport over) {
    switch (over) {
    case transport::tcp: return tcp_pair();
    case transport::udp: return udp_pair();
    case transport::unix_stream: return unix_pair();
    case transport::unix_datagram: return unix_datagram_pair();
    case transport::pipe: return pipe_pair();
    case transport::shm_spin:
    case transport::shm_sem: break;
    }
    throw std::logic_error{"shared memory has no descriptors"};
}

}  // namespace

void fail(const std::string& what) {
    throw std::runtime_error{what + ": " + std::strerror(errno)};
}

descriptor& descriptor::operator=(descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
}

descriptor::~descriptor() {
    if (fd_ >= 0) {
        close(fd_);
    }
}

sockaddr_in loopback(std::uint16_t port, std::uint32_t last) noexcept {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl((INADDR_LOOPBACK & ~0xffU) | last);
    return address;
}

std::uint16_t port_of(int socket) {
    sockaddr_in at{};
    socklen_t size = sizeof at;
    checked(getsockname(socket, reinterpret_cast<sockaddr*>(&at), &size), "getsockname");
    return ntohs(at.sin_port);
}

descriptor listen_on_loopback(int flags) {
    descriptor listener = make_socket(AF_INET, SOCK_STREAM | flags);
    bind_to_loopback(listener);
    // The system cuts it to what it allows.
    checked(listen(listener.get(), 4'096), "listen");
    return listener;
}

descriptor connect_to_loopback(std::uint16_t port) {
    descriptor made = make_socket(AF_INET, SOCK_STREAM);
    const sockaddr_in to = loopback(port);
    connect_socket(made, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    send_at_once(made.get());
    return made;
}

void send_at_once(int socket) noexcept {
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void send_all(int socket, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        bytes = bytes.subspan(
            static_cast<std::size_t>(checked(::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL), "send")));
    }
}

std::size_t receive_all(int socket, std::span<std::byte> into) {
    std::size_t got = 0;
    while (got < into.size()) {
        const auto more = checked(recv(socket, into.data() + got, into.size() - got, 0), "recv");
        if (more == 0) {
            break;
        }
        got += static_cast<std::size_t>(more);
    }
    return got;
}

echo_pair make_echo_pair(transport over, int flags) {
    echo_pair p = pair_over(over);
    for (const echo_end* const end : {&p.client, &p.server}) {
        set_flags(end->reads, flags);
        if (end->writes.get() >= 0) {
            set_flags(end->writes, flags);
        }
    }
    return p;
}

bool echo_buffer::receive(const echo_end& end) {
    // Never more than the message of a stream: there is one in flight.
    const std::span<std::byte> room =
        std::span{bytes_}.subspan(size_, (end.is_stream ? echo_size : bytes_.size()) - size_);
    ssize_t got = 0;
    if (end.answers_sender) {
        from_size_ = sizeof from_;
        got = recvfrom(end.in(), room.data(), room.size(), 0, reinterpret_cast<sockaddr*>(&from_), &from_size_);
    } else {
        got = end.is_socket ? recv(end.in(), room.data(), room.size(), 0) : read(end.in(), room.data(), room.size());
    }
    if (got < 0 && errno == EAGAIN) {
        return false;
    }
    if (checked(got, "receive") == 0) {
        throw wrong_message{"the other side has ended"};
    }
    size_ += static_cast<std::size_t>(got);
    return !end.is_stream || size_ == echo_size;
}

void echo_buffer::send(const echo_end& end, const echo_message& message) {
    ssize_t sent = 0;
    if (end.answers_sender) {
        sent = sendto(end.out(), message.data(), message.size(), MSG_NOSIGNAL,
                      reinterpret_cast<const sockaddr*>(&from_), from_size_);
    } else {
        sent = end.is_socket ? ::send(end.out(), message.data(), message.size(), MSG_NOSIGNAL)
                             : write(end.out(), message.data(), message.size());
    }
    // There is one in flight, so that there is room.
    if (sent != static_cast<ssize_t>(message.size())) {
        fail("send");
    }
}

}  // namespace harness

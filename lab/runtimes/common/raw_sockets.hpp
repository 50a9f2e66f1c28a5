// Sockets without a runtime, for the rows that are written on system calls, and for lab_load.
#pragma once

#include "echo.hpp"

#include <cstdint>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <utility>

namespace harness {

// Throws what a call of the system has failed with.
[[noreturn]] void fail(const std::string& what);

// The same result, which is not negative: else throws.
template <typename T>
T checked(T result, const char* what) {
    if (result < 0) {
        fail(what);
    }
    return result;
}

// Closes what it holds.
class descriptor {
public:
    descriptor() = default;
    explicit descriptor(int fd) noexcept : fd_{fd} {}
    descriptor(descriptor&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
    descriptor& operator=(descriptor&& other) noexcept;
    ~descriptor();
    [[nodiscard]] int get() const noexcept { return fd_; }
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

private:
    int fd_ = -1;
};

// 127.0.0.`last` with this port.
[[nodiscard]] sockaddr_in loopback(std::uint16_t port, std::uint32_t last = 1) noexcept;
[[nodiscard]] std::uint16_t port_of(int socket);

// A socket that listens on 127.0.0.1, at a port that the kernel chooses. `flags`: SOCK_NONBLOCK or none.
[[nodiscard]] descriptor listen_on_loopback(int flags = 0);
// A connection, which blocks, and sends small messages at once.
[[nodiscard]] descriptor connect_to_loopback(std::uint16_t port);
void send_at_once(int socket) noexcept;

// Writes all of it to a socket that blocks. Never SIGPIPE.
void send_all(int socket, std::span<const std::byte> bytes);
// Fills all of it from a socket that blocks. Returns how many bytes came before the end of the stream.
[[nodiscard]] std::size_t receive_all(int socket, std::span<std::byte> into);

// One side of an echo.
struct echo_end {
    descriptor reads{};
    descriptor writes{};  // empty where one socket does both
    bool is_socket = true;
    bool answers_sender = false;  // the messages say where they come from, and the answers must
    bool is_stream = false;

    [[nodiscard]] int in() const noexcept { return reads.get(); }
    [[nodiscard]] int out() const noexcept { return writes.get() < 0 ? reads.get() : writes.get(); }
};

struct echo_pair {
    echo_end client;
    echo_end server;
};

// Both sides, connected, over anything but shared memory. `flags`: SOCK_NONBLOCK or none.
[[nodiscard]] echo_pair make_echo_pair(transport over, int flags);

// One message of one end at a time: what has come of it, and from where.
class echo_buffer {
public:
    // One call of the system. Returns whether the message is whole; throws at the end of the stream.
    bool receive(const echo_end& end);
    // The whole message, from one call to the next.
    [[nodiscard]] std::span<const std::byte> message() const noexcept { return std::span{bytes_}.first(size_); }
    void send(const echo_end& end, const echo_message& message);
    void clear() noexcept { size_ = 0; }

private:
    std::array<std::byte, 64> bytes_;
    std::size_t size_ = 0;
    sockaddr_storage from_;
    socklen_t from_size_ = 0;
};

}  // namespace harness

// Two ends of a connection, and what tests of sockets ask the system.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <span>
#include <string>

#include <poll.h>
#include <unistd.h>

#include <coflux/coflux.hpp>

namespace coflux_test {

struct stream_pair {
    coflux::tcp_stream near;
    coflux::tcp_stream far;
};

/// An address of the loopback network that no other process listens at: a port of 127.0.0.1 that has just become free
/// may be what another test still tries to connect to.
inline coflux::endpoint own_loopback() {
    const auto id = static_cast<unsigned>(getpid());
    const std::string address = "127." + std::to_string(1 + id / 65536 % 64) + '.' + std::to_string(id / 256 % 256) +
                                '.' + std::to_string(id % 256);
    return coflux::endpoint::ip(address, 0);
}

inline coflux::call<stream_pair> connected(coflux::environment&) {
    coflux::tcp_listener listener(own_loopback());
    stream_pair p;
    p.near = co_await coflux::tcp_stream::connect(listener.local_endpoint());
    p.far = co_await listener.accept();
    co_return p;
}

/// Until bytes have come, by a call of this thread: a busy system may be late with what was sent.
inline void await_bytes(const coflux::tcp_stream& at) {
    pollfd readable{at.native_handle(), POLLIN, 0};
    (void)poll(&readable, 1, -1);
}

/// clang's UBSan opens a pipe to look at the type of an object: where no descriptor is left it takes each for a wrong
/// one.
inline constexpr bool checks_need_descriptors = COFLUX_ASAN && COFLUX_CLANG;

/// Descriptors that this process has open. There may be less than before: the reaper closes that of a child of an
/// earlier test.
inline std::size_t open_descriptors() {
    using walk = std::filesystem::directory_iterator;
    return static_cast<std::size_t>(std::distance(walk("/proc/self/fd"), walk()));
}

/// The same, at last no more than `most`: the reaper closes that of a child soon after its process has died.
inline std::size_t descriptors_at_last(std::size_t most) {
    for (int i = 0; i != 10'000 && open_descriptors() > most; ++i) usleep(1'000);
    return open_descriptors();
}

/// The result of `program(environment, args...)`, a task, on a worker of its own.
template <typename F, typename... Args>
auto on_a_worker(F program, Args... args) {
    coflux::worker_executor on;
    auto env = coflux::make_environment(on);
    return program(env, args...).get();
}

inline std::span<std::byte> bytes_of(std::string& s) {
    return std::as_writable_bytes(std::span(s));
}

}  // namespace coflux_test

// Two ends of a connection, and what tests of sockets ask the system.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <span>
#include <string>

#include <coflux/coflux.hpp>

namespace coflux_test {

struct stream_pair {
    coflux::tcp_stream near;
    coflux::tcp_stream far;
};

inline coflux::call<stream_pair> connected(coflux::environment&) {
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));
    stream_pair p;
    p.near = co_await coflux::tcp_stream::connect(listener.local_endpoint());
    p.far = co_await listener.accept();
    co_return p;
}

/// Descriptors that this process has open.
inline std::size_t open_descriptors() {
    using walk = std::filesystem::directory_iterator;
    return static_cast<std::size_t>(std::distance(walk("/proc/self/fd"), walk()));
}

inline std::span<std::byte> bytes_of(std::string& s) {
    return std::as_writable_bytes(std::span(s));
}

}  // namespace coflux_test

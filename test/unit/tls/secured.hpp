// Two ends of a connection under TLS.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include <coflux/coflux.hpp>
#include <coflux/tls/stream.hpp>

#include "certificates.hpp"

namespace coflux_test {

struct tls_pair {
    coflux::tls_stream near;  // a client
    coflux::tls_stream far;   // its server
};

/// Before the handshake.
inline coflux::call<tls_pair> paired(coflux::environment&, coflux::tls_context client, coflux::tls_context server,
                                     std::string host) {
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));
    auto near = co_await coflux::tcp_stream::connect(listener.local_endpoint());
    auto far = co_await listener.accept();
    co_return tls_pair{coflux::tls_stream(client, std::move(near), host), coflux::tls_stream(server, std::move(far))};
}
inline coflux::call<tls_pair> secured(coflux::environment&) {
    auto&& here = co_await coflux::context();
    tls_pair p = co_await paired(here, trusting_client(), localhost_server(), "localhost");
    co_await coflux::when_all(p.near.handshake(here), p.far.handshake(here));
    co_return p;
}

inline std::span<std::byte> bytes_of(std::string& s) {
    return std::as_writable_bytes(std::span(s));
}

/// Bytes that show where one is lost, or comes twice.
inline std::string numbered(std::size_t size, unsigned seed) {
    std::string s(size, '\0');
    unsigned x = seed;
    for (char& c : s) {
        x = x * 1'664'525U + 1'013'904'223U;
        c = static_cast<char>(x >> 24);
    }
    return s;
}

}  // namespace coflux_test

// An echo service, on any executor: the program's pool, or a simulated machine of a test.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include <coflux/coflux.hpp>

/// One connection, until its peer ends it.
template <typename E>
coflux::fork<void, E> echo(coflux::environment&, coflux::tcp_stream peer) {
    std::array<std::byte, 1024> buffer{};
    while (const std::size_t n = co_await peer.read_some(buffer)) co_await peer.write_all(std::span(buffer).first(n));
}

/// Accepts until it is stopped, which ends the connections, too.
template <typename E>
coflux::task<void, E> serve(coflux::environment&, coflux::borrowed<coflux::tcp_listener> at) {
    auto&& here = co_await coflux::context();
    for (;;) echo<E>(here, co_await at->accept()).attach();
}

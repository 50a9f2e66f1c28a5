// expect: coflux: idle() looks at the stream itself, so that no request is lost where the server drains
#include <coflux/coflux.hpp>

#include <cstddef>
#include <span>

coflux::call<void> handles(coflux::environment&, coflux::tcp_stream peer, coflux::drain_token server) {
    auto&& here = co_await coflux::context();
    std::byte one{};
#ifdef COFLUX_GOOD
    while (co_await server.idle(here, peer)) (void)co_await peer.read_some(std::span(&one, 1));
#else
    while (co_await server.idle(here, peer.wait_readable())) (void)co_await peer.read_some(std::span(&one, 1));
#endif
}

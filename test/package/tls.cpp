// A program that uses coflux::tls: two ends that agree on nothing, because the server has no certificate.
#include <coflux/coflux.hpp>
#include <coflux/tls/context.hpp>
#include <coflux/tls/stream.hpp>

coflux::task<int, coflux::worker_executor> program(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));
    const auto context = coflux::tls_context::client({.verifies_peer = false});
    coflux::tls_stream stream(context, co_await coflux::tcp_stream::connect(listener.local_endpoint()));
    coflux::tcp_stream plain = co_await listener.accept();
    co_await plain.write_all("this is no TLS");
    try {
        co_await stream.handshake(here);
    } catch (const coflux::tls_error&) {
        co_return stream.has_failed() ? 0 : 1;
    }
    co_return 2;
}

int main() {
    coflux::worker_executor on;
    auto env = coflux::make_environment(on);
    return program(env).get();
}

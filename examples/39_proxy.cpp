// A TCP proxy. `39_proxy PORT` passes on what it gets to that port of this machine, until SIGTERM; without an argument
// it serves one of its own.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <utility>

#include <coflux/coflux.hpp>

using namespace std::chrono_literals;
using pool = coflux::thread_pool_executor;

// One direction, until its sender ends it. Where the other side reads slowly, this one waits: no more than a buffer.
coflux::call<void> pumps(coflux::tcp_stream& from, coflux::tcp_stream& to) {
    auto&& here = co_await coflux::context();
    co_await coflux::copy(here, from, to);
    to.shutdown_send();
}

coflux::call<coflux::serve_report> passes_on(coflux::environment&, coflux::tcp_listener& at, coflux::endpoint to) {
    auto&& here = co_await coflux::context();
    auto handler = [to](coflux::environment&, coflux::tcp_stream client) -> coflux::call<void> {
        auto server = co_await coflux::timeout(coflux::tcp_stream::connect(to), 5s);
        if (!server) co_return;
        // An error of one direction stops the other, and both connections are closed.
        co_await coflux::when_all(coflux::stop_on_error, pumps(client, *server), pumps(*server, client));
    };
    co_return co_await coflux::serve(here, at, handler, {.drain = 1s});
}

// The server behind the proxy: gives back what it gets.
coflux::fork<coflux::serve_report, pool> echoes(coflux::environment&, coflux::tcp_listener at) {
    auto&& here = co_await coflux::context();
    const auto echo = [](coflux::environment&, coflux::tcp_stream peer) -> coflux::call<void> {
        co_await pumps(peer, peer);
    };
    co_return co_await coflux::serve(here, at, echo);
}

coflux::fork<void, pool> visits(coflux::environment&, coflux::endpoint where, coflux::environment* server) {
    coflux::tcp_stream client = co_await coflux::tcp_stream::connect(where);
    co_await client.write_all("through the proxy and back\n");
    client.shutdown_send();
    std::string got(27, ' ');
    co_await client.read_exactly(std::as_writable_bytes(std::span(got)));
    std::byte more{};
    const std::size_t rest = co_await client.read_some(std::span(&more, 1));
    std::printf("%sand then %zu bytes\n", got.c_str(), rest);
    server->request_stop();
}

coflux::task<void, pool> program(coflux::environment&, std::uint16_t port) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));
    coflux::endpoint to = coflux::endpoint::loopback(port);
    auto inside = coflux::make_environment(here);
    if (port == 0) {
        coflux::tcp_listener behind(to);
        to = behind.local_endpoint();
        echoes(inside, std::move(behind)).attach();
        visits(here, listener.local_endpoint(), &inside).attach();
    } else {
        std::fprintf(stderr, "port %d\n", listener.local_endpoint().port());
    }
    const coflux::serve_report report = co_await passes_on(inside, listener, to);
    std::printf("passed on %d\n", static_cast<int>(report.served));
    co_await inside.join();
}

int main(int argc, char** argv) {
    return coflux::run(program, static_cast<std::uint16_t>(argc > 1 ? std::stoi(argv[1]) : 0));
}

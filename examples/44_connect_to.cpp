// Names and connections: a host of which one address is out of order, a proxy before a server, and a limit for it all.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <coflux/coflux.hpp>

using namespace std::chrono_literals;
using worker = coflux::worker_executor;

// Says one line, and ends.
coflux::fork<void, worker> greet(coflux::environment&, coflux::tcp_listener* at) {
    coflux::tcp_stream peer = co_await at->accept();
    co_await peer.write_all("hello from far away\n");
}

// Passes on what the server says, to the end.
coflux::fork<std::uint64_t, worker> stand_before(coflux::environment&, coflux::tcp_listener* at,
                                                 coflux::endpoint server) {
    auto&& here = co_await coflux::context();
    coflux::tcp_stream client = co_await at->accept();
    coflux::tcp_stream behind = co_await coflux::tcp_stream::connect(server);
    co_return co_await coflux::copy(here, behind, client);
}

coflux::task<void, worker> program(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener server(coflux::endpoint::loopback(0));
    coflux::tcp_listener proxy(coflux::endpoint::loopback(0));
    auto greeting = greet(here, &server);
    auto passing = stand_before(here, &proxy, server.local_endpoint());

    // Without look_up the system is asked. Nothing listens at the first address.
    coflux::resolver names({.look_up = [](const std::string&, coflux::address_family) {
        return std::vector{coflux::endpoint::ip("127.0.0.9", 0), coflux::endpoint::loopback(0)};
    }});
    const auto port = proxy.local_endpoint().port();
    auto peer = co_await coflux::timeout(coflux::connect_to(here, names, "a.host", port), 5s);
    if (!peer) co_return;
    coflux::buffered_reader in(*peer);
    const auto line = co_await in.read_line(here);
    // A peer that is gone without a word is an error within a minute or so.
    peer->set_options({.keep_alive = coflux::keep_alive_times{.idle = 30s, .interval = 10s, .count = 3}});
    std::printf("%s\n", std::string(line.value_or("")).c_str());
    const std::uint64_t copied = co_await std::move(passing);
    std::printf("%d bytes\n", static_cast<int>(copied));
    co_await std::move(greeting);

    try {
        (void)co_await coflux::connect_to(here, names, "a.host", 1);
    } catch (const coflux::connect_error& e) {
        std::printf("%s\n", e.what());
    }
}

int main() {
    worker on;
    auto env = coflux::make_environment(on);
    program(env).get();
}

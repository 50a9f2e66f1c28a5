// A chat room: each line that a peer sends goes to all. `35_chat serve` waits for SIGTERM; without an argument two
// peers talk and the server ends.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <utility>

#include <coflux/coflux.hpp>

using pool = coflux::thread_pool_executor;
using room = coflux::broadcast_sender<std::string>;

// A peer that reads too slowly misses lines; it holds nothing up.
coflux::call<void> hears(coflux::tcp_stream& peer, coflux::broadcast_receiver<std::string> said) {
    co_await peer.write_all("welcome\n");
    while (const auto line = co_await said.receive()) co_await peer.write_all(*line);
}

// Until the peer has gone or the server ends: a line that has not ended by then is dropped.
coflux::call<void> speaks(coflux::tcp_stream& peer, coflux::drain_token server, room& to) {
    auto&& here = co_await coflux::context();
    std::array<char, 256> buffer{};
    std::string text;
    while (text.size() < 4096 && co_await server.idle(here, peer)) {
        const std::size_t n = co_await peer.read_some(std::as_writable_bytes(std::span(buffer)));
        if (n == 0) break;
        text.append(buffer.data(), n);
        for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1))
            (void)to.send(text.substr(0, end + 1));
    }
}

coflux::call<coflux::serve_report> serves(coflux::environment&, coflux::tcp_listener& at) {
    auto&& here = co_await coflux::context();
    auto [everybody, unused] = coflux::make_broadcast<std::string>(64);
    auto chat = [&to = everybody](coflux::environment&, coflux::tcp_stream peer,
                                  coflux::drain_token server) -> coflux::call<void> {
        // The first end is the connection's: the peer has gone, or it cannot be written to.
        (void)co_await coflux::when_any(speaks(peer, server, to), hears(peer, to.subscribe()));
    };
    co_return co_await coflux::serve(here, at, chat);
}

coflux::call<std::string> line_from(coflux::tcp_stream& peer) {
    std::string line;
    for (char c = 0; c != '\n'; line += c) co_await peer.read_exactly(std::as_writable_bytes(std::span(&c, 1)));
    co_return line;
}
coflux::fork<void, pool> visits(coflux::environment&, coflux::endpoint where, coflux::environment* server) {
    coflux::tcp_stream ann = co_await coflux::tcp_stream::connect(where);
    coflux::tcp_stream bob = co_await coflux::tcp_stream::connect(where);
    for (auto* peer : {&ann, &bob}) std::printf("%s", (co_await line_from(*peer)).c_str());
    co_await ann.write_all("hello from Ann\n");
    for (auto* peer : {&ann, &bob}) std::printf("%s", (co_await line_from(*peer)).c_str());
    server->request_stop();
}

coflux::task<void, pool> program(coflux::environment&, int argc) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));
    auto inside = coflux::make_environment(here);
    if (argc > 1) {
        std::fprintf(stderr, "port %d\n", listener.local_endpoint().port());
    } else {
        visits(here, listener.local_endpoint(), &inside).attach();
    }
    const coflux::serve_report report = co_await serves(inside, listener);
    std::printf("served %d\n", static_cast<int>(report.served));
    co_await inside.join();
}

int main(int argc, char**) {
    return coflux::run(program, argc);
}

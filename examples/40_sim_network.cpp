// A fault that a fast network hides: found on a simulated one, and made small.
#include <cstddef>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>

#include <coflux/coflux.hpp>
#include <coflux/testing/explore.hpp>
#include <coflux/testing/sim_network.hpp>

using coflux::testing::sim_executor;
using coflux::testing::sim_network;

namespace {

// Answers one question of five bytes. All five come at once, do they not?
template <bool Careful>
coflux::task<void, sim_executor> serve(coflux::environment&, coflux::borrowed<coflux::tcp_listener> at) {
    coflux::tcp_stream peer = co_await at->accept();
    std::string question(5, '.');
    const auto bytes = std::as_writable_bytes(std::span(question));
    if (Careful) {
        co_await peer.read_exactly(bytes);
    } else {
        (void)co_await peer.read_some(bytes);
    }
    co_await peer.write_all("answer to " + question);
    peer.shutdown_send();
    (void)co_await peer.read_some(bytes);  // until the other end has read it
}

coflux::task<std::string, sim_executor> ask(coflux::environment&, coflux::endpoint server) {
    coflux::tcp_stream peer = co_await coflux::tcp_stream::connect(server);
    co_await peer.write_all("why 5");
    peer.shutdown_send();
    std::string answer(15, '.');
    co_await peer.read_exactly(std::as_writable_bytes(std::span(answer)));
    co_return answer;
}

template <bool Careful>
void body(coflux::testing::simulation&) {
    sim_network net;
    auto server = net.host("10.0.0.1");
    sim_executor on_server = server.executor();
    sim_executor on_client = net.host("10.0.0.2").executor();
    auto servers = coflux::make_environment(on_server);
    auto clients = coflux::make_environment(on_client);
    coflux::tcp_listener listener(server.at(80));
    auto serving = serve<Careful>(servers, coflux::borrowed(listener));
    const std::string answer = ask(clients, server.at(80)).get();
    serving.get();
    if (answer != "answer to why 5") throw std::runtime_error("'" + answer + "'");
}

}  // namespace

int main() {
    using coflux::testing::explore;
    std::printf("on a good day: %s\n", explore({.runs = 1}, body<false>).ok() ? "right" : "wrong");

    const auto found = explore({.runs = 1000}, body<false>);
    if (found.ok()) return 1;
    std::printf("on some other day: %s\n", found.failure->what.c_str());
    std::printf("smallest schedule: %s\n", found.failure->replay().c_str());

    const auto mended = explore({.runs = 1000}, body<true>);
    std::printf("mended: %s\n", mended.ok() ? "right" : mended.report().c_str());
    return mended.ok() ? 0 : 1;
}

// The service under 200 schedules of a simulated network: packets come late and in pieces. No real socket is used.
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>

#include <coflux/coflux.hpp>
#include <coflux/testing/explore.hpp>
#include <coflux/testing/sim_network.hpp>

#include "echo.hpp"

using coflux::testing::sim_executor;

coflux::task<std::string, sim_executor> ask(coflux::environment&, coflux::endpoint server, std::string text) {
    coflux::tcp_stream peer = co_await coflux::tcp_stream::connect(server);
    co_await peer.write_all(text);
    std::string answer(text.size(), '.');
    co_await peer.read_exactly(std::as_writable_bytes(std::span(answer)));
    co_return answer;
}

void gives_back_what_it_gets(coflux::testing::simulation&) {
    coflux::testing::sim_network net;
    auto server = net.host("10.0.0.1");
    sim_executor on_server = server.executor();
    sim_executor on_client = net.host("10.0.0.2").executor();
    auto servers = coflux::make_environment(on_server);
    auto clients = coflux::make_environment(on_client);
    coflux::tcp_listener listener(server.at(7000));
    auto serving = serve<sim_executor>(servers, coflux::borrowed(listener));
    const std::string answer = ask(clients, server.at(7000), "hello").get();
    servers.request_stop();
    (void)serving.join();  // stopped
    if (answer != "hello") throw std::runtime_error("the answer is '" + answer + "'");
}

int main() {
    const auto result = coflux::testing::explore({.runs = 200}, gives_back_what_it_gets);
    std::printf("%s\n", result.ok() ? "right in each run" : result.report().c_str());
    return result.ok() ? 0 : 1;
}

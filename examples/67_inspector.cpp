// A program that shows what it does: on a page, to curl and to Prometheus. Here it asks itself.
#include <coflux/coflux.hpp>
#include <coflux/inspector/serve.hpp>

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

using pool = coflux::thread_pool_executor;

/// Prints of what `curl http://127.0.0.1:PORT/metrics` shows: the status, the type, and a metric.
coflux::task<void, pool> asks(coflux::environment&, std::uint16_t port) {
    auto&& here = co_await coflux::context();
    auto connection = co_await coflux::tcp_stream::connect(coflux::endpoint::loopback(port));
    constexpr std::string_view request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    co_await connection.write_all(std::as_bytes(std::span(request)));
    std::string answer;
    co_await coflux::read_to_end(here, connection, answer, 1 << 20);
    for (const std::string_view wanted : {"HTTP/1.1 200", "Content-Type: ", "coflux_executor_workers{"}) {
        const std::string line = answer.substr(answer.find(wanted));
        std::printf("%s\n", line.substr(0, line.find_first_of("\r\n")).c_str());
    }
}

int main() {
    const auto inspector = coflux::inspect::serve({.port = 0});
    pool executor{2};
    auto env = coflux::make_environment(executor);
    asks(env, inspector.port()).get();
}

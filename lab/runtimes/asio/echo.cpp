// echo: client and server as coroutines of one io_context, or of one each in two processes.
#include "echo.hpp"

#include "io.hpp"
#include "loop.hpp"

#include <boost/asio/ip/udp.hpp>
#include <boost/asio/local/datagram_protocol.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/readable_pipe.hpp>
#include <boost/asio/writable_pipe.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <unistd.h>

namespace lab {
namespace {

using harness::echo_message;
using harness::transport;

std::span<const std::byte> bytes_of(const std::array<std::byte, 64>& buffer, std::size_t size) {
    return std::span<const std::byte>(buffer).first(size);
}

template <typename Reader, typename Writer>
loop_awaitable<std::uint64_t> ask_stream(Reader& from, Writer& to, std::uint64_t rounds, harness::stopwatch& watch) {
    harness::echo_client asks;
    echo_message got{};
    watch.start();
    for (std::uint64_t i = 0; i < rounds; ++i) {
        const echo_message request = asks.next();
        co_await asio::async_write(to, asio::buffer(request), asio::deferred);
        co_await asio::async_read(from, asio::buffer(got), asio::deferred);
        asks.received(got);
    }
    watch.stop();
    co_return asks.answer();
}

template <typename Reader, typename Writer>
loop_awaitable<void> answer_stream(Reader& from, Writer& to) {
    echo_message got{};
    for (;;) {
        co_await asio::async_read(from, asio::buffer(got), asio::deferred);
        const echo_message reply = harness::echo_answer(got);
        co_await asio::async_write(to, asio::buffer(reply), asio::deferred);
    }
}

template <typename Socket>
loop_awaitable<std::uint64_t> ask_datagrams(Socket& socket, std::uint64_t rounds, harness::stopwatch& watch) {
    harness::echo_client asks;
    std::array<std::byte, 64> got{};
    watch.start();
    for (std::uint64_t i = 0; i < rounds; ++i) {
        const echo_message request = asks.next();
        co_await socket.async_send(asio::buffer(request), asio::deferred);
        const std::size_t size = co_await socket.async_receive(asio::buffer(got), asio::deferred);
        asks.received(bytes_of(got, size));
    }
    watch.stop();
    co_return asks.answer();
}

template <typename Socket>
loop_awaitable<void> answer_datagrams(Socket& socket) {
    std::array<std::byte, 64> got{};
    typename Socket::endpoint_type from;
    for (;;) {
        const std::size_t size = co_await socket.async_receive_from(asio::buffer(got), from, asio::deferred);
        const echo_message reply = harness::echo_answer(bytes_of(got, size));
        co_await socket.async_send_to(asio::buffer(reply), from, asio::deferred);
    }
}

// Where the server of a protocol is. Port 0: the kernel chooses it.
template <typename Protocol>
typename Protocol::endpoint at(const std::string& name, std::uint16_t port) {
    if constexpr (requires { typename Protocol::resolver; }) {
        (void)name;
        return {asio::ip::address_v4::loopback(), port};
    } else {
        (void)port;
        return {name};
    }
}

template <typename Socket>
std::uint16_t port_of(const Socket& socket) {
    if constexpr (requires { socket.local_endpoint().port(); }) {
        return socket.local_endpoint().port();
    } else {
        return 0;
    }
}

// A way from a client to a server. The server makes its part before the client comes, in its own process where there
// are two.
template <typename Protocol>
struct over_stream {
    explicit over_stream(const std::string& server) : name{server} {}

    std::string name;
    std::optional<asio::basic_socket_acceptor<Protocol, loop_executor>> acceptor{};
    std::optional<asio::basic_stream_socket<Protocol, loop_executor>> client{};
    std::optional<asio::basic_stream_socket<Protocol, loop_executor>> server{};

    void listen(asio::io_context& loop) { acceptor.emplace(loop, at<Protocol>(name, 0)); }
    [[nodiscard]] std::uint16_t port() const { return port_of(*acceptor); }
    loop_awaitable<void> serve(asio::io_context& loop) {
        server.emplace(loop);
        co_await acceptor->async_accept(*server, asio::deferred);
        no_delay(*server);
        co_await answer_stream(*server, *server);
    }
    loop_awaitable<void> connect(asio::io_context& loop, std::uint16_t port) {
        client.emplace(loop);
        co_await client->async_connect(at<Protocol>(name, port), asio::deferred);
        no_delay(*client);
    }
    loop_awaitable<std::uint64_t> run(std::uint64_t rounds, harness::stopwatch& watch) {
        return ask_stream(*client, *client, rounds, watch);
    }

private:
    static void no_delay(asio::basic_stream_socket<Protocol, loop_executor>& socket) {
        if constexpr (std::is_same_v<Protocol, tcp>) {
            socket.set_option(tcp::no_delay{true});
        }
    }
};

template <typename Protocol>
struct over_datagrams {
    explicit over_datagrams(const std::string& server) : name{server} {}

    std::string name;
    std::optional<asio::basic_datagram_socket<Protocol, loop_executor>> client{};
    std::optional<asio::basic_datagram_socket<Protocol, loop_executor>> server{};

    void listen(asio::io_context& loop) { server.emplace(loop, at<Protocol>(name, 0)); }
    [[nodiscard]] std::uint16_t port() const { return port_of(*server); }
    loop_awaitable<void> serve(asio::io_context&) { return answer_datagrams(*server); }
    loop_awaitable<void> connect(asio::io_context& loop, std::uint16_t port) {
        client.emplace(loop, at<Protocol>(name + "-client", 0));
        co_await client->async_connect(at<Protocol>(name, port), asio::deferred);
    }
    loop_awaitable<std::uint64_t> run(std::uint64_t rounds, harness::stopwatch& watch) {
        return ask_datagrams(*client, rounds, watch);
    }
};

// Made before there are two processes, and so in both.
struct over_pipes {
    explicit over_pipes(const std::string&) {
        if (pipe(to_server.data()) != 0 || pipe(to_client.data()) != 0) {
            throw std::runtime_error{"no pipes"};
        }
    }

    using reader = asio::basic_readable_pipe<loop_executor>;
    using writer = asio::basic_writable_pipe<loop_executor>;
    std::array<int, 2> to_server{};
    std::array<int, 2> to_client{};
    std::optional<reader> requests{};
    std::optional<writer> answers{};
    std::optional<reader> answered{};
    std::optional<writer> requested{};

    void listen(asio::io_context& loop) {
        requests.emplace(loop, to_server[0]);
        answers.emplace(loop, to_client[1]);
    }
    [[nodiscard]] static std::uint16_t port() { return 0; }
    loop_awaitable<void> serve(asio::io_context&) { return answer_stream(*requests, *answers); }
    loop_awaitable<void> connect(asio::io_context& loop, std::uint16_t) {
        answered.emplace(loop, to_client[0]);
        requested.emplace(loop, to_server[1]);
        co_return;
    }
    loop_awaitable<std::uint64_t> run(std::uint64_t rounds, harness::stopwatch& watch) {
        return ask_stream(*answered, *requested, rounds, watch);
    }
};

template <typename Way>
loop_awaitable<harness::measured> run_client(asio::io_context& loop, Way& way, std::uint16_t port,
                                             const harness::request& r) {
    co_await way.connect(loop, port);
    const std::uint64_t rounds = harness::echo_work{r}.rounds;
    harness::passes all{r};
    while (all.more()) {
        harness::stopwatch watch;
        const std::uint64_t answer = co_await way.run(rounds, watch);
        all.add(watch.result(answer));
    }
    loop.stop();
    co_return all.result();
}

template <typename Way>
harness::measured measure_over(const harness::request& r, const harness::echo_work& work) {
    const std::string name = harness::abstract_name("server");
    std::optional<Way> way;
    std::optional<harness::server_process> other;
    way.emplace(name);
    if (work.two_processes) {
        other.emplace([&way](const harness::server_process::publish& publish) {
            asio::io_context loop{1};
            way->listen(loop);
            publish(way->port());
            asio::co_spawn(loop, way->serve(loop), rethrow{});
            loop.run();
        });
    }
    asio::io_context loop{1};
    std::uint16_t port = 0;
    if (other) {
        port = other->port();
    } else {
        way->listen(loop);
        port = way->port();
        asio::co_spawn(loop, way->serve(loop), rethrow{});
    }
    auto result = asio::co_spawn(loop, run_client(loop, *way, port, r), asio::use_future);
    loop.run();
    way.reset();
    return result.get();
}

}  // namespace

harness::measured echo(const harness::request& r) {
    const harness::echo_work work{r};
    work.require_kernel("Asio");
    switch (work.over) {
    case transport::tcp: return measure_over<over_stream<tcp>>(r, work);
    case transport::udp: return measure_over<over_datagrams<asio::ip::udp>>(r, work);
    case transport::unix_stream: return measure_over<over_stream<asio::local::stream_protocol>>(r, work);
    case transport::unix_datagram: return measure_over<over_datagrams<asio::local::datagram_protocol>>(r, work);
    default: return measure_over<over_pipes>(r, work);
    }
}

}  // namespace lab

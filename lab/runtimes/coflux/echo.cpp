// echo: client and server as forks on one worker, or on one each in two processes.
// Idioms: docs/tour/00-if-you-know.md, docs/tour/01-first-program.md, docs/tour/05-io.md,
//   docs/howto/local-sockets-and-udp.md, docs/howto/tcp-server.md, examples/34_echo.cpp
#include "echo.hpp"

#include "io.hpp"

#include <coflux/coflux.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace lab {
namespace {

using coflux::borrowed;
using coflux::environment;
using harness::echo_message;
using harness::echo_size;
using harness::transport;
using worker = coflux::worker_executor;

// Streams: a connection, or a pipe for each direction.
template <typename Reader, typename Writer>
coflux::call<std::uint64_t> ask(environment&, borrowed<Reader> from, borrowed<Writer> to, std::uint64_t rounds,
                                borrowed<harness::stopwatch> watch) {
    harness::echo_client asks;
    echo_message got{};
    watch->start();
    for (std::uint64_t i = 0; i < rounds; ++i) {
        const echo_message request = asks.next();
        co_await to->write_all(std::span<const std::byte>(request));
        co_await from->read_exactly(std::span<std::byte>(got));
        asks.received(got);
    }
    watch->stop();
    co_return asks.answer();
}

template <typename Reader, typename Writer>
coflux::call<void> answer(environment&, borrowed<Reader> from, borrowed<Writer> to) {
    echo_message got{};
    for (;;) {
        co_await from->read_exactly(std::span<std::byte>(got));
        const echo_message reply = harness::echo_answer(got);
        co_await to->write_all(std::span<const std::byte>(reply));
    }
}

// Messages: the server answers to where each came from.
template <typename Socket>
coflux::call<std::uint64_t> ask(environment&, borrowed<Socket> socket, std::uint64_t rounds,
                                borrowed<harness::stopwatch> watch) {
    harness::echo_client asks;
    std::array<std::byte, 64> got{};
    watch->start();
    for (std::uint64_t i = 0; i < rounds; ++i) {
        const echo_message request = asks.next();
        co_await socket->send(std::span<const std::byte>(request));
        const std::size_t size = co_await socket->receive(got);
        asks.received(std::span<const std::byte>(got).first(size));
    }
    watch->stop();
    co_return asks.answer();
}

template <typename Socket>
coflux::call<void> answer(environment&, borrowed<Socket> socket) {
    std::array<std::byte, 64> got{};
    for (;;) {
        const auto come = co_await socket->receive_from(got);
        const echo_message reply = harness::echo_answer(std::span<const std::byte>(got).first(come.size));
        co_await socket->send_to(std::span<const std::byte>(reply), come.from);
    }
}

// A way from a client to a server. The server makes its part before the client comes, in its own process where there
// are two.
struct over_tcp {
    coflux::tcp_listener listener{};
    coflux::tcp_stream client{};
    coflux::tcp_stream server{};

    void listen() { listener = coflux::tcp_listener(coflux::endpoint::loopback(0)); }
    [[nodiscard]] std::uint16_t port() const { return listener.local_endpoint().port(); }
    coflux::call<void> connect(environment&, std::uint16_t port) {
        client = co_await coflux::tcp_stream::connect(coflux::endpoint::loopback(port));
    }
    coflux::call<void> serve(environment& here) {
        server = co_await listener.accept();
        co_await answer(here, borrowed(server), borrowed(server));
    }
    coflux::call<std::uint64_t> run(environment& here, std::uint64_t rounds, borrowed<harness::stopwatch> watch) {
        return ask(here, borrowed(client), borrowed(client), rounds, watch);
    }
};

struct over_unix {
    std::string name = harness::abstract_name("server");
    coflux::unix_listener listener{};
    coflux::unix_stream client{};
    coflux::unix_stream server{};

    void listen() { listener = coflux::unix_listener(coflux::endpoint::local(name)); }
    [[nodiscard]] std::uint16_t port() const { return 0; }
    coflux::call<void> connect(environment&, std::uint16_t) {
        client = co_await coflux::unix_stream::connect(coflux::endpoint::local(name));
    }
    coflux::call<void> serve(environment& here) {
        server = co_await listener.accept();
        co_await answer(here, borrowed(server), borrowed(server));
    }
    coflux::call<std::uint64_t> run(environment& here, std::uint64_t rounds, borrowed<harness::stopwatch> watch) {
        return ask(here, borrowed(client), borrowed(client), rounds, watch);
    }
};

template <typename Socket>
struct over_datagrams {
    static constexpr bool is_udp = std::is_same_v<Socket, coflux::udp_socket>;
    std::string server_name = harness::abstract_name("server");
    std::string client_name = harness::abstract_name("client");
    Socket client{};
    Socket server{};

    void listen() { server = Socket(is_udp ? coflux::endpoint::loopback(0) : coflux::endpoint::local(server_name)); }
    [[nodiscard]] std::uint16_t port() const { return is_udp ? server.local_endpoint().port() : std::uint16_t{0}; }
    coflux::call<void> connect(environment&, std::uint16_t port) {
        client = Socket(is_udp ? coflux::endpoint::loopback(0) : coflux::endpoint::local(client_name));
        client.connect(is_udp ? coflux::endpoint::loopback(port) : coflux::endpoint::local(server_name));
        co_return;
    }
    coflux::call<void> serve(environment& here) { return answer(here, borrowed(server)); }
    coflux::call<std::uint64_t> run(environment& here, std::uint64_t rounds, borrowed<harness::stopwatch> watch) {
        return ask(here, borrowed(client), rounds, watch);
    }
};

// Made before there are two processes, and so in both.
struct over_pipes {
    coflux::pipe_ends to_server = coflux::make_pipe();
    coflux::pipe_ends to_client = coflux::make_pipe();

    void listen() {}
    [[nodiscard]] std::uint16_t port() const { return 0; }
    coflux::call<void> connect(environment&, std::uint16_t) { co_return; }
    coflux::call<void> serve(environment& here) {
        return answer(here, borrowed(to_server.reader), borrowed(to_client.writer));
    }
    coflux::call<std::uint64_t> run(environment& here, std::uint64_t rounds, borrowed<harness::stopwatch> watch) {
        return ask(here, borrowed(to_client.reader), borrowed(to_server.writer), rounds, watch);
    }
};

template <typename Way>
coflux::fork<void, worker> server_beside(environment&, borrowed<Way> way) {
    auto&& here = co_await coflux::context();
    co_await way->serve(here);
}

template <typename Way>
coflux::task<void, worker> server_alone(environment&, borrowed<Way> way) {
    auto&& here = co_await coflux::context();
    co_await way->serve(here);
}

template <typename Way>
coflux::task<harness::measured, worker> client(environment&, borrowed<Way> way, std::uint16_t port,
                                               borrowed<const harness::request> r, bool with_server) {
    auto&& here = co_await coflux::context();
    auto inside = coflux::make_environment(here);
    if (with_server) {
        server_beside(inside, way).attach();
    }
    co_await way->connect(here, port);
    const std::uint64_t rounds = harness::echo_work{*r}.rounds;
    harness::passes all{*r};
    while (all.more()) {
        harness::stopwatch watch;
        const std::uint64_t answer = co_await way->run(here, rounds, borrowed(watch));
        all.add(watch.result(answer));
    }
    inside.request_stop();
    co_await inside.join();
    co_return all.result();
}

template <typename Way>
harness::measured measure_over(const harness::request& r, const harness::echo_work& work) {
    Way way;
    std::optional<harness::server_process> other;
    if (work.two_processes) {
        other.emplace([&way](const harness::server_process::publish& publish) {
            way.listen();
            publish(way.port());
            worker one;
            auto env = coflux::make_environment(one);
            server_alone(env, borrowed(way)).get();
        });
    } else {
        way.listen();
    }
    worker one;
    auto env = coflux::make_environment(one);
    const std::uint16_t port = other ? other->port() : way.port();
    return client(env, borrowed(way), port, borrowed(r), !other).get();
}

}  // namespace

harness::measured echo(const harness::request& r) {
    const harness::echo_work work{r};
    work.require_kernel("Coflux");
    switch (work.over) {
    case transport::tcp: return measure_over<over_tcp>(r, work);
    case transport::udp: return measure_over<over_datagrams<coflux::udp_socket>>(r, work);
    case transport::unix_stream: return measure_over<over_unix>(r, work);
    case transport::unix_datagram: return measure_over<over_datagrams<coflux::unix_datagram>>(r, work);
    default: return measure_over<over_pipes>(r, work);
    }
}

}  // namespace lab

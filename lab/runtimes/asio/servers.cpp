// Servers under the load of another process, and the clients and servers of io_socket.
#include "fairness.hpp"
#include "io.hpp"
#include "io_socket.hpp"
#include "load_client.hpp"
#include "loop.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace lab {
namespace {

// Its error as a value: a peer that closes is none.
constexpr auto with_error = asio::as_tuple(asio::deferred);

loop_awaitable<void> echo_one(tcp_socket peer) {
    std::array<std::byte, 4'096> buffer;
    for (;;) {
        const auto [ended, n] = co_await peer.async_read_some(asio::buffer(buffer), with_error);
        if (ended) {
            co_return;
        }
        co_await asio::async_write(peer, asio::buffer(buffer.data(), n), asio::deferred);
    }
}

loop_awaitable<void> answer_one(tcp_socket peer) {
    std::array<unsigned char, 1> byte{};
    const auto [ended, n] = co_await peer.async_read_some(asio::buffer(byte), with_error);
    if (n == 1) {
        ++byte[0];
        co_await asio::async_write(peer, asio::buffer(byte), with_error);
    }
}

template <loop_awaitable<void> (*Handler)(tcp_socket)>
loop_awaitable<void> server(tcp_acceptor& acceptor) {
    for (;;) {
        asio::co_spawn(acceptor.get_executor(), Handler(co_await accept_from(acceptor)), rethrow{});
    }
}

template <loop_awaitable<void> (*Handler)(tcp_socket)>
harness::measured under_load(const harness::request& r, asio::io_context& loop, unsigned workers) {
    tcp_acceptor acceptor = listen_on_loopback(loop);
    asio::co_spawn(loop, server<Handler>(acceptor), rethrow{});
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < workers; ++i) {
        threads.emplace_back([&loop] { loop.run(); });
    }
    harness::measured m;
    try {
        harness::load_client load{r, acceptor.local_endpoint().port()};
        m = harness::measure(r, [&load](harness::stopwatch& watch) { return load.pass(watch); });
    } catch (...) {
        loop.stop();
        throw;
    }
    loop.stop();
    return m;
}

loop_awaitable<void> computes(std::chrono::microseconds step) {
    for (;;) {
        harness::compute_for(step);
        co_await asio::post(asio::deferred);
    }
}

// A read at a time until the message is whole. Returns how much came before the end.
loop_awaitable<std::size_t> read_message(tcp_socket& from, std::span<std::byte> into, std::size_t whole) {
    std::size_t have = 0;
    while (have < whole) {
        const auto [error, n] =
            co_await from.async_read_some(asio::buffer(into.data() + have, into.size() - have), with_error);
        have += n;
        if (error == asio::error::eof) {
            break;
        }
        if (error) {
            throw boost::system::system_error{error};
        }
    }
    co_return have;
}

loop_awaitable<void> serve_requests(tcp_socket peer, const harness::socket_work& work) {
    harness::socket_server side{work};
    std::array<std::byte, harness::socket_work::buffer_bytes> buffer;
    for (;;) {
        const std::size_t got = co_await read_message(peer, buffer, work.request_bytes);
        if (got == 0) {
            co_return;
        }
        const auto response = side.answer(std::span<const std::byte>(buffer).first(got));
        co_await asio::async_write(peer, asio::buffer(response.data(), response.size()), asio::deferred);
    }
}

loop_awaitable<void> socket_servers(tcp_acceptor& acceptor, const harness::socket_work& work) {
    std::vector<tcp_socket> accepted;
    for (std::uint64_t i = 0; i < work.connections; ++i) {
        accepted.push_back(co_await accept_from(acceptor));
    }
    for (tcp_socket& peer : accepted) {
        asio::co_spawn(acceptor.get_executor(), serve_requests(std::move(peer), work), rethrow{});
    }
}

loop_awaitable<void> make_requests(asio::io_context& loop, tcp::endpoint to, const harness::socket_work& work,
                                   std::uint64_t& sum) {
    harness::socket_client side{work};
    std::array<std::byte, harness::socket_work::buffer_bytes> buffer;
    tcp_socket server{loop};
    co_await server.async_connect(to, asio::deferred);
    server.set_option(tcp::no_delay{true});
    for (auto request = side.next(); !request.empty(); request = side.next()) {
        co_await asio::async_write(server, asio::buffer(request.data(), request.size()), asio::deferred);
        const std::size_t got = co_await read_message(server, buffer, work.response_bytes);
        side.received(std::span<const std::byte>(buffer).first(got));
    }
    sum += side.answer();
}

}  // namespace

harness::measured echo_many(const harness::request& r) {
    harness::require_descriptors(r);
    asio::io_context loop{1};
    return under_load<echo_one>(r, loop, 1);
}

harness::measured echo_pool(const harness::request& r) {
    harness::require_descriptors(r);
    const unsigned workers = r.workers();
    asio::io_context loop{static_cast<int>(workers)};
    if (const std::chrono::microseconds step{r.integer("compute_us")}; step.count() != 0) {
        asio::co_spawn(loop, computes(step), rethrow{});
    }
    return under_load<echo_one>(r, loop, workers);
}

harness::measured accept_churn(const harness::request& r) {
    asio::io_context loop{1};
    return under_load<answer_one>(r, loop, 1);
}

harness::measured io_socket(const harness::request& r) {
    const harness::socket_work work{r};
    asio::io_context servers{1};
    asio::io_context clients{1};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        servers.restart();
        clients.restart();
        tcp_acceptor acceptor = listen_on_loopback(servers);
        asio::co_spawn(servers, socket_servers(acceptor, work), rethrow{});
        std::jthread serving{[&servers] { servers.run(); }};
        std::uint64_t sum = 0;
        watch.start();
        for (std::uint64_t i = 0; i < work.connections; ++i) {
            asio::co_spawn(clients, make_requests(clients, acceptor.local_endpoint(), work, sum), rethrow{});
        }
        std::jthread asking{[&clients] { clients.run(); }};
        asking.join();
        serving.join();
        watch.stop();
        return sum;
    });
}

}  // namespace lab

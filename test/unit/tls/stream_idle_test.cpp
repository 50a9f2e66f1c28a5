// A TLS stream between two requests.
#include <coflux/tls/stream.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <exception>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>

#include "tls_scenes.hpp"

namespace {

using namespace coflux_test;

TEST(tls_idle, waits_for_bytes_and_takes_none) {
    on_worker([](coflux::environment& here) -> coflux::call<void> {
        tls_pair p = co_await secured(here);
        EXPECT_FALSE(co_await coflux::timeout(p.far.wait_readable(here), 1ms));
        co_await p.near.write_all(here, "hello");
        for (int i = 0; i < 3; ++i) EXPECT_TRUE(co_await coflux::timeout(p.far.wait_readable(here), 10s));
        std::string got(4, ' ');
        co_await p.far.read_exactly(here, bytes_of(got));
        EXPECT_EQ(got, "hell");
        co_await p.far.wait_readable(here);  // what the session has kept
        co_await p.far.read_exactly(here, bytes_of(got).first(1));
        EXPECT_EQ(got, "oell");
        EXPECT_FALSE(co_await coflux::timeout(p.far.wait_readable(here), 1ms));
    });
}

TEST(tls_idle, ends_with_the_stream_of_the_peer) {
    on_worker([](coflux::environment& here) -> coflux::call<void> {
        tls_pair p = co_await secured(here);
        co_await p.near.shutdown_send(here);
        co_await p.far.wait_readable(here);
        std::byte one{};
        EXPECT_EQ(co_await p.far.read_some(here, std::span(&one, 1)), 0U);
        co_await p.far.wait_readable(here);
    });
}

TEST(tls_idle, tells_of_a_connection_that_is_cut) {
    on_worker([](coflux::environment& here) -> coflux::call<void> {
        tls_pair p = co_await secured(here);
        p.near.close();
        const auto got = co_await coflux::as_outcome(p.far.wait_readable(here));
        EXPECT_TRUE(got.has_error());
        EXPECT_THROW(std::rethrow_exception(got.error()), std::system_error);  // truncated, or reset
    });
}

TEST(tls_idle, is_looked_at_before_a_drain_ends_it) {
    on_worker([](coflux::environment& here) -> coflux::call<void> {
        tls_pair p = co_await secured(here);
        coflux::buffered_reader in(p.far, 4);
        coflux::manual_reset_event draining;
        const coflux::drain_token server(draining);
        draining.set();
        EXPECT_FALSE(co_await server.idle(here, p.far));
        EXPECT_FALSE(co_await server.idle(here, in));
        co_await p.near.write_all(here, "hello");
        while (!p.far.is_readable()) co_await coflux::yield();  // in the system's buffer
        EXPECT_TRUE(co_await server.idle(here, p.far));
        EXPECT_TRUE(co_await server.idle(here, in));
        std::string got(1, ' ');
        co_await in.read_exactly(here, bytes_of(got));
        EXPECT_TRUE(co_await server.idle(here, p.far));  // the session has kept the last byte
        got.resize(3);
        co_await in.read_exactly(here, bytes_of(got));
        EXPECT_EQ(got, "ell");
        co_await in.wait_readable(here);
        (void)co_await in.peek(here);
        EXPECT_FALSE(co_await server.idle(here, p.far));
        EXPECT_TRUE(co_await server.idle(here, in));  // the reader has it
    });
}

/// The bytes of a wait that is stopped at any moment are there for the read after it.
template <typename E>
coflux::fork<std::string, E> reads_after_waits(coflux::environment&, tls_stream* from, std::size_t size) {
    auto&& here = co_await coflux::context();
    std::string all;
    std::array<std::byte, 10'000> buffer{};
    for (int i = 0; all.size() < size; ++i) {
        const std::chrono::microseconds limit(10 * (i % 20) + 1);
        if (!co_await coflux::timeout(from->wait_readable(here), limit)) continue;
        const std::size_t n = co_await from->read_some(here, buffer);
        all.append(reinterpret_cast<const char*>(buffer.data()), n);
    }
    co_return all;
}
template <typename E>
coflux::task<void, E> is_stopped(coflux::environment&) {
    auto&& here = co_await coflux::context();
    tls_pair p = co_await secured(here);
    const std::string bytes = numbered(1'000'000, 5);
    auto reader = reads_after_waits<E>(here, &p.far, bytes.size());
    auto writer = writes<E>(here, &p.near, bytes);
    EXPECT_EQ(co_await std::move(reader), bytes);
    co_await std::move(writer);
}
TEST(tls_idle, loses_nothing_by_a_stop_on_a_worker) {
    get_on_worker(is_stopped<worker>);
}
TEST(tls_idle, loses_nothing_by_a_stop_on_a_pool) {
    get_on_pool(is_stopped<pool>);
}

coflux::task<coflux::serve_report, worker> serves(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));
    auto handler = [](coflux::environment&, coflux::tcp_stream socket,
                      coflux::drain_token server) -> coflux::call<void> {
        auto&& self = co_await coflux::context();
        tls_stream peer(localhost_server(), std::move(socket));
        co_await peer.handshake(self);
        std::array<std::byte, 100> buffer{};
        while (co_await server.idle(self, peer)) {
            const std::size_t n = co_await peer.read_some(self, buffer);
            if (n == 0) break;
            co_await peer.write_all(self, std::span(buffer).first(n));
        }
        (void)co_await peer.shutdown(self, late());
    };
    auto inside = coflux::make_environment(here);
    const coflux::endpoint where = listener.local_endpoint();
    auto running = [](coflux::environment&, coflux::tcp_listener* at,
                      decltype(handler) f) -> coflux::fork<coflux::serve_report, worker> {
        auto&& self = co_await coflux::context();
        co_return co_await coflux::serve(self, *at, f);
    }(inside, &listener, handler);
    tls_stream client(trusting_client(), co_await coflux::tcp_stream::connect(where), "localhost");
    co_await client.handshake(here);
    for (const char* const text : {"one", "two"}) {
        std::string got(3, ' ');
        co_await client.write_all(here, text);
        co_await client.read_exactly(here, bytes_of(got));
        EXPECT_EQ(got, text);
    }
    inside.request_stop();
    EXPECT_TRUE(co_await client.shutdown(here, late()));  // the server, which is idle, has said its end
    coflux::serve_report report = co_await std::move(running);
    co_await inside.join();
    co_return report;
}
TEST(tls_idle, lets_a_server_drain_between_two_requests) {
    worker w;
    auto env = coflux::make_environment(w);
    const coflux::serve_report report = serves(env).get();
    EXPECT_EQ(report.served, 1U);
    EXPECT_EQ(report.cut, 0U);
}

}  // namespace

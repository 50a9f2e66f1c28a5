// Streams that are stopped at each step, and peers that hang up after each byte, on a simulated network.
#include <coflux/tls/stream.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/testing/chooser.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/sim_network.hpp>
#include <coflux/testing/simulation.hpp>

#include "tls_scenes.hpp"

namespace {

using namespace coflux_test;
using sim = coflux::testing::sim_executor;
using coflux::tcp_stream;

coflux::fork<void, sim> shakes_hands(coflux::environment&, tls_stream* s) {
    auto&& here = co_await coflux::context();
    co_await s->handshake(here);
}
coflux::fork<std::string, sim> reads_to_the_end(coflux::environment&, tls_stream* from) {
    auto&& here = co_await coflux::context();
    std::string all;
    std::array<std::byte, 1000> buffer{};
    while (const std::size_t n = co_await from->read_some(here, buffer))
        all.append(reinterpret_cast<const char*>(buffer.data()), n);
    co_return all;
}
/// Both handshakes, or one, are stopped after so many steps; then a writer is.
coflux::task<void, sim> stopped_after(coflux::environment&, int steps) {
    auto&& here = co_await coflux::context();
    tls_pair p = co_await paired(here, trusting_client(), localhost_server(), "localhost");
    auto client = shakes_hands(here, &p.near);
    auto server = shakes_hands(here, &p.far);
    for (int i = 0; i < steps; ++i) co_await coflux::yield();
    client.request_stop();
    if (steps % 2 == 0) server.request_stop();
    (void)co_await coflux::as_outcome(std::move(client));
    auto again = shakes_hands(here, &p.near);
    (void)co_await coflux::as_outcome(std::move(server));
    co_await p.far.handshake(here);
    co_await std::move(again);
    const std::string text = numbered(60'000, 9);
    auto writer = writes<sim>(here, &p.near, text);
    auto reader = reads_to_the_end(here, &p.far);
    for (int i = 0; i < steps; ++i) co_await coflux::yield();
    writer.request_stop();
    (void)co_await coflux::as_outcome(std::move(writer));
    co_await p.near.shutdown_send(here);
    const std::string got = co_await std::move(reader);
    EXPECT_TRUE(got == text.substr(0, got.size()));
    const auto [near, far] = co_await coflux::when_all(p.near.shutdown(here, late()), p.far.shutdown(here, late()));
    EXPECT_TRUE(near);
    EXPECT_TRUE(far);
}
TEST(tls_hostile, goes_on_from_a_stop_after_each_step) {
    for (int steps = 0; steps != 120; ++steps) {
        coflux::testing::random_chooser decides(static_cast<std::uint64_t>(steps) + 1);
        coflux::testing::simulation world(decides);
        const coflux::testing::sim_network net(world, {.buffer = 1000});
        sim on(world);
        auto env = coflux::make_environment(on);
        stopped_after(env, steps).get();
    }
}

/// Passes bytes on one by one, and hangs up behind so many.
coflux::fork<void, sim> passes_on(coflux::environment&, tcp_stream* from, tcp_stream* to, std::size_t* left) {
    std::array<std::byte, 1> one{};
    try {
        while (*left != 0 && co_await from->read_some(one) != 0) {
            co_await to->write_all(one);
            if (*left != 0) --*left;
        }
    } catch (const std::system_error&) {  // hung up already
    }
    *left = 0;
    for (tcp_stream* s : {from, to}) {
        try {
            s->shutdown_send();
        } catch (const std::system_error&) {  // it has gone
        }
    }
}
coflux::fork<bool, sim> fails_or_talks(coflux::environment&, tls_stream* s) {
    auto&& here = co_await coflux::context();
    try {
        co_await s->handshake(here);
        co_await s->write_all(here, "hello");
        std::array<std::byte, 100> buffer{};
        while (co_await s->read_some(here, buffer) != 0) {}
    } catch (const std::system_error&) {
        co_return false;
    }
    co_return true;
}
coflux::task<void, sim> hangs_up_after(coflux::environment&, std::size_t bytes) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));
    auto a = co_await tcp_stream::connect(listener.local_endpoint());
    tls_stream server(localhost_server(), co_await listener.accept());
    auto b = co_await tcp_stream::connect(listener.local_endpoint());
    tls_stream client(trusting_client(), co_await listener.accept(), "localhost");
    std::size_t left = bytes;
    auto there = passes_on(here, &b, &a, &left);
    auto back = passes_on(here, &a, &b, &left);
    auto one = fails_or_talks(here, &client);
    auto two = fails_or_talks(here, &server);
    EXPECT_FALSE(co_await std::move(one));
    EXPECT_FALSE(co_await std::move(two));
    client.close();
    server.close();
    co_await coflux::when_all(std::move(there), std::move(back));
}
TEST(tls_hostile, fails_where_the_peer_hangs_up_after_each_byte) {
    // A handshake and what follows are some more bytes.
    for (std::size_t bytes = 0; bytes < 1400; bytes += bytes < 30 ? 1 : 61) {
        coflux::testing::fifo_chooser decides;
        coflux::testing::simulation world(decides);
        const coflux::testing::sim_network net(world);
        sim on(world);
        auto env = coflux::make_environment(on);
        hangs_up_after(env, bytes).get();
    }
}

}  // namespace

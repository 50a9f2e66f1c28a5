// TLS streams on a simulated network: short moves, and sockets that are full.
#include <coflux/tls/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
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

coflux::task<void, sim> talks(coflux::environment&, std::size_t size) {
    auto&& here = co_await coflux::context();
    tls_pair p = co_await secured(here);
    const std::string there = numbered(size, 1);
    const std::string back = numbered(size, 2);
    auto w1 = writes<sim>(here, &p.near, there);
    auto w2 = writes<sim>(here, &p.far, back);
    auto r1 = reads<sim>(here, &p.far, size);
    auto r2 = reads<sim>(here, &p.near, size);
    EXPECT_TRUE(co_await std::move(r1) == there);
    EXPECT_TRUE(co_await std::move(r2) == back);
    co_await coflux::when_all(std::move(w1), std::move(w2));
    const auto [near, far] = co_await coflux::when_all(p.near.shutdown(here, late()), p.far.shutdown(here, late()));
    EXPECT_TRUE(near);
    EXPECT_TRUE(far);
}
TEST(tls_network, carries_bytes_both_ways_however_few_a_call_moves) {
    for (std::uint64_t seed = 1; seed != 30; ++seed) {
        coflux::testing::random_chooser decides(seed);
        coflux::testing::simulation world(decides);
        const coflux::testing::sim_network net(world, {.buffer = 700});
        sim on(world);
        auto env = coflux::make_environment(on);
        talks(env, 20'000).get();
    }
}

coflux::fork<void, sim> shakes(coflux::environment&, tls_stream* s) {
    auto&& here = co_await coflux::context();
    co_await s->handshake(here);
}
coflux::task<void, sim> refuses(coflux::environment&) {
    auto&& here = co_await coflux::context();
    tls_pair p = co_await paired(here, trusting_client(), localhost_server(), "example.org");
    auto server = shakes(here, &p.far);
    EXPECT_THROW(co_await p.near.handshake(here), coflux::tls_error);
    std::string told;
    try {
        co_await std::move(server);
    } catch (const coflux::tls_error& e) {
        told = e.what();
    }
    expect_in(told, "alert");
}
TEST(tls_network, tells_its_peer_why_it_refuses_it) {
    coflux::testing::fifo_chooser decides;
    coflux::testing::simulation world(decides);
    const coflux::testing::sim_network net(world);
    sim on(world);
    auto env = coflux::make_environment(on);
    refuses(env).get();
}

/// A writer is stopped with a full socket, so ciphertext is left; then the peer reads it all before it says something.
coflux::task<void, sim> leaves_some(coflux::environment&) {
    auto&& here = co_await coflux::context();
    tls_pair p = co_await secured(here);
    const std::string bytes = numbered(100'000, 3);
    EXPECT_FALSE(co_await coflux::timeout(writes<sim>(here, &p.near, bytes), 1s));
    auto waits = reads<sim>(here, &p.near, 4);
    co_await 1s;
    const std::string got = co_await reads<sim>(here, &p.far, 2 * 16'384);  // what a stream holds
    EXPECT_TRUE(got == bytes.substr(0, got.size()));
    co_await p.far.write_all(here, "four");
    EXPECT_EQ(co_await std::move(waits), "four");
}
TEST(tls_network, sends_what_a_stopped_writer_left_while_a_reader_waits) {
    for (std::uint64_t seed = 1; seed != 30; ++seed) {
        coflux::testing::random_chooser decides(seed);
        coflux::testing::simulation world(decides);
        const coflux::testing::sim_network net(world, {.buffer = 4096});
        sim on(world);
        auto env = coflux::make_environment(on);
        leaves_some(env).get();
    }
}

}  // namespace

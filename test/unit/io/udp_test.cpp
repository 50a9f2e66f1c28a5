#include <coflux/io/udp.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"
#include "simulated.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::endpoint;
using coflux::udp_socket;
using coflux_test::on_a_worker;
using coflux_test::open_descriptors;
using pool = coflux::thread_pool_executor;
using worker = coflux::worker_executor;
using simulated = coflux::testing::sim_executor;

template <typename E>
coflux::fork<void, E> answers(coflux::environment&, udp_socket* at, int times) {
    std::array<std::byte, 100> into{};
    for (int i = 0; i < times; ++i) {
        const auto got = co_await at->receive_from(into);
        co_await at->send_to(std::span(into).first(got.size), got.from);
    }
}
template <typename E>
coflux::task<void, E> asks(coflux::environment&, int times) {
    auto&& here = co_await coflux::context();
    udp_socket server(endpoint::loopback(0));
    auto answerer = answers<E>(here, &server, times);
    udp_socket client(endpoint::any(0));
    std::array<std::byte, 100> into{};
    for (int i = 0; i < times; ++i) {
        co_await client.send_to("question", server.local_endpoint());
        const auto got = co_await client.receive_from(into);
        EXPECT_EQ(got.size, 8U);
        EXPECT_EQ(got.from, server.local_endpoint());
    }
    co_await std::move(answerer);
}
TEST(udp_socket, tells_the_sender_who_is_answered) {
    on_a_worker([](coflux::environment& env) { return asks<worker>(env, 100); });
    coflux_test::in_simulations([](coflux::environment& env) { return asks<simulated>(env, 10); });
    pool on{2};
    auto env = coflux::make_environment(on);
    asks<pool>(env, 100).get();
    const std::size_t before = open_descriptors();
    for (int i = 0; i < 10; ++i) asks<pool>(env, 1).get();
    EXPECT_LE(open_descriptors(), before + 5);  // the pool's event source and alarm
}

template <typename E>
coflux::task<void, E> connects(coflux::environment&) {
    udp_socket a(endpoint::loopback(0));
    udp_socket b(endpoint::loopback(0));
    udp_socket stranger(endpoint::loopback(0));
    std::array<std::byte, 8> into{};
    const auto nowhere = co_await coflux::as_result(a.send("x"));
    EXPECT_EQ(nowhere.error(), std::errc::destination_address_required);
    a.connect(b.local_endpoint());
    co_await a.send("x");
    const auto got = co_await b.receive_from(into);
    EXPECT_EQ(got.from, a.local_endpoint());
    co_await stranger.send_to("no", a.local_endpoint());
    EXPECT_FALSE(co_await coflux::timeout(a.receive(into), 2ms));

    // None listens any more: an error of the next operation, and the socket goes on.
    b.close();
    co_await a.send("y");
    const auto refused = co_await coflux::as_result(a.receive(into));
    EXPECT_EQ(refused.error(), std::errc::connection_refused);
    a.connect(stranger.local_endpoint());
    co_await stranger.send_to("yes", a.local_endpoint());
    EXPECT_EQ(co_await a.receive(into), 3U);
}
TEST(udp_socket, that_is_connected_hears_its_peer_alone) {
    on_a_worker(connects<worker>);
    coflux_test::in_simulations(connects<simulated>);
}

template <typename E>
coflux::task<void, E> tells_errors(coflux::environment&) {
    udp_socket a(endpoint::loopback(0));
    const std::string long_one(70'000, 'x');
    try {
        co_await a.send_to(long_one, a.local_endpoint());
        ADD_FAILURE();
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::message_size);
        EXPECT_NE(std::string(e.what()).find("send to 127.0.0.1"), std::string::npos);
    }
    EXPECT_THROW(udp_socket{a.local_endpoint()}, std::system_error);
    EXPECT_THROW(udp_socket{endpoint()}, std::system_error);
    EXPECT_THROW(a.connect(endpoint::local("/nowhere")), std::system_error);
    EXPECT_THROW(a.connect(endpoint()), std::system_error);
    EXPECT_THROW(a.join_group(endpoint::loopback(0)), std::system_error);
    EXPECT_THROW(a.leave_group(endpoint::ip("239.1.2.3", 0)), std::system_error);
    const auto forbidden = co_await coflux::as_result(a.send_to("x", endpoint::ip("255.255.255.255", 9)));
    EXPECT_FALSE(forbidden);
}
TEST(udp_socket, tells_errors) {
    on_a_worker(tells_errors<worker>);
    coflux_test::in_simulations(tells_errors<simulated>);
}

template <typename E>
coflux::task<void, E> shares_a_port(coflux::environment&) {
    const udp_socket a(endpoint::loopback(0), {.shared_port = true, .broadcast = true});
    const udp_socket b(a.local_endpoint(), {.shared_port = true});
    EXPECT_EQ(a.local_endpoint(), b.local_endpoint());
    co_return;
}
TEST(udp_socket, shares_its_port_where_both_say_so) {
    on_a_worker(shares_a_port<worker>);
    coflux_test::in_simulations(shares_a_port<simulated>);
}

template <typename E>
coflux::task<void, E> joins(coflux::environment&) {
    udp_socket member(endpoint::any(0));
    const auto group = endpoint::ip("239.255.41.7", member.local_endpoint().port());
    try {
        member.join_group(group);
    } catch (const std::system_error&) {
        co_return;  // a machine without an interface for groups
    }
    member.leave_group(group);
    member.join_group(group);
}
TEST(udp_socket, joins_and_leaves_a_group) {
    on_a_worker(joins<worker>);
    coflux_test::in_simulations(joins<simulated>);
}

}  // namespace

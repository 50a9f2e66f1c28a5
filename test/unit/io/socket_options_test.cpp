// Options of sockets: what the system says of them afterwards, and where a connection comes from.
#include <coflux/io/socket_options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/sim_network.hpp>

#include "connected.hpp"
#include "simulated.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::endpoint;
using coflux::environment;
using coflux::socket_options;
using coflux::tcp_listener;
using coflux::tcp_stream;
using coflux::udp_socket;
using coflux_test::on_a_worker;
using coflux_test::open_descriptors;
using coflux_test::own_loopback;
using worker = coflux::worker_executor;
using simulated = coflux::testing::sim_executor;
template <typename E>
using task = coflux::task<void, E>;

int option(int descriptor, int level, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    EXPECT_EQ(getsockopt(descriptor, level, name, &value, &size), 0);
    return value;
}
constexpr coflux::keep_alive_times times{.idle = 77s, .interval = 5s, .count = 3};
void expect_keep_alive(int descriptor) {
    EXPECT_EQ(option(descriptor, SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_EQ(option(descriptor, IPPROTO_TCP, TCP_KEEPIDLE), 77);
    EXPECT_EQ(option(descriptor, IPPROTO_TCP, TCP_KEEPINTVL), 5);
    EXPECT_EQ(option(descriptor, IPPROTO_TCP, TCP_KEEPCNT), 3);
}

task<worker> has_the_options_of_its_connect(environment&) {
    tcp_listener listener(own_loopback());
    const auto to = listener.local_endpoint();
    tcp_stream plain = co_await tcp_stream::connect(to);
    EXPECT_EQ(option(plain.native_handle(), IPPROTO_TCP, TCP_NODELAY), 1);
    EXPECT_EQ(option(plain.native_handle(), SOL_SOCKET, SO_KEEPALIVE), 0);

    const socket_options all{
        .no_delay = false, .keep_alive = times, .send_buffer = 50'000, .receive_buffer = 60'000, .dscp = 46};
    tcp_stream s = co_await tcp_stream::connect(to, {.socket = all});
    EXPECT_EQ(option(s.native_handle(), IPPROTO_TCP, TCP_NODELAY), 0);
    expect_keep_alive(s.native_handle());
    EXPECT_EQ(option(s.native_handle(), SOL_SOCKET, SO_SNDBUF), 2 * 50'000);
    EXPECT_EQ(option(s.native_handle(), SOL_SOCKET, SO_RCVBUF), 2 * 60'000);
    EXPECT_EQ(option(s.native_handle(), IPPROTO_IP, IP_TOS) >> 2, 46);

    s.set_options({.no_delay = true, .keep_alive = coflux::keep_alive_times{.count = 0}, .dscp = 0});
    EXPECT_EQ(option(s.native_handle(), IPPROTO_TCP, TCP_NODELAY), 1);
    EXPECT_EQ(option(s.native_handle(), SOL_SOCKET, SO_KEEPALIVE), 0);
    EXPECT_EQ(option(s.native_handle(), IPPROTO_IP, IP_TOS) >> 2, 0);
    EXPECT_EQ(option(s.native_handle(), SOL_SOCKET, SO_SNDBUF), 2 * 50'000) << "what is not said stays";
}
TEST(socket_options, are_what_the_system_says_of_a_connection) {
    on_a_worker(has_the_options_of_its_connect);
}

task<worker> gives_its_options_to_connections(environment&) {
    tcp_listener listener(own_loopback(), {.socket = {.keep_alive = times, .receive_buffer = 60'000}});
    tcp_stream near = co_await tcp_stream::connect(listener.local_endpoint());
    tcp_stream far = co_await listener.accept();
    expect_keep_alive(far.native_handle());
    EXPECT_EQ(option(far.native_handle(), SOL_SOCKET, SO_RCVBUF), 2 * 60'000);
    EXPECT_EQ(option(far.native_handle(), IPPROTO_TCP, TCP_NODELAY), 1);
    EXPECT_THROW(tcp_listener(own_loopback(), {.socket = {.no_delay = true}}), std::invalid_argument);
}
TEST(socket_options, of_a_listener_are_those_of_its_connections) {
    on_a_worker(gives_its_options_to_connections);
}

TEST(socket_options, of_a_udp_socket_are_its_buffers_and_its_traffic_class) {
    const udp_socket s(endpoint::loopback(0), {.socket = {.send_buffer = 50'000, .receive_buffer = 60'000, .dscp = 8}});
    EXPECT_EQ(option(s.native_handle(), SOL_SOCKET, SO_SNDBUF), 2 * 50'000);
    EXPECT_EQ(option(s.native_handle(), SOL_SOCKET, SO_RCVBUF), 2 * 60'000);
    EXPECT_EQ(option(s.native_handle(), IPPROTO_IP, IP_TOS) >> 2, 8);
    try {
        const udp_socket none(endpoint::loopback(0), {.socket = {.keep_alive = times}});
        ADD_FAILURE() << "no error";
    } catch (const std::system_error& e) {
        EXPECT_NE(std::string(e.what()).find("set the keep-alive"), std::string::npos) << e.what();
    }
}

/// A machine may have no IPv6.
bool has_v6() {
    const int s = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s < 0) return false;
    const endpoint at = endpoint::loopback_v6(0);
    const bool can = ::bind(s, static_cast<const sockaddr*>(at.data()), static_cast<socklen_t>(at.size())) == 0;
    coflux::owned_descriptor closes(s);
    return can;
}
task<worker> speaks_both(environment&) {
    tcp_listener listener(endpoint::any_v6(0), {.socket = {.dscp = 10}});
    const auto port = listener.local_endpoint().port();
    tcp_stream six = co_await tcp_stream::connect(endpoint::loopback_v6(port), {.socket = {.dscp = 46}});
    EXPECT_EQ(option(six.native_handle(), IPPROTO_IPV6, IPV6_TCLASS) >> 2, 46);
    tcp_stream far = co_await listener.accept();
    EXPECT_EQ(far.peer_endpoint(), six.local_endpoint());
}
TEST(socket_options, have_a_traffic_class_over_ipv6) {
    if (!has_v6()) GTEST_SKIP() << "no IPv6 here";
    on_a_worker(speaks_both);
}

task<worker> refuses_what_is_out_of_bounds(environment&) {
    tcp_listener listener(own_loopback());
    tcp_stream s = co_await tcp_stream::connect(listener.local_endpoint());
    EXPECT_THROW(s.set_options({.dscp = 64}), std::invalid_argument);
    EXPECT_THROW(s.set_options({.send_buffer = 0}), std::invalid_argument);
    EXPECT_THROW(s.set_options({.receive_buffer = std::size_t{1} << 40}), std::invalid_argument);
    EXPECT_THROW(s.set_options({.keep_alive = coflux::keep_alive_times{.idle = 0s}}), std::invalid_argument);
    EXPECT_THROW(s.set_options({.keep_alive = coflux::keep_alive_times{.interval = -5s}}), std::invalid_argument);
    EXPECT_THROW(s.set_options({.keep_alive = coflux::keep_alive_times{.count = 128}}), std::invalid_argument);
    EXPECT_THROW((void)co_await tcp_stream::connect(listener.local_endpoint(), {.socket = {.dscp = 64}}),
                 std::invalid_argument);
    const auto told = [](auto sets) {
        try {
            sets();
        } catch (const std::invalid_argument& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    EXPECT_EQ(told([&] { s.set_options({.dscp = 99}); }), "coflux: dscp of a socket is 99, and may be 0 to 63");
    EXPECT_EQ(told([&] { s.set_options({.keep_alive = coflux::keep_alive_times{.idle = -1s}}); }),
              "coflux: keep_alive_times::idle of a socket is -1, and may be 1 to 32767");
    EXPECT_EQ(told([] { const tcp_listener none(own_loopback(), {.backlog = -1}); }),
              "coflux: backlog of a socket is -1, and may be 0 to 2147483647");
    EXPECT_EQ(
        told([] { const coflux::unix_listener none(endpoint::local(std::string_view("\0none", 5)), {.backlog = -2}); }),
        "coflux: backlog of a socket is -2, and may be 0 to 2147483647");
}
TEST(socket_options, outside_of_their_bounds_are_named) {
    on_a_worker(refuses_what_is_out_of_bounds);
}

// --- where from ------------------------------------------------------------------------------------------------------

task<worker> comes_from_where_it_says(environment&) {
    tcp_listener listener(own_loopback());
    const auto to = listener.local_endpoint();
    tcp_stream first = co_await tcp_stream::connect(to, {.from = endpoint::ip("127.200.0.9", 0)});
    tcp_stream of_first = co_await listener.accept();
    EXPECT_EQ(of_first.peer_endpoint(), first.local_endpoint());
    const auto port = first.local_endpoint().port();
    EXPECT_EQ(first.local_endpoint(), endpoint::ip("127.200.0.9", port));
    const auto limited =
        co_await coflux::timeout(tcp_stream::connect(to, {.from = endpoint::ip("127.200.0.8", 0)}), 1h);
    EXPECT_TRUE(limited.has_value());
    tcp_stream of_limited = co_await listener.accept();
    EXPECT_EQ(of_limited.peer_endpoint(), limited->local_endpoint());
    // The same port again, also right after.
    first.reset();
    const endpoint again = endpoint::ip("127.200.0.9", port);
    tcp_stream second = co_await tcp_stream::connect(to, {.from = again});
    tcp_stream of_second = co_await listener.accept();
    EXPECT_EQ(of_second.peer_endpoint(), again);
}
TEST(connect_from, an_address_and_a_port_is_what_the_peer_sees) {
    on_a_worker(comes_from_where_it_says);
}

task<worker> cannot_come_from_elsewhere(environment&) {
    tcp_listener listener(own_loopback());
    const auto to = listener.local_endpoint();
    try {
        (void)co_await tcp_stream::connect(to, {.from = endpoint::ip("192.0.2.1", 0)});
        ADD_FAILURE() << "no error";
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::address_not_available);
        EXPECT_NE(std::string(e.what()).find("connect from 192.0.2.1:0 to " + to.to_string()), std::string::npos)
            << e.what();
    }
    const auto as_value = co_await coflux::as_result(tcp_stream::connect(to, {.from = endpoint::ip("192.0.2.1", 0)}));
    EXPECT_EQ(as_value.error(), std::errc::address_not_available);
    EXPECT_THROW((void)co_await tcp_stream::connect(to, {.from = endpoint::loopback_v6(0)}), std::system_error);
}
TEST(connect_from, an_address_of_another_machine_is_an_error_that_names_it) {
    const std::size_t before = open_descriptors();
    on_a_worker(cannot_come_from_elsewhere);
    EXPECT_LE(open_descriptors(), before);
}

task<worker> resolves_and_comes_from_there(environment&) {
    auto&& here = co_await coflux::context();
    tcp_listener listener(own_loopback());
    const auto at = listener.local_endpoint();
    coflux::resolver names({.look_up = [at](const std::string&, coflux::address_family) { return std::vector{at}; }});
    tcp_stream s =
        co_await coflux::connect_to(here, names, "a.host", at.port(),
                                    {.tcp = {.from = endpoint::ip("127.200.0.9", 0), .socket = {.keep_alive = times}}});
    tcp_stream far = co_await listener.accept();
    EXPECT_EQ(far.peer_endpoint(), endpoint::ip("127.200.0.9", far.peer_endpoint().port()));
    expect_keep_alive(s.native_handle());
}
TEST(connect_from, is_an_option_of_connect_to) {
    on_a_worker(resolves_and_comes_from_there);
}

task<simulated> comes_from_a_port(environment&) {
    tcp_listener listener(endpoint::loopback(0), {.socket = {.keep_alive = times}});
    const endpoint from = endpoint::ip("127.0.0.1", 5000);
    tcp_stream s = co_await tcp_stream::connect(listener.local_endpoint(), {.from = from, .socket = {.dscp = 46}});
    tcp_stream far = co_await listener.accept();
    EXPECT_EQ(far.peer_endpoint(), from);
    EXPECT_EQ(s.local_endpoint(), from);
    s.set_options({.no_delay = false});
    const auto elsewhere = co_await coflux::as_result(
        tcp_stream::connect(listener.local_endpoint(), {.from = endpoint::ip("10.9.9.9", 0)}));
    EXPECT_EQ(elsewhere.error(), std::errc::address_not_available);
}
TEST(connect_from, an_address_is_what_the_peer_sees_in_a_simulation) {
    coflux_test::in_simulations(comes_from_a_port);
}

}  // namespace

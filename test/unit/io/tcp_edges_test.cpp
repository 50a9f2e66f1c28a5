// Events of a network that a program hopes not to see.
#include <coflux/io/tcp.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/sim_network.hpp>

#include "connected.hpp"
#include "simulated.hpp"
#include "support/cpu_clock.hpp"
#include "support/witness.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::endpoint;
using coflux::tcp_listener;
using coflux::tcp_stream;
using coflux_test::bytes_of;
using coflux_test::connected;
using coflux_test::on_a_worker;
using coflux_test::open_descriptors;
using worker = coflux::worker_executor;
using simulated = coflux::testing::sim_executor;

template <typename E>
coflux::fork<void, E> echoes(coflux::environment&, tcp_stream peer) {
    std::array<std::byte, 64> buffer{};
    while (const std::size_t n = co_await peer.read_some(buffer)) co_await peer.write_all(std::span(buffer).first(n));
}
template <typename E>
coflux::fork<void, E> serves(coflux::environment&, tcp_listener* at, int connections) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < connections; ++i) echoes<E>(here, co_await at->accept()).attach();
}
template <typename E>
coflux::fork<bool, E> asks(coflux::environment&, endpoint where) {
    tcp_stream peer = co_await tcp_stream::connect(where);
    co_await peer.write_all("hello");
    std::string got(5, ' ');
    co_await peer.read_exactly(bytes_of(got));
    co_return got == "hello";
}

template <typename E>
coflux::task<void, E> ends_one_way_at_a_time(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    std::string two(2, ' ');
    std::byte one{};
    p.near.shutdown_send();
    EXPECT_EQ(co_await p.far.read_some(std::span(&one, 1)), 0U);
    co_await p.far.write_all("ab");
    co_await p.near.read_exactly(bytes_of(two));
    EXPECT_EQ(two, "ab");
    EXPECT_EQ(co_await p.far.read_some(std::span(&one, 1)), 0U);  // still
    p.far.shutdown_send();
    co_await p.near.wait_readable();
    EXPECT_EQ(co_await p.near.read_some(std::span(&one, 1)), 0U);
}
TEST(tcp_edges, each_side_ends_its_own_way_first) {
    on_a_worker(ends_one_way_at_a_time<worker>);
    coflux_test::in_simulations(ends_one_way_at_a_time<simulated>);
}

template <typename E>
coflux::fork<std::error_code, E> reads_until_error(coflux::environment&, tcp_stream* from) {
    std::byte one{};
    const auto got = co_await coflux::as_result(from->read_some(std::span(&one, 1)));
    co_return got.error();
}
template <typename E>
coflux::task<void, E> is_cut_off(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    auto waits = reads_until_error<E>(here, &p.near);
    co_await coflux::this_coroutine::yield();
    p.far.reset();
    EXPECT_FALSE(p.far.is_open());
    EXPECT_EQ(co_await std::move(waits), std::errc::connection_reset);
    // No SIGPIPE: an error.
    const auto sent = co_await coflux::as_result(p.near.write_all("x"));
    EXPECT_EQ(sent.error(), std::errc::broken_pipe);
}
TEST(tcp_edges, a_reset_is_an_error_of_the_read_that_waits_and_never_a_signal) {
    on_a_worker(is_cut_off<worker>);
    coflux_test::in_simulations(is_cut_off<simulated>);
}

template <typename E>
coflux::fork<void, E> drips(coflux::environment&, tcp_stream* to, std::string text) {
    for (const char& c : text) {
        co_await to->write_all(std::string_view(&c, 1));
        co_await coflux::this_coroutine::yield();
    }
}
template <typename E>
coflux::task<void, E> gathers(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    const std::string text = "byte by byte comes what was to be a message";
    auto drip = drips<E>(here, &p.far, text);
    std::string got(text.size(), ' ');
    co_await p.near.read_exactly(bytes_of(got));
    EXPECT_EQ(got, text);
    co_await std::move(drip);
}
TEST(tcp_edges, a_peer_may_send_one_byte_at_a_time) {
    on_a_worker(gathers<worker>);
    coflux_test::in_simulations(gathers<simulated>);
}

template <typename E>
coflux::task<void, E> connects_and_closes(coflux::environment&, int times) {
    auto&& here = co_await coflux::context();
    tcp_listener listener(endpoint::loopback(0));
    auto server = serves<E>(here, &listener, times);
    for (int i = 0; i < times; ++i) {
        EXPECT_TRUE(co_await asks<E>(here, listener.local_endpoint()));
    }
    co_await std::move(server);
}
TEST(tcp_edges, a_thousand_connections_leave_no_descriptor) {
    worker on;
    auto env = coflux::make_environment(on);
    connects_and_closes<worker>(env, 1).get();
    const std::size_t before = open_descriptors();
    connects_and_closes<worker>(env, 1000).get();
    EXPECT_LE(open_descriptors(), before);
    coflux_test::in_simulations([](coflux::environment& in) { return connects_and_closes<simulated>(in, 30); });
}

template <typename E>
coflux::task<void, E> many_at_once(coflux::environment&, int clients) {
    auto&& here = co_await coflux::context();
    tcp_listener listener(endpoint::loopback(0));
    auto server = serves<E>(here, &listener, clients);
    std::vector<coflux::fork<bool, E>> all;
    for (int i = 0; i < clients; ++i) all.push_back(asks<E>(here, listener.local_endpoint()));
    int right = 0;
    for (const bool is_right : co_await coflux::when_all(std::move(all))) right += is_right ? 1 : 0;
    EXPECT_EQ(right, clients);
    co_await std::move(server);
}
TEST(tcp_edges, two_hundred_connections_are_open_at_once) {
    worker on;
    auto env = coflux::make_environment(on);
    many_at_once<worker>(env, 200).get();
    coflux_test::in_simulations([](coflux::environment& in) { return many_at_once<simulated>(in, 50); });
}

coflux::task<void, worker> connects_to_no_endpoint(coflux::environment&) {
    const endpoint nowhere;
    const auto refused = co_await coflux::as_result(tcp_stream::connect(nowhere));
    EXPECT_EQ(refused.error(), std::errc::address_family_not_supported);
    std::string text;
    try {
        (void)co_await tcp_stream::connect(nowhere);
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::address_family_not_supported);
        text = e.what();
    }
    EXPECT_EQ(text.find("coflux: open a socket to connect to " + nowhere.to_string()), 0U) << text;
    EXPECT_THROW((void)co_await coflux::timeout(tcp_stream::connect(nowhere), 1h), std::system_error);
}
TEST(tcp_edges, where_the_system_makes_no_socket_the_error_is_that_of_the_await) {
    const std::size_t before = open_descriptors();
    on_a_worker(connects_to_no_endpoint);
    EXPECT_LE(open_descriptors(), before);
}

coflux::task<bool, worker> connects_without_descriptors(coflux::environment&) {
    tcp_listener listener(endpoint::loopback(0));
    const endpoint to = listener.local_endpoint();
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    rlimit tight = limit;
    tight.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &tight);
    const auto refused = co_await coflux::as_result(tcp_stream::connect(to));
    setrlimit(RLIMIT_NOFILE, &limit);  // UBSan needs descriptors for its checks
    co_return refused.error() == std::errc::too_many_files_open;
}
TEST(tcp_edges_death, a_process_without_descriptors_gets_the_error_of_a_connect_as_a_result) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto child = [] {
        worker on;
        auto env = coflux::make_environment(on);
        std::_Exit(connects_without_descriptors(env).get() ? 7 : 1);
    };
    EXPECT_EXIT(child(), testing::ExitedWithCode(7), "");
}

coflux::task<bool, worker> runs_out_of_descriptors(coflux::environment&) {
    tcp_listener listener(endpoint::loopback(0));
    tcp_stream near = co_await tcp_stream::connect(listener.local_endpoint());
    // The event source is made before none is left.
    tcp_stream first = co_await listener.accept();
    std::byte one{};
    (void)co_await coflux::timeout(first.read_some(std::span(&one, 1)), 1ms);

    tcp_stream second = co_await tcp_stream::connect(listener.local_endpoint());
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const int next = dup(0);
    close(next);
    rlimit tight = limit;
    tight.rlim_cur = static_cast<rlim_t>(next);
    setrlimit(RLIMIT_NOFILE, &tight);
    const auto refused = co_await coflux::as_result(listener.accept());
    setrlimit(RLIMIT_NOFILE, &limit);  // UBSan needs descriptors for its checks
    if (refused.error() != std::errc::too_many_files_open) co_return false;
    // The connection is still in the backlog.
    const tcp_stream accepted = co_await listener.accept();
    co_return accepted.peer_endpoint() == second.local_endpoint();
}
TEST(tcp_edges_death, a_process_without_descriptors_is_told_and_loses_no_connection) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto child = [] {
        worker on;
        auto env = coflux::make_environment(on);
        std::_Exit(runs_out_of_descriptors(env).get() ? 7 : 1);
    };
    EXPECT_EXIT(child(), testing::ExitedWithCode(7), "");
}

coflux::task<void, worker> moves_streams(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    tcp_stream other = std::move(p.near);
    EXPECT_FALSE(p.near.is_open());
    EXPECT_EQ(p.near.native_handle(), -1);
    std::byte one{};
    auto waits = reads_until_error<worker>(here, &other);
    co_await coflux::this_coroutine::yield();
    // The operation stays with the connection.
    tcp_stream third = std::move(other);
    co_await p.far.write_all("x");
    EXPECT_FALSE(co_await std::move(waits));
    third = std::move(p.far);  // closes what it had
    (void)co_await coflux::as_result(third.read_some(std::span(&one, 1)));
}
TEST(tcp_edges, a_stream_is_moved_with_what_waits_for_it) {
    on_a_worker(moves_streams);
}

// --- checked errors --------------------------------------------------------------------------------------------------

class tcp_death : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

coflux::task<void, worker> destroys_what_is_waited_for(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    auto waits = reads_until_error<worker>(here, &p.near);
    co_await 1ms;
    { const tcp_stream dies = std::move(p.near); }
    co_await std::move(waits);
}
TEST_F(tcp_death, a_stream_that_dies_while_an_operation_waits_is_refused) {
    EXPECT_DEATH(on_a_worker(destroys_what_is_waited_for),
                 "a socket, pipe or process dies while an operation of it waits .its peer, or its own name: 127");
}
coflux::fork<void, worker> accepts(coflux::environment&, tcp_listener* at) {
    for (;;) (void)co_await at->accept();
}
coflux::task<void, worker> closes_a_listener_that_accepts(coflux::environment&) {
    auto&& here = co_await coflux::context();
    tcp_listener from(endpoint::loopback(0));
    auto waits = accepts(here, &from);
    co_await coflux::yield();
    from.close();
}
TEST_F(tcp_death, a_listener_is_named_by_the_port_that_the_system_chose) {
    EXPECT_DEATH(on_a_worker(closes_a_listener_that_accepts), "its own name: 127.0.0.1:[1-9]");
}
coflux::task<void, worker> uses_what_was_moved_from(coflux::environment&) {
    tcp_stream closed;
    std::byte one{};
    (void)co_await closed.read_some(std::span(&one, 1));
}
TEST_F(tcp_death, an_operation_of_a_closed_stream_is_refused) {
    EXPECT_DEATH(on_a_worker(uses_what_was_moved_from),
                 "an operation of a socket, pipe or process that is closed, was moved from");
}
coflux::task<void, worker> two_readers(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    auto one = reads_until_error<worker>(here, &p.near);
    auto two = reads_until_error<worker>(here, &p.near);
    co_await coflux::when_all(std::move(one), std::move(two));
}
TEST_F(tcp_death, two_readers_of_one_stream_are_refused) {
    EXPECT_DEATH(on_a_worker(two_readers), "two coroutines wait for the same direction of a socket");
}
coflux::task<void, worker> waits_for_ever(coflux::environment&, tcp_listener* at) {
    (void)co_await at->accept();
}
coflux::task<void, worker> sleeps(coflux::environment&) {
    co_await 1ms;
}
void worker_dies_first() {
    tcp_listener listener(endpoint::loopback(0));
    auto* on = new worker;
    auto env = coflux::make_environment(*on);
    auto waits = waits_for_ever(env, &listener);
    sleeps(env).get();  // it waits by now
    delete on;
}
TEST_F(tcp_death, a_worker_that_ends_while_a_coroutine_waits_there_names_it) {
    EXPECT_DEATH(worker_dies_first(), "waits_for_ever.*waits for a descriptor");
}

// --- local sockets ---------------------------------------------------------------------------------------------------

coflux::task<void, worker> talks_locally(coflux::environment&, endpoint at) {
    auto&& here = co_await coflux::context();
    tcp_listener listener(at);
    EXPECT_EQ(listener.local_endpoint(), at);
    auto server = serves<worker>(here, &listener, 1);
    EXPECT_TRUE(co_await asks<worker>(here, at));
    co_await std::move(server);
}
TEST(local_sockets, carry_streams_by_a_path_and_by_an_abstract_name) {
    worker on;
    auto env = coflux::make_environment(on);
    const std::string path = "/tmp/coflux_tcp_test_" + std::to_string(getpid());
    talks_locally(env, endpoint::local(path)).get();
    unlink(path.c_str());
    using namespace std::string_literals;
    talks_locally(env, endpoint::local("\0coflux_tcp_test_"s + std::to_string(getpid()))).get();
}

coflux::task<void, worker> fills_a_backlog(coflux::environment&) {
    using namespace std::string_literals;
    const auto at = endpoint::local("\0coflux_backlog_"s + std::to_string(getpid()));
    tcp_listener listener(at, {.backlog = 1});
    std::vector<tcp_stream> connections;
    std::error_code error;
    for (int i = 0; i < 10 && !error; ++i) {
        auto one = co_await coflux::timeout(coflux::as_result(tcp_stream::connect(at)), 5s);
        if (one.timed_out()) break;  // it waits for what never comes
        error = one.error();
        if (one) connections.push_back(std::move(one).value());
    }
    EXPECT_EQ(error, std::errc::resource_unavailable_try_again);
}
TEST(local_sockets, a_connect_is_told_that_the_listener_has_no_room) {
    on_a_worker(fills_a_backlog);
}

// --- law 7 -----------------------------------------------------------------------------------------------------------

coflux::task<void, worker> waits_for_clients(coflux::environment&, coflux_test::flag* all_wait) {
    auto&& here = co_await coflux::context();
    tcp_listener listener(endpoint::loopback(0));
    accepts(here, &listener).attach();
    auto p = co_await connected(here);
    auto reader = reads_until_error<worker>(here, &p.near);
    all_wait->set();
    (void)co_await std::move(reader);
}
TEST(tcp_idle_by_the_clock, a_server_that_waits_uses_no_processor) {
    worker on;
    auto env = coflux::make_environment(on);
    coflux_test::flag all_wait;
    auto server = waits_for_clients(env, &all_wait);
    all_wait.wait();
    EXPECT_TRUE(coflux_test::comes_to_rest(0.01, 500ms));
    env.request_stop();
    server.join();
}

/// The same on a simulated network as on the system's.
template <typename E>
coflux::task<void, E> goes_nowhere(coflux::environment&) {
    const auto expect_refused = [](const std::system_error& e, const std::string& what) {
        EXPECT_EQ(e.code(), std::errc::address_family_not_supported);
        EXPECT_NE(std::string(e.what()).find(what), std::string::npos) << e.what();
    };
    try {
        tcp_stream none = co_await tcp_stream::connect(endpoint());
        ADD_FAILURE();
    } catch (const std::system_error& e) {
        expect_refused(e, "connect to nowhere");
    }
    try {
        const tcp_listener none{endpoint()};
        ADD_FAILURE();
    } catch (const std::system_error& e) {
        expect_refused(e, "listen at nowhere");
    }
    EXPECT_THROW((void)co_await coflux::unix_stream::connect(endpoint()), std::system_error);
}
TEST(tcp_edges, an_endpoint_that_is_none_is_an_error) {
    on_a_worker(goes_nowhere<worker>);
    coflux::testing::fifo_chooser fifo;
    coflux::testing::simulation sim(fifo);
    const coflux::testing::sim_network net(sim);
    coflux::testing::sim_executor on;
    auto env = coflux::make_environment(on);
    goes_nowhere<coflux::testing::sim_executor>(env).get();
    EXPECT_EQ(net.open_sockets(), 0U);
}

}  // namespace

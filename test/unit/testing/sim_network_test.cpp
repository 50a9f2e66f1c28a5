#include <coflux/testing/sim_network.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/explore.hpp>
#include <coflux/testing/replay_chooser.hpp>

namespace {

using namespace std::chrono_literals;
using coflux::as_result;
using coflux::borrowed;
using coflux::endpoint;
using coflux::environment;
using coflux::tcp_listener;
using coflux::tcp_stream;
using coflux::testing::fifo_chooser;
using coflux::testing::random_chooser;
using coflux::testing::sim_executor;
using coflux::testing::sim_host;
using coflux::testing::sim_network;
using coflux::testing::sim_network_options;
using coflux::testing::simulation;

std::span<std::byte> bytes_of(std::string& s) {
    return std::as_writable_bytes(std::span(s));
}
bool is(const std::error_code& error, std::errc what) {
    return error == std::error_condition(what);
}

/// A simulation with a network of two machines.
struct two_machines {
    explicit two_machines(coflux::testing::chooser& decides, sim_network_options options = {})
        : sim(decides),
          net(sim, options) {}

    simulation sim;
    sim_network net;
    sim_host a = net.host("10.0.0.1");
    sim_host b = net.host("10.0.0.2");
    sim_executor on_a = a.executor();
    sim_executor on_b = b.executor();
};

coflux::fork<void, sim_executor> echoes(environment&, tcp_stream peer) {
    std::array<std::byte, 8> buffer{};
    while (const std::size_t n = co_await peer.read_some(buffer)) co_await peer.write_all(std::span(buffer).first(n));
}
coflux::task<void, sim_executor> serves(environment&, borrowed<tcp_listener> at) {
    auto&& here = co_await coflux::context();
    for (;;) echoes(here, co_await at->accept()).attach();
}
coflux::task<std::string, sim_executor> asks(environment&, endpoint where, std::string text) {
    tcp_stream peer = co_await tcp_stream::connect(where);
    co_await peer.write_all(text);
    std::string got(text.size(), ' ');
    co_await peer.read_exactly(bytes_of(got));
    peer.shutdown_send();
    std::byte more{};
    if (co_await peer.read_some(std::span(&more, 1)) != 0) got += "more";
    co_return got;
}

/// Serves at port 80 of the first machine while it lives.
struct echo_server {
    explicit echo_server(two_machines& in)
        : listener(in.a.at(80)),
          env(coflux::make_environment(in.on_a)),
          serving(serves(env, borrowed(listener))) {}
    ~echo_server() {
        env.request_stop();
        try {
            serving.join();
        } catch (const std::system_error&) {  // a client that was stopped has cut its connection
        }
    }

    tcp_listener listener;
    decltype(coflux::make_environment(std::declval<sim_executor&>())) env;
    coflux::task<void, sim_executor> serving;
};

TEST(sim_network, carries_bytes_between_machines_in_every_schedule) {
    const auto r = coflux::testing::explore({.runs = 500}, [](simulation&) {
        sim_network net({.buffer = 32});
        sim_host a = net.host("10.0.0.1");
        sim_executor on_a = a.executor();
        sim_executor on_b = net.host("10.0.0.2").executor();
        tcp_listener listener(a.at(80));
        auto servers = coflux::make_environment(on_a);
        auto clients = coflux::make_environment(on_b);
        auto serving = serves(servers, borrowed(listener));
        const std::string text = "a message of more bytes than there is room for at a time";
        auto first = asks(clients, a.at(80), text);
        auto second = asks(clients, a.at(80), "short");
        const bool right = first.get() == text && second.get() == "short";
        servers.request_stop();
        serving.join();
        if (!right) throw std::runtime_error("the echo is wrong");
    });
    EXPECT_TRUE(r.ok()) << r.report();
    EXPECT_GT(r.distinct, 400U);
}

TEST(sim_network, makes_the_same_run_of_the_same_decisions) {
    const auto run = [](coflux::testing::chooser& decides) {
        two_machines m(decides, {.buffer = 16});
        echo_server server(m);
        auto env = coflux::make_environment(m.on_b);
        EXPECT_EQ(asks(env, m.a.at(80), "once more, with feeling").get(), "once more, with feeling");
        return m.sim.schedule();
    };
    random_chooser random(7);
    const auto schedule = run(random);
    EXPECT_GT(schedule.size(), 10U);
    random_chooser again(7);
    EXPECT_EQ(run(again), schedule);
    const std::string text = coflux::testing::to_text(schedule);
    EXPECT_NE(text.find('a'), std::string::npos) << text;
    auto replay = coflux::testing::replay_chooser::parse(text);
    ASSERT_TRUE(replay.has_value());
    EXPECT_EQ(run(*replay), schedule);
    EXPECT_EQ(replay->diverged_at(), coflux::testing::replay_chooser::nowhere);
}

TEST(sim_network, has_numbers_that_are_no_descriptors_of_the_system) {
    fifo_chooser fifo;
    simulation sim(fifo);
    tcp_listener real(endpoint::loopback(0));
    EXPECT_LT(real.native_handle(), 1 << 20);
    {
        sim_network net(sim);
        tcp_listener simulated(endpoint::loopback(real.local_endpoint().port()));  // where the real one listens
        EXPECT_GT(simulated.native_handle(), 1 << 30);
        EXPECT_EQ(net.open_sockets(), 1U);
        EXPECT_EQ(real.local_endpoint().port(), simulated.local_endpoint().port());
    }
    tcp_listener after(endpoint::loopback(0));
    EXPECT_LT(after.native_handle(), 1 << 20);
}

TEST(sim_network, gives_each_machine_a_loopback_of_its_own) {
    fifo_chooser fifo;
    two_machines m(fifo);
    echo_server server(m);
    tcp_listener everywhere(endpoint::any(0));
    EXPECT_GE(everywhere.local_endpoint().port(), 49152);
    const auto connects = [](environment&, endpoint to) -> coflux::task<std::error_code, sim_executor> {
        const auto made = co_await as_result(tcp_stream::connect(to));
        co_return made.error();
    };
    auto on_b = coflux::make_environment(m.on_b);
    auto on_none = coflux::make_environment(m.net.local().executor());
    EXPECT_TRUE(is(connects(on_b, endpoint::loopback(80)).get(), std::errc::connection_refused));
    EXPECT_TRUE(is(connects(on_b, m.a.at(81)).get(), std::errc::connection_refused));
    EXPECT_TRUE(is(connects(on_b, endpoint::ip("10.9.9.9", 80)).get(), std::errc::network_unreachable));
    const std::uint16_t port = everywhere.local_endpoint().port();
    EXPECT_FALSE(connects(on_b, m.net.local().at(port)).get());
    EXPECT_FALSE(connects(on_none, endpoint::loopback(port)).get());
    EXPECT_FALSE(connects(on_none, endpoint::ip("127.3.2.1", port)).get());
    EXPECT_THROW(tcp_listener(m.a.at(80)), std::system_error);  // there is one
    EXPECT_THROW((void)m.net.host("127.0.0.1"), std::invalid_argument);
    EXPECT_THROW((void)m.net.host("somewhere"), std::invalid_argument);
}

coflux::task<std::vector<std::string>, sim_executor> names(environment&, endpoint to) {
    tcp_listener here(endpoint::local("/a/path"));
    tcp_stream near = co_await tcp_stream::connect(endpoint::local("/a/path"));
    tcp_stream far = co_await here.accept();
    tcp_stream other = co_await tcp_stream::connect(to);
    std::vector<std::string> all;
    all.push_back(near.peer_endpoint().to_string());
    all.push_back(far.local_endpoint().to_string());
    all.push_back(other.local_endpoint().to_string());
    all.push_back(other.peer_endpoint().to_string());
    co_return all;
}
TEST(sim_network, knows_the_names_of_both_ends) {
    fifo_chooser fifo;
    two_machines m(fifo);
    echo_server server(m);
    auto env = coflux::make_environment(m.on_b);
    const std::vector<std::string> expected{"/a/path", "/a/path", "10.0.0.2:49152", "10.0.0.1:80"};
    EXPECT_EQ(names(env, m.a.at(80)).get(), expected);
}

struct ends {
    tcp_stream near;
    tcp_stream far;
};
coflux::call<ends> connected(environment&) {
    tcp_listener listener(endpoint::loopback(0));
    ends p;
    p.near = co_await tcp_stream::connect(listener.local_endpoint());
    p.far = co_await listener.accept();
    co_return p;
}

coflux::task<void, sim_executor> ends_each_way(environment&) {
    auto&& here = co_await coflux::context();
    ends p = co_await connected(here);
    std::string two(2, ' ');
    std::byte one{};
    p.near.shutdown_send();
    EXPECT_EQ(co_await p.far.read_some(std::span(&one, 1)), 0U);
    co_await p.far.write_all("ab");
    co_await p.near.read_exactly(bytes_of(two));
    EXPECT_EQ(two, "ab");
    const auto after_end = co_await as_result(p.near.write_all("x"));
    EXPECT_TRUE(is(after_end.error(), std::errc::broken_pipe));
    p.far.close();
    co_await p.near.wait_readable();
    EXPECT_EQ(co_await p.near.read_some(std::span(&one, 1)), 0U);
}
coflux::task<void, sim_executor> resets(environment&) {
    auto&& here = co_await coflux::context();
    ends p = co_await connected(here);
    std::byte one{};
    p.far.reset();
    const auto cut = co_await as_result(p.near.read_some(std::span(&one, 1)));
    EXPECT_TRUE(is(cut.error(), std::errc::connection_reset));
    const auto gone = co_await as_result(p.near.write_all("x"));
    EXPECT_TRUE(is(gone.error(), std::errc::broken_pipe));
}
/// As tcp(7): a program that closes before it has read all cuts the connection, and what it sent may be lost.
coflux::task<void, sim_executor> closes_with_bytes_unread(environment&) {
    auto&& here = co_await coflux::context();
    ends p = co_await connected(here);
    std::byte one{};
    EXPECT_FALSE(p.far.is_readable());
    co_await p.near.write_all("read this");
    co_await p.far.wait_readable();
    EXPECT_TRUE(p.far.is_readable());
    p.far.close();
    const auto cut = co_await as_result(p.near.read_some(std::span(&one, 1)));
    EXPECT_TRUE(is(cut.error(), std::errc::connection_reset));
}
coflux::task<void, sim_executor> resets_after_bytes(environment&) {
    auto&& here = co_await coflux::context();
    ends p = co_await connected(here);
    std::string two(2, ' ');
    co_await p.far.write_all("ab");
    co_await coflux::sleep_for(1ms);
    p.far.reset();
    co_await coflux::sleep_for(1ms);
    co_await p.near.read_exactly(bytes_of(two));  // what had arrived
    EXPECT_EQ(two, "ab");
    const auto cut = co_await as_result(p.near.read_some(bytes_of(two)));
    EXPECT_TRUE(is(cut.error(), std::errc::connection_reset));
    EXPECT_EQ(co_await p.near.read_some(bytes_of(two)), 0U);  // told once
}
coflux::task<void, sim_executor> writes_to_one_that_is_closed(environment&) {
    auto&& here = co_await coflux::context();
    ends p = co_await connected(here);
    std::byte one{};
    p.far.close();
    EXPECT_EQ(co_await p.near.read_some(std::span(&one, 1)), 0U);
    EXPECT_FALSE((co_await as_result(p.near.write_all("x"))).error());  // the peer has not refused yet
    co_await coflux::sleep_for(1ms);
    EXPECT_TRUE((co_await as_result(p.near.write_all("y"))).error());
}
TEST(sim_network, ends_and_cuts_connections_as_tcp_does) {
    for (std::uint64_t seed = 0; seed != 20; ++seed) {
        random_chooser random(seed);
        simulation sim(random);
        sim_network net(sim);
        sim_executor on;  // of no machine
        auto env = coflux::make_environment(on);
        ends_each_way(env).get();
        resets(env).get();
        resets_after_bytes(env).get();
        closes_with_bytes_unread(env).get();
        writes_to_one_that_is_closed(env).get();
        EXPECT_EQ(net.open_sockets(), 0U);
        EXPECT_EQ(net.dump(), "");
    }
}

coflux::task<void, sim_executor> fills(environment&) {
    auto&& here = co_await coflux::context();
    ends p = co_await connected(here);
    std::size_t sent = 0;
    const std::string text(7, 'x');
    for (;;) {
        const auto limited = co_await coflux::timeout(p.near.write_some(text), 1s);
        if (!limited.has_value()) break;
        sent += limited.value();
    }
    EXPECT_EQ(sent, 20U);
    std::string got(20, ' ');
    co_await p.far.read_exactly(bytes_of(got));
    EXPECT_EQ(co_await p.near.write_some(text), 7U);
}
TEST(sim_network, holds_so_many_bytes_and_no_more) {
    fifo_chooser fifo;
    simulation sim(fifo);
    sim_network net(sim, {.buffer = 20});
    sim_executor on;
    auto env = coflux::make_environment(on);
    fills(env).get();
}

coflux::task<void, sim_executor> fills_a_backlog(environment&) {
    tcp_listener listener(endpoint::loopback(80), {.backlog = 1});
    tcp_stream first = co_await tcp_stream::connect(endpoint::loopback(80));
    const auto begun = coflux::clock::now();
    const auto second = co_await as_result(tcp_stream::connect(endpoint::loopback(80)));
    EXPECT_TRUE(is(second.error(), std::errc::timed_out));
    EXPECT_EQ(coflux::clock::now() - begun, 127s);
    tcp_stream accepted = co_await listener.accept();
    EXPECT_TRUE((co_await as_result(tcp_stream::connect(endpoint::loopback(80)))).has_value());
}
TEST(sim_network, makes_a_connect_wait_for_a_full_backlog) {
    fifo_chooser fifo;
    simulation sim(fifo);
    sim_network net(sim);
    sim_executor on;
    auto env = coflux::make_environment(on);
    fills_a_backlog(env).get();
}

coflux::task<std::chrono::nanoseconds, sim_executor> takes(environment&, endpoint where) {
    const auto begun = coflux::clock::now();
    tcp_stream peer = co_await tcp_stream::connect(where);
    std::byte one{};
    co_await peer.write_all("x");
    co_await peer.read_exactly(std::span(&one, 1));
    co_return coflux::clock::now() - begun;
}
TEST(sim_network, lets_latency_pass_in_virtual_time) {
    fifo_chooser fifo;
    two_machines m(fifo, {.latency = 10ms});
    echo_server server(m);
    auto env = coflux::make_environment(m.on_b);
    EXPECT_EQ(takes(env, m.a.at(80)).get(), 40ms);
    m.net.latency(m.a, m.b, 1s);
    EXPECT_EQ(takes(env, m.a.at(80)).get(), 4s);
}

coflux::task<void, sim_executor> is_cut_off(environment&, borrowed<two_machines> m) {
    tcp_stream peer = co_await tcp_stream::connect(m->a.at(80));
    m->net.partition(m->a, m->b);
    std::string got(2, ' ');
    co_await peer.write_all("ab");
    const auto limited = co_await coflux::timeout(peer.wait_readable(), 1min);
    EXPECT_FALSE(limited);
    const auto refused = co_await as_result(tcp_stream::connect(m->a.at(80)));
    EXPECT_TRUE(is(refused.error(), std::errc::timed_out));
    m->net.heal(m->b, m->a);
    co_await peer.read_exactly(bytes_of(got));  // what was on its way arrives after all
    EXPECT_EQ(got, "ab");

    m->net.partition(m->b, m->a);
    co_await peer.write_all("c");
    const auto given_up = co_await as_result(peer.read_some(bytes_of(got)));
    EXPECT_TRUE(is(given_up.error(), std::errc::timed_out));
    m->net.heal();
}
TEST(sim_network, holds_back_what_a_partition_lies_before) {
    fifo_chooser fifo;
    two_machines m(fifo);
    echo_server server(m);
    auto env = coflux::make_environment(m.on_b);
    is_cut_off(env, borrowed(m)).get();
}

coflux::task<void, sim_executor> loses_the_other(environment&, borrowed<two_machines> m) {
    tcp_stream peer = co_await tcp_stream::connect(m->a.at(80));
    m->net.crash(m->a);
    EXPECT_FALSE(m->a.is_up());
    co_await peer.write_all("is anybody there?");
    const auto limited = co_await coflux::timeout(peer.wait_readable(), 1min);
    EXPECT_FALSE(limited);
    m->net.restart(m->a);
    std::byte one{};
    const auto cut = co_await as_result(peer.read_some(std::span(&one, 1)));
    EXPECT_TRUE(is(cut.error(), std::errc::connection_reset));
    const auto refused = co_await as_result(tcp_stream::connect(m->a.at(80)));
    EXPECT_TRUE(is(refused.error(), std::errc::connection_refused));
}
TEST(sim_network, tells_nobody_of_a_crash_before_the_restart) {
    fifo_chooser fifo;
    two_machines m(fifo);
    auto env = coflux::make_environment(m.on_b);
    auto servers = coflux::make_environment(m.on_a);
    {
        tcp_listener listener(m.a.at(80));
        auto serving = serves(servers, borrowed(listener));
        loses_the_other(env, borrowed(m)).get();
        try {
            serving.get();
            ADD_FAILURE() << "its listener was lost";
        } catch (const std::system_error& lost) {
            EXPECT_TRUE(is(lost.code(), std::errc::network_down)) << lost.what();
        }
    }
    EXPECT_EQ(m.a.open_sockets(), 0U);
    tcp_listener again(m.a.at(80));
    EXPECT_EQ(m.a.open_sockets(), 1U);
}

coflux::task<void, sim_executor> runs_out(environment&, borrowed<two_machines> m) {
    m->b.limit_descriptors(3);
    tcp_listener listener(endpoint::loopback(80));
    tcp_stream near = co_await tcp_stream::connect(endpoint::loopback(80));
    {
        tcp_stream third = co_await tcp_stream::connect(m->a.at(80));
        const auto none_left = co_await as_result(listener.accept());
        EXPECT_TRUE(is(none_left.error(), std::errc::too_many_files_open));
        EXPECT_THROW(tcp_listener(endpoint::loopback(81)), std::system_error);
    }
    tcp_stream far = co_await listener.accept();  // it stayed in the backlog
    EXPECT_EQ(m->b.open_sockets(), 3U);
}
TEST(sim_network, has_so_many_descriptors_on_a_machine) {
    fifo_chooser fifo;
    two_machines m(fifo);
    echo_server server(m);
    auto env = coflux::make_environment(m.on_b);
    runs_out(env, borrowed(m)).get();
}

coflux::task<void, sim_executor> reads_for_ever(environment&, endpoint where) {
    tcp_stream peer = co_await tcp_stream::connect(where);
    co_await peer.write_all("abc");
    std::string four(4, ' ');
    co_await peer.read_exactly(bytes_of(four));
}
TEST(sim_network, is_described_in_the_text_of_a_deadlock) {
    fifo_chooser fifo;
    two_machines m(fifo);
    echo_server server(m);
    auto env = coflux::make_environment(m.on_b);
    try {
        reads_for_ever(env, m.a.at(80)).get();
        ADD_FAILURE() << "no deadlock";
    } catch (const coflux::testing::deadlock_error& e) {
        const std::string text = e.what();
        EXPECT_NE(text.find("waits for bytes of a socket"), std::string::npos) << text;
        EXPECT_NE(text.find("\nnetwork:\n"), std::string::npos) << text;
        EXPECT_NE(text.find("10.0.0.1: listens at 10.0.0.1:80; 0 of 1024 in its backlog; a coroutine accepts"),
                  std::string::npos)
            << text;
        EXPECT_NE(text.find("10.0.0.2: 10.0.0.2:49152 is connected to 10.0.0.1:80; a coroutine reads"),
                  std::string::npos)
            << text;
    }
}

coflux::fork<void, sim_executor> writes_much(environment&, tcp_stream* to) {
    co_await to->write_all(std::string(1'000'000, 'x'));
}
coflux::fork<void, sim_executor> connects_in_vain(environment&, endpoint where) {
    (void)co_await as_result(tcp_stream::connect(where));
}
coflux::task<void, sim_executor> asks_for_the_dump(environment&, borrowed<two_machines> m, borrowed<tcp_listener> at) {
    auto&& here = co_await coflux::context();
    const auto has = [m](std::string_view part) {
        const std::string text = m->net.dump();
        return text.find(part) != std::string::npos ? testing::AssertionSuccess() : testing::AssertionFailure() << text;
    };
    tcp_stream near = co_await tcp_stream::connect(m->a.at(80));
    EXPECT_TRUE(has("1 of 1024 in its backlog"));
    EXPECT_TRUE(has("is connected to 10.0.0.2:49152, in a backlog"));
    co_await near.write_all("a");
    EXPECT_TRUE(has("; 1 byte unread"));
    co_await near.write_all("bc");
    EXPECT_TRUE(has("; 3 bytes unread"));
    tcp_stream far = co_await at->accept();

    m->net.partition(m->a, m->b);
    co_await near.write_all("d");
    EXPECT_TRUE(has("; 1 byte on their way; nothing arrives at the other end"));
    EXPECT_TRUE(has(": nothing comes through"));
    auto around = coflux::make_environment(here);
    auto connecting = connects_in_vain(around, m->a.at(80));
    co_await 1ms;
    EXPECT_TRUE(has("connects to 10.0.0.1:80; nothing arrives at the other end; a coroutine connects"));
    m->net.heal();
    co_await std::move(connecting);

    auto writing = writes_much(around, &near);
    co_await 1s;
    EXPECT_TRUE(has("; a coroutine writes"));
    around.request_stop();
    (void)co_await coflux::as_outcome(std::move(writing));
    co_await around.join();

    far.shutdown_send();
    EXPECT_TRUE(has("; it sends no more"));
    co_await 1s;
    EXPECT_TRUE(has("; the other end sends no more"));
    m->net.crash(m->a);
    EXPECT_TRUE(has("10.0.0.1: is down"));
    EXPECT_TRUE(has("a socket that was lost in a crash"));
    m->net.restart(m->a);
    co_await near.write_all("e");
    co_await 1s;
    EXPECT_TRUE(has("; the connection was cut"));
}
TEST(sim_network, says_what_each_socket_does) {
    fifo_chooser fifo;
    two_machines m(fifo);
    auto env = coflux::make_environment(m.on_b);
    tcp_listener listener(m.a.at(80));
    asks_for_the_dump(env, borrowed(m), borrowed(listener)).get();
}

/// Each operation is stopped at each step of its run; what was open is closed afterwards.
TEST(sim_network, loses_no_socket_to_a_stop_at_any_step) {
    std::size_t last = 0;
    for (std::size_t at = 1; at != 200; ++at) {
        for (std::uint64_t seed = 0; seed != 4; ++seed) {
            random_chooser random(seed);
            two_machines m(random, {.buffer = 16});
            {
                echo_server server(m);
                auto env = coflux::make_environment(m.on_b);
                m.sim.on_step([&](std::size_t n) {
                    if (n == at && seed % 2 == 0) env.request_stop();
                    if (n == at && seed % 2 == 1) server.env.request_stop();
                });
                auto client = asks(env, m.a.at(80), "a text that does not fit");
                try {
                    (void)client.get();
                } catch (const std::exception&) {  // stopped, cut, or waiting for one that was stopped
                }
                m.sim.on_step(nullptr);
                last = std::max(last, m.sim.steps());
            }
            EXPECT_EQ(m.net.open_sockets(), 0U) << at << ' ' << seed;
        }
    }
    EXPECT_LT(last, 200U);
}

coflux::task<int> without_an_executor(environment&, int times) {
    tcp_listener listener(endpoint::loopback(80));
    tcp_stream near = co_await tcp_stream::connect(endpoint::loopback(80));
    tcp_stream far = co_await listener.accept();
    int right = 0;
    for (int i = 0; i < times; ++i) {
        std::byte one{};
        co_await near.write_all("x");
        co_await far.read_exactly(std::span(&one, 1));
        right += one == std::byte{'x'} ? 1 : 0;
    }
    co_return right;
}
TEST(sim_network, serves_coroutines_without_an_executor) {
    std::vector<std::size_t> decisions;
    for (int i = 0; i < 3; ++i) {
        random_chooser random(1);
        simulation sim(random);
        sim_network net(sim);
        auto env = coflux::make_environment();
        EXPECT_EQ(without_an_executor(env, 70).get(), 70);
        decisions.push_back(sim.schedule().size());
    }
    EXPECT_EQ(decisions[0], decisions[1]);
    EXPECT_EQ(decisions[0], decisions[2]);
}

coflux::fork<std::size_t, coflux::strand<sim_executor>> on_a_strand(environment&, borrowed<ends> of) {
    std::string got(3, ' ');
    const simulation& sim = *simulation::current();
    const std::size_t before = sim.steps();
    co_await of->far.write_all("abc");
    EXPECT_GT(sim.steps(), before);  // others could have come in
    co_await of->near.read_exactly(bytes_of(got));
    co_return got == "abc" ? 1 : 0;
}
coflux::task<std::size_t, coflux::strand<sim_executor>> strands(environment&) {
    auto&& here = co_await coflux::context();
    ends p = co_await connected(here);
    co_return co_await on_a_strand(here, borrowed(p));
}
TEST(sim_network, serves_coroutines_of_a_strand) {
    fifo_chooser fifo;
    simulation sim(fifo);
    sim_network net(sim);
    sim_executor on;
    coflux::strand<sim_executor> strand(on);
    auto env = coflux::make_environment(strand);
    EXPECT_EQ(strands(env).get(), 1U);
}

TEST(sim_network, lets_the_chooser_refuse_time_out_and_cut_so_many_times) {
    std::size_t refused = 0;
    std::size_t timed_out = 0;
    std::size_t cut = 0;
    std::size_t right = 0;
    for (std::uint64_t seed = 0; seed != 200; ++seed) {
        random_chooser random(seed);
        two_machines m(random, {.faults = 1, .no_descriptors = false});
        tcp_listener listener(m.a.at(80));
        auto servers = coflux::make_environment(m.on_a);
        auto serving = serves(servers, borrowed(listener));
        auto env = coflux::make_environment(m.on_b);
        try {
            right += asks(env, m.a.at(80), "text").get() == "text" ? 1U : 0U;
        } catch (const std::system_error& e) {
            refused += is(e.code(), std::errc::connection_refused) ? 1U : 0U;
            timed_out += is(e.code(), std::errc::timed_out) ? 1U : 0U;
            cut += is(e.code(), std::errc::connection_reset) || is(e.code(), std::errc::broken_pipe) ? 1U : 0U;
        } catch (const coflux::end_of_stream&) {
            ++cut;  // its error was told to a write
        }
        servers.request_stop();
        try {
            serving.get();
        } catch (...) {  // stopped, or cut
        }
    }
    EXPECT_GT(refused, 20U);
    EXPECT_GT(timed_out, 20U);
    EXPECT_GT(cut, 20U);
    EXPECT_EQ(refused + timed_out + cut + right, 200U);
}

coflux::task<std::size_t, sim_executor> fails_how_often(environment&) {
    tcp_listener listener(endpoint::loopback(80));
    std::size_t failed = 0;
    for (int i = 0; i < 8; ++i)
        failed += (co_await as_result(tcp_stream::connect(endpoint::loopback(80)))).has_value() ? 0U : 1U;
    co_return failed;
}
TEST(sim_network, makes_no_more_faults_than_it_may) {
    std::array<std::size_t, 3> seen{};
    for (std::uint64_t seed = 0; seed != 50; ++seed) {
        random_chooser random(seed);
        simulation sim(random);
        sim_network net(sim, {.faults = 2});
        sim_executor on;
        auto env = coflux::make_environment(on);
        const std::size_t failed = fails_how_often(env).get();
        ASSERT_LE(failed, 2U) << seed;
        ++seen[failed];
    }
    EXPECT_GT(seen[2], 0U);
}

coflux::fork<void, sim_executor> holds_one(environment&, endpoint where, borrowed<std::size_t> right) {
    tcp_stream peer = co_await tcp_stream::connect(where);
    std::string got(4, ' ');
    co_await peer.write_all("ping");
    co_await peer.read_exactly(bytes_of(got));
    *right += got == "ping" ? 1U : 0U;
    co_await coflux::sleep_for(1h);
}
coflux::task<void, sim_executor> hold_many(environment&, endpoint where, borrowed<std::size_t> right, int count) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < count; ++i) holds_one(here, where, right).attach();
    co_await coflux::sleep_for(30min);
    EXPECT_EQ(*right, static_cast<std::size_t>(count));
}
TEST(sim_network, has_room_for_a_thousand_connections) {
    fifo_chooser fifo;
    two_machines m(fifo, {.latency = 1ms});
    echo_server server(m);
    auto env = coflux::make_environment(m.on_b);
    std::size_t right = 0;
    hold_many(env, m.a.at(80), borrowed(right), 1000).get();
    EXPECT_EQ(right, 1000U);
}

TEST(sim_network, can_be_searched_exhaustively) {
    const auto r =
        coflux::testing::explore({.runs = 200'000, .search = coflux::testing::search_kind::exhaustive, .deviations = 2},
                                 [](coflux::testing::simulation& sim) {
                                     sim_network net(sim);
                                     sim_executor on;
                                     tcp_listener listener(endpoint::loopback(80));
                                     auto env = coflux::make_environment(on);
                                     auto serving = serves(env, borrowed(listener));
                                     auto asking = asks(env, endpoint::loopback(80), "ab");
                                     const std::string got = asking.get();
                                     env.request_stop();
                                     serving.join();
                                     if (got != "ab") throw std::runtime_error(got);
                                 });
    EXPECT_TRUE(r.ok()) << r.report();
    EXPECT_TRUE(r.exhausted);
    EXPECT_GT(r.runs, 100U);
}

coflux::fork<void, sim_executor> counts_connections(environment&, borrowed<tcp_listener> at, borrowed<int> count) {
    for (;;) {
        tcp_stream one = co_await at->accept();
        ++*count;
    }
}
coflux::task<void, sim_executor> spreads(environment&) {
    auto&& here = co_await coflux::context();
    tcp_listener first(endpoint::loopback(80), {.shared_port = true});
    tcp_listener second(endpoint::loopback(80), {.shared_port = true});
    EXPECT_THROW(tcp_listener(endpoint::loopback(80)), std::system_error);
    auto inside = coflux::make_environment(here);
    int of_first = 0;
    int of_second = 0;
    counts_connections(inside, borrowed(first), borrowed(of_first)).attach();
    counts_connections(inside, borrowed(second), borrowed(of_second)).attach();
    for (int i = 0; i < 10; ++i) {
        tcp_stream one = co_await tcp_stream::connect(endpoint::loopback(80));
        std::byte none{};
        EXPECT_EQ(co_await one.read_some(std::span(&none, 1)), 0U);
    }
    inside.request_stop();
    co_await inside.join();
    EXPECT_EQ(of_first, 5);
    EXPECT_EQ(of_second, 5);
}
TEST(sim_network, spreads_connections_over_listeners_of_one_port) {
    fifo_chooser fifo;
    simulation sim(fifo);
    sim_network net(sim);
    sim_executor on;
    auto env = coflux::make_environment(on);
    spreads(env).get();
}

TEST(sim_network_death, ends_with_a_socket_open) {
    fifo_chooser fifo;
    simulation sim(fifo);
    EXPECT_DEATH(
        {
            tcp_listener left;
            sim_network net(sim);
            left = tcp_listener(endpoint::loopback(80));
            { sim_network other(sim); }
        },
        "a simulation has one network, and is given another one");
    EXPECT_DEATH(
        {
            tcp_listener left;
            sim_network net(sim);
            left = tcp_listener(endpoint::loopback(80));
        },
        "ends while sockets are open:\n  192.0.2.1: listens at 127.0.0.1:80");
}

}  // namespace

// Strange uses of a simulated network: limits that pass beside an arrival, cuts in the midst of a message, two
// executors, executors that it does not know.
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/explore.hpp>
#include <coflux/testing/manual_executor.hpp>
#include <coflux/testing/sim_network.hpp>

#include "support/iterations.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::as_result;
using coflux::borrowed;
using coflux::endpoint;
using coflux::environment;
using coflux::tcp_listener;
using coflux::tcp_stream;
using coflux::testing::explore;
using coflux::testing::fifo_chooser;
using coflux::testing::sim_executor;
using coflux::testing::sim_network;
using coflux::testing::simulation;

std::span<std::byte> bytes_of(std::string& s) {
    return std::as_writable_bytes(std::span(s));
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

// --- a limit beside an arrival

coflux::task<std::size_t, sim_executor> gives_up_again_and_again(environment&, endpoint where) {
    tcp_stream peer = co_await tcp_stream::connect(where);
    std::string got;
    std::size_t times = 0;
    while (got.size() != 6) {
        std::string some(4, ' ');
        const std::optional<std::size_t> n = co_await coflux::timeout(peer.read_some(bytes_of(some)), 10ms);
        if (n) {
            if (*n == 0) throw std::runtime_error("bytes are lost after '" + got + "'");
            got += some.substr(0, *n);
        } else {
            ++times;
        }
    }
    if (got != "abcdef") throw std::runtime_error("'" + got + "'");
    co_return times;
}
coflux::task<void, sim_executor> sends_each_tenth(environment&, borrowed<tcp_listener> at) {
    tcp_stream peer = co_await at->accept();
    for (const char* const part : {"ab", "cd", "ef"}) {
        co_await peer.write_all(std::string_view(part));
        co_await coflux::sleep_for(10ms);
    }
}
TEST(sim_network_edges, loses_no_byte_to_a_limit_that_passes_as_it_arrives) {
    std::size_t given_up = 0;
    const auto r = explore({.runs = coflux_test::repetitions(2'000)}, [&](simulation&) {
        sim_network net({.latency = 10ms});
        auto a = net.host("10.0.0.1");
        sim_executor on_a = a.executor();
        sim_executor on_b = net.host("10.0.0.2").executor();
        tcp_listener listener(a.at(80));
        auto servers = coflux::make_environment(on_a);
        auto clients = coflux::make_environment(on_b);
        auto serving = sends_each_tenth(servers, borrowed(listener));
        given_up += gives_up_again_and_again(clients, a.at(80)).get();
        serving.get();
    });
    EXPECT_TRUE(r.ok()) << r.report();
    EXPECT_GT(given_up, 0U);
}

// --- cuts

constexpr std::size_t length = 60;

coflux::task<void, sim_executor> sends_a_sequence(environment&, borrowed<tcp_listener> at) {
    tcp_stream peer = co_await at->accept();
    std::string text;
    for (std::size_t i = 0; i != length; ++i) text += static_cast<char>('0' + i);
    std::string_view rest = text;
    while (!rest.empty()) {
        auto sent = co_await as_result(peer.write_some(rest.substr(0, 9)));
        if (!sent.has_value()) co_return;
        rest.remove_prefix(*sent);
    }
    try {
        peer.shutdown_send();
    } catch (const std::system_error&) {  // as on a real network: it was cut
    }
    std::byte none{};
    (void)co_await as_result(peer.read_some(std::span(&none, 1)));
}
coflux::task<void, sim_executor> checks_a_sequence(environment&, endpoint where, borrowed<std::size_t> whole,
                                                   borrowed<std::size_t> cut) {
    auto made = co_await as_result(tcp_stream::connect(where));
    if (!made.has_value()) co_return;
    std::string got;
    for (;;) {
        std::array<std::byte, 16> some{};
        auto n = co_await as_result(made->read_some(some));
        if (!n.has_value()) {
            ++*cut;
            break;
        }
        if (*n == 0) {
            if (got.size() != length) throw std::runtime_error("an end after " + std::to_string(got.size()) + " bytes");
            ++*whole;
            break;
        }
        got.append(reinterpret_cast<const char*>(some.data()), *n);
    }
    for (std::size_t i = 0; i != got.size(); ++i) {
        if (got[i] != static_cast<char>('0' + i)) throw std::runtime_error("out of order: " + got);
    }
}
TEST(sim_network_edges, gives_a_whole_stream_or_an_error_after_its_beginning) {
    std::size_t whole = 0;
    std::size_t cut = 0;
    const auto r = explore({.runs = coflux_test::repetitions(4'000)}, [&](simulation&) {
        sim_network net({.buffer = 20, .faults = 1, .refuses = false, .no_descriptors = false});
        auto a = net.host("10.0.0.1");
        sim_executor on_a = a.executor();
        sim_executor on_b = net.host("10.0.0.2").executor();
        tcp_listener listener(a.at(80));
        auto servers = coflux::make_environment(on_a);
        auto clients = coflux::make_environment(on_b);
        auto serving = sends_a_sequence(servers, borrowed(listener));
        checks_a_sequence(clients, a.at(80), borrowed(whole), borrowed(cut)).get();
        serving.get();
    });
    EXPECT_TRUE(r.ok()) << r.report();
    EXPECT_GT(whole, r.runs / 10);
    EXPECT_GT(cut, r.runs / 10);
}

// --- races

coflux::task<std::size_t, sim_executor> takes_the_first(environment&) {
    auto&& here = co_await coflux::context();
    ends first = co_await connected(here);
    ends second = co_await connected(here);
    co_await second.far.write_all("x");
    co_await first.far.write_all("y");
    const auto reads = [](environment&, borrowed<tcp_stream> from) -> coflux::fork<std::byte> {
        std::byte one{};
        co_await from->read_exactly(std::span(&one, 1));
        co_return one;
    };
    auto of_first = reads(here, borrowed(first.near));
    auto of_second = reads(here, borrowed(second.near));
    const auto won = co_await coflux::when_any(std::move(of_first), std::move(of_second));
    // The other one has its byte still, unless it had read it before it was stopped.
    auto& other = won.index() == 0 ? second.near : first.near;
    std::byte one{};
    const auto late = co_await coflux::timeout(other.read_some(std::span(&one, 1)), 1s);
    co_return won.index() * 2 + (late ? 1 : 0);
}
TEST(sim_network_edges, can_be_raced) {
    std::array<std::size_t, 4> seen{};
    const auto r = explore({.runs = 400}, [&](simulation&) {
        sim_network net;
        sim_executor on;
        auto env = coflux::make_environment(on);
        ++seen[takes_the_first(env).get()];
    });
    EXPECT_TRUE(r.ok()) << r.report();
    EXPECT_GT(seen[0] + seen[1], 0U);
    EXPECT_GT(seen[2] + seen[3], 0U);
    EXPECT_GT(seen[1] + seen[3], 0U);
}

// --- local sockets, several buffers, halves

coflux::task<std::string, sim_executor> uses_what_streams_have(environment&) {
    coflux::unix_listener listener(endpoint::local("/no/such/folder/name"));
    coflux::unix_stream near = co_await coflux::unix_stream::connect(endpoint::local("/no/such/folder/name"));
    coflux::unix_stream far = co_await listener.accept();
    const std::array<std::span<const std::byte>, 3> parts{
        std::as_bytes(std::span("ab", 2)), {}, std::as_bytes(std::span("cde", 3))};
    co_await near.write_all(parts);
    auto [reader, writer] = std::move(far).split();
    std::string first(3, ' ');
    std::string second(2, ' ');
    co_await reader.read_exactly(bytes_of(first));
    const std::array<std::span<std::byte>, 1> rest{bytes_of(second)};
    std::size_t n = co_await reader.read_some(rest);
    if (n == 1) n += co_await reader.read_some(bytes_of(second).subspan(1));
    writer.close();
    std::byte none{};
    if (co_await near.read_some(std::span(&none, 1)) != 0 || n != 2) throw std::runtime_error("no end");
    co_return first + second;
}
TEST(sim_network_edges, carries_local_streams_buffers_and_halves) {
    const auto r = explore({.runs = 100}, [](simulation&) {
        sim_network net;
        sim_executor on;
        auto env = coflux::make_environment(on);
        if (const std::string got = uses_what_streams_have(env).get(); got != "abcde") throw std::runtime_error(got);
    });
    EXPECT_TRUE(r.ok()) << r.report();
}

// --- executors

coflux::task<std::string, sim_executor> reads_on(environment&, borrowed<tcp_stream> from) {
    std::string got(3, ' ');
    co_await from->read_exactly(bytes_of(got));
    co_return got;
}
coflux::task<void, sim_executor> writes_on(environment&, borrowed<tcp_stream> to) {
    co_await to->write_all("abc");
}
coflux::task<ends, sim_executor> connects_on(environment&) {
    auto&& here = co_await coflux::context();
    co_return co_await connected(here);
}
TEST(sim_network_edges, lets_two_executors_use_one_connection) {
    const auto r = explore({.runs = 100}, [](simulation&) {
        sim_network net;
        sim_executor one;
        sim_executor two;
        auto env_one = coflux::make_environment(one);
        auto env_two = coflux::make_environment(two);
        ends p = connects_on(env_one).get();
        auto to_near = reads_on(env_one, borrowed(p.near));
        auto to_far = reads_on(env_two, borrowed(p.far));
        auto from_near = writes_on(env_two, borrowed(p.near));
        auto from_far = writes_on(env_one, borrowed(p.far));
        from_near.get();
        from_far.get();
        if (to_near.get() != "abc" || to_far.get() != "abc") throw std::runtime_error("not what was sent");
    });
    EXPECT_TRUE(r.ok()) << r.report();
}

coflux::task<void, sim_executor> ends_while_children_wait(environment&) {
    auto&& here = co_await coflux::context();
    ends p = co_await connected(here);
    auto inside = coflux::make_environment(here);
    const auto reads = [](environment&, borrowed<tcp_stream> from) -> coflux::fork<void> {
        std::byte one{};
        co_await from->read_exactly(std::span(&one, 1));
    };
    reads(inside, borrowed(p.near)).attach();
    co_await coflux::sleep_for(1ms);
    inside.request_stop();
    co_await inside.join();
    throw std::runtime_error("after all");
}
TEST(sim_network_edges, leaves_nothing_where_a_coroutine_throws) {
    fifo_chooser fifo;
    simulation sim(fifo);
    sim_network net(sim);
    sim_executor on;
    auto env = coflux::make_environment(on);
    EXPECT_THROW(ends_while_children_wait(env).get(), std::runtime_error);
    EXPECT_EQ(net.open_sockets(), 0U);
}

coflux::task<void> waits_elsewhere(environment&) {
    tcp_listener listener(endpoint::loopback(80));
    tcp_stream never = co_await listener.accept();
}
TEST(sim_network_edges_death, is_waited_for_on_an_executor_that_it_does_not_know) {
    fifo_chooser fifo;
    simulation sim(fifo);
    EXPECT_DEATH(
        {
            sim_network net(sim);
            coflux::run_loop loop;
            auto env = coflux::make_environment(loop);
            auto waiting = waits_elsewhere(env);
            loop.poll();
        },
        "a coroutine waits for a simulated socket on an executor that is not of its simulation");
}

coflux::task<void, sim_executor> accepts_twice_at_a_time(environment&) {
    auto&& here = co_await coflux::context();
    tcp_listener listener(endpoint::loopback(80));
    const auto accepts = [](environment&, borrowed<tcp_listener> at) -> coflux::fork<void> {
        tcp_stream one = co_await at->accept();
    };
    auto first = accepts(here, borrowed(listener));
    auto second = accepts(here, borrowed(listener));
    co_await coflux::when_all(std::move(first), std::move(second));
}
TEST(sim_network_edges_death, has_options_that_make_no_sense) {
    fifo_chooser fifo;
    simulation sim(fifo);
    EXPECT_DEATH((void)sim_network(sim, {.buffer = 0}), "connections of a simulated network that hold no bytes");
    EXPECT_DEATH((void)sim_network(sim, {.messages = 0}), "sockets of a simulated network that hold no datagrams");
    EXPECT_DEATH((void)sim_network(sim, {.latency = -1ms}), "a latency of a simulated network that is negative");
    EXPECT_DEATH(
        {
            sim_network net(sim);
            net.latency(net.host("10.0.0.1"), net.host("10.0.0.2"), -1ms);
        },
        "a latency of a simulated network that is negative");
}
TEST(sim_network_edges_death, is_waited_for_by_two_in_one_direction) {
    fifo_chooser fifo;
    simulation sim(fifo);
    EXPECT_DEATH(
        {
            sim_network net(sim);
            sim_executor on;
            auto env = coflux::make_environment(on);
            accepts_twice_at_a_time(env).get();
        },
        "two coroutines wait for the same direction of a socket");
}

}  // namespace

// Programs as a user writes them after reading docs/howto/simulate-a-network.md, against a network in its worst mood.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/explore.hpp>
#include <coflux/testing/replay_chooser.hpp>
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
using coflux::udp_socket;
using coflux::testing::explore;
using coflux::testing::random_chooser;
using coflux::testing::search_kind;
using coflux::testing::sim_executor;
using coflux::testing::sim_host;
using coflux::testing::sim_network;
using coflux::testing::simulation;

std::span<std::byte> bytes_of(std::string& s) {
    return std::as_writable_bytes(std::span(s));
}
template <typename Environment>
struct stop_at_end {
    Environment& what;
    ~stop_at_end() { what.request_stop(); }
};

// --- a question that is asked again, over UDP

/// Each question has a number. The right one knows which it has counted.
template <bool Right>
coflux::task<void, sim_executor> count(environment&, borrowed<udp_socket> at, borrowed<int> counted) {
    std::set<std::string> known;
    std::string question(8, ' ');
    for (;;) {
        const auto got = co_await at->receive_from(bytes_of(question));
        if (known.insert(question.substr(0, got.size)).second || !Right) ++*counted;
        co_await at->send_to(question.substr(0, got.size), got.from);
    }
}
/// Asks twice. The right one looks which question an answer is of.
template <bool Right>
coflux::task<bool, sim_executor> ask_until_answered(environment&, endpoint server) {
    udp_socket socket(endpoint::any(0));
    socket.connect(server);
    bool all = true;
    for (const char* const number : {"1", "2"}) {
        bool answered = false;
        for (int i = 0; i != 3 && !answered; ++i) {
            co_await socket.send(std::string_view(number));
            std::string answer(8, ' ');
            while (const auto n = co_await coflux::timeout(socket.receive(bytes_of(answer)), 1s)) {
                answered = answer.substr(0, *n) == number;
                if (answered) break;
                if (!Right) throw std::runtime_error("the answer to another question");
            }
        }
        all = all && answered;
    }
    co_return all;
}
template <bool RightServer, bool RightClient>
coflux::testing::exploration search(std::size_t faults) {
    return explore({.runs = 400'000, .search = search_kind::exhaustive, .deviations = 3}, [faults](simulation&) {
        sim_network net({.latency = 1ms, .faults = faults});
        sim_host server = net.host("10.0.0.1");
        sim_executor on_server = server.executor();
        sim_executor on_client = net.host("10.0.0.2").executor();
        auto servers = coflux::make_environment(on_server);
        auto clients = coflux::make_environment(on_client);
        udp_socket socket(server.at(53));
        int counted = 0;
        auto counting = count<RightServer>(servers, borrowed(socket), borrowed(counted));
        const stop_at_end<decltype(servers)> ends{servers};
        const bool answered = ask_until_answered<RightClient>(clients, server.at(53)).get();
        if (!answered) throw std::runtime_error("no answer");
        if (counted != 2) throw std::runtime_error("counted " + std::to_string(counted));
    });
}
TEST(sim_network_programs, ask_again_over_udp_and_are_searched_whole) {
    const auto right = search<true, true>(2);
    EXPECT_TRUE(right.ok()) << right.report();
    EXPECT_TRUE(right.exhausted);
    EXPECT_GT(right.runs, 100U);

    const auto counts_twice = search<false, true>(2);
    ASSERT_FALSE(counts_twice.ok());
    EXPECT_EQ(counts_twice.failure->what, "counted 3");
    const std::string schedule = coflux::testing::to_text(counts_twice.failure->schedule);
    EXPECT_EQ(schedule.find(','), std::string::npos) << schedule;  // one deviation is enough
    const auto believes_all = search<true, false>(2);
    ASSERT_FALSE(believes_all.ok());
    EXPECT_EQ(believes_all.failure->what, "the answer to another question");
    const auto gives_up = search<true, true>(3);  // one more than it is made for
    ASSERT_FALSE(gives_up.ok());
    EXPECT_EQ(gives_up.failure->what, "no answer");
}

// --- a server that crashes, and comes back

coflux::fork<void, sim_executor> echoes(environment&, tcp_stream peer) {
    std::array<std::byte, 4> some{};
    for (;;) {
        auto n = co_await coflux::timeout(as_result(peer.read_some(some)), 10s);
        if (!n || *n == 0) co_return;
        auto sent = co_await as_result(peer.write_all(std::span(some).first(*n)));
        if (sent.error()) co_return;
    }
}
/// Until its machine is lost.
coflux::fork<void, sim_executor> serves(environment&, endpoint at) {
    auto&& here = co_await coflux::context();
    tcp_listener listener(at);
    for (;;) {
        auto accepted = co_await as_result(listener.accept());
        if (accepted) {
            echoes(here, std::move(*accepted)).attach();
        } else if (accepted.error() == std::errc::too_many_files_open) {
            co_await 10ms;
        } else {
            co_return;
        }
    }
}
struct server_life {
    sim_network& net;
    sim_host server;
    sim_host client;
    int crashes = 0;
};
coflux::task<void, sim_executor> lives_and_dies(environment&, borrowed<server_life> life) {
    auto&& here = co_await coflux::context();
    auto lives = serves(here, life->server.at(80));
    for (int i = 0; i != life->crashes; ++i) {
        co_await (i % 2 == 0 ? 5ms : 25ms);
        life->net.crash(life->server);
        co_await std::move(lives);
        co_await 7ms;
        life->net.restart(life->server);
        lives = serves(here, life->server.at(80));
    }
    co_await std::move(lives);
}
coflux::call<bool> is_echoed(environment&, endpoint where) {
    auto made = co_await coflux::timeout(as_result(tcp_stream::connect(where)), 200s);
    if (!made) co_return false;
    tcp_stream& peer = *made;
    auto sent = co_await as_result(peer.write_all("hello"));
    std::string got(5, ' ');
    auto n = co_await coflux::timeout(as_result(peer.read_exactly(bytes_of(got))), 1min);
    co_return !sent.error() && n && got == "hello";
}
coflux::task<int, sim_executor> tries_until_echoed(environment&, endpoint where) {
    auto&& here = co_await coflux::context();
    for (int tries = 1; tries != 20; ++tries) {
        if (co_await is_echoed(here, where)) co_return tries;
        co_await 1s;
    }
    throw std::runtime_error("never");
}
TEST(sim_network_programs, live_through_a_crash_in_an_accept_or_wherever_it_comes) {
    std::set<int> tries;
    const auto r = explore({.runs = coflux_test::repetitions(3'000)}, [&](simulation&) {
        sim_network net({.latency = 2ms, .faults = 2});
        server_life life{net, net.host("10.0.0.1"), net.host("10.0.0.2"), 3};
        sim_executor on_server = life.server.executor();
        sim_executor on_client = life.client.executor();
        auto servers = coflux::make_environment(on_server);
        auto clients = coflux::make_environment(on_client);
        auto living = lives_and_dies(servers, borrowed(life));
        const stop_at_end<decltype(servers)> ends{servers};
        tries.insert(tries_until_echoed(clients, life.server.at(80)).get());
    });
    EXPECT_TRUE(r.ok()) << r.report();
    EXPECT_GT(tries.size(), 2U);
}

// --- a partition that comes in a handshake, or anywhere

coflux::fork<void, sim_executor> separates(environment&, borrowed<server_life> life, std::chrono::nanoseconds begin,
                                           std::chrono::nanoseconds length) {
    co_await begin;
    life->net.partition(life->server, life->client);
    co_await length;
    life->net.heal(life->client, life->server);
}
coflux::task<int, sim_executor> tries_beside_a_partition(environment&, borrowed<server_life> life,
                                                         std::chrono::nanoseconds begin,
                                                         std::chrono::nanoseconds length) {
    auto&& here = co_await coflux::context();
    auto separating = separates(here, life, begin, length);
    int tries = 1;
    while (!co_await is_echoed(here, life->server.at(80))) {
        if (++tries == 200) throw std::runtime_error("never");
        co_await 1s;
    }
    co_await std::move(separating);
    co_return tries;
}
TEST(sim_network_programs, connect_after_a_partition_wherever_it_comes) {
    std::set<int> tries;
    for (const std::chrono::nanoseconds length :
         {std::chrono::nanoseconds(3ms), std::chrono::nanoseconds(2min), std::chrono::nanoseconds(1h)}) {
        for (auto begin = 0ms; begin != 14ms; begin += 1ms) {
            const auto r = explore({.runs = 40}, [&](simulation&) {
                sim_network net({.latency = 2ms});
                server_life life{net, net.host("10.0.0.1"), net.host("10.0.0.2")};
                sim_executor on_server = life.server.executor();
                sim_executor on_client = life.client.executor();
                auto servers = coflux::make_environment(on_server);
                auto clients = coflux::make_environment(on_client);
                auto living = lives_and_dies(servers, borrowed(life));
                const stop_at_end<decltype(servers)> ends{servers};
                tries.insert(tries_beside_a_partition(clients, borrowed(life), begin, length).get());
                // A connection that the partition left half open ends by the server's own limit.
                coflux::testing::simulation::current()->advance(1h);
                if (life.server.open_sockets() != 1) throw std::runtime_error("half open:\n" + net.dump());
            });
            EXPECT_TRUE(r.ok()) << r.report() << begin.count() << ' ' << length.count();
        }
    }
    EXPECT_GT(tries.size(), 1U);
}

// --- limits beside arrivals

coflux::task<void, sim_executor> sends_each_tenth(environment&, borrowed<udp_socket> from, endpoint to) {
    for (const char* const text : {"a", "b", "c"}) {
        co_await from->send_to(std::string_view(text), to);
        co_await 10ms;
    }
}
coflux::task<int, sim_executor> counts_time_outs(environment&, borrowed<udp_socket> at) {
    std::set<char> got;
    int late = 0;
    while (got.size() != 3) {
        std::string into(4, ' ');
        const auto n = co_await coflux::timeout(at->receive(bytes_of(into)), 10ms);
        if (n && !got.insert(into[0]).second) throw std::runtime_error("twice");
        late += n ? 0 : 1;
        if (late == 10) throw std::runtime_error("a message was lost to a limit");
    }
    co_return late;
}
TEST(sim_network_programs, lose_no_datagram_to_a_limit_that_passes_as_it_arrives) {
    std::set<int> late;
    const auto r = explore({.runs = coflux_test::repetitions(2'000)}, [&](simulation&) {
        sim_network net({.latency = 10ms});
        sim_host a = net.host("10.0.0.1");
        sim_host b = net.host("10.0.0.2");
        sim_executor on_a = a.executor();
        sim_executor on_b = b.executor();
        udp_socket from(a.at(1));
        udp_socket at(b.at(2));
        auto senders = coflux::make_environment(on_a);
        auto receivers = coflux::make_environment(on_b);
        auto sending = sends_each_tenth(senders, borrowed(from), b.at(2));
        late.insert(counts_time_outs(receivers, borrowed(at)).get());
        sending.get();
    });
    EXPECT_TRUE(r.ok()) << r.report();
    EXPECT_GT(late.size(), 1U);
}

// --- a stop anywhere

TEST(sim_network_programs, leave_no_socket_of_datagrams_to_a_stop_at_any_step) {
    std::size_t last = 0;
    for (std::size_t at = 1; at != 60; ++at) {
        for (std::uint64_t seed = 0; seed != 4; ++seed) {
            random_chooser random(seed);
            simulation sim(random);
            sim_network net(sim, {.latency = 1ms, .faults = 2});
            {
                sim_host server = net.host("10.0.0.1");
                sim_executor on_server = server.executor();
                sim_executor on_client = net.host("10.0.0.2").executor();
                auto servers = coflux::make_environment(on_server);
                auto clients = coflux::make_environment(on_client);
                udp_socket socket(server.at(53));
                int counted = 0;
                auto counting = count<true>(servers, borrowed(socket), borrowed(counted));
                const stop_at_end<decltype(servers)> ends{servers};
                auto asking = ask_until_answered<true>(clients, server.at(53));
                sim.on_step([&](std::size_t n) {
                    if (n == at) clients.request_stop();
                });
                asking.join();
                sim.on_step(nullptr);
                last = std::max(last, sim.steps());
                EXPECT_EQ(net.open_sockets(), 1U) << at << ' ' << seed;
            }
            EXPECT_EQ(net.open_sockets(), 0U);
        }
    }
    EXPECT_LT(last, 60U);
}

}  // namespace

// Programs with the faults that programs with sockets have: the simulated network breaks each within a thousand seeds,
// and the same without its fault lives through ten thousand.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/explore.hpp>
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
using coflux::testing::exploration;
using coflux::testing::sim_executor;
using coflux::testing::sim_host;
using coflux::testing::sim_network;
using coflux::testing::sim_network_options;

std::span<std::byte> bytes_of(std::string& s) {
    return std::as_writable_bytes(std::span(s));
}

using server_program = coflux::task<void, sim_executor>(environment&, borrowed<tcp_listener>);
using client_program = coflux::task<void, sim_executor>(environment&, endpoint);

/// One server, and a client of it that says by an exception that something is wrong.
void run_both(const sim_network_options& options, server_program& serve, client_program& ask) {
    sim_network net(options);
    sim_host a = net.host("10.0.0.1");
    sim_executor on_a = a.executor();
    sim_executor on_b = net.host("10.0.0.2").executor();
    tcp_listener listener(a.at(80));
    auto servers = coflux::make_environment(on_a);
    auto clients = coflux::make_environment(on_b);
    auto serving = serve(servers, borrowed(listener));
    struct stop_at_end {
        decltype(servers)& what;
        ~stop_at_end() { what.request_stop(); }
    } const ends{servers};
    ask(clients, a.at(80)).get();
}

exploration break_it(const sim_network_options& options, server_program& serve, client_program& ask) {
    return coflux::testing::explore({.runs = 1000},
                                    [&](coflux::testing::simulation&) { run_both(options, serve, ask); });
}
/// Checks a program that is right.
void expect_whole(const sim_network_options& options, server_program& serve, client_program& ask) {
    const auto r = coflux::testing::explore({.runs = coflux_test::repetitions(10'000)},
                                            [&](coflux::testing::simulation&) { run_both(options, serve, ask); });
    EXPECT_TRUE(r.ok()) << r.report();
    EXPECT_GT(r.distinct, r.runs / 4);
}

// --- a short read

/// A length in four digits, and so many bytes.
coflux::call<void> send_message(environment&, tcp_stream& to, std::string text) {
    std::string length = std::to_string(text.size());
    length.insert(0, 4 - length.size(), '0');
    co_await to.write_all(length + text);
}
coflux::call<std::string> receive_message(environment&, tcp_stream& from) {
    std::string length(4, '0');
    co_await from.read_exactly(bytes_of(length));
    std::string text(std::stoul(length), ' ');
    co_await from.read_exactly(bytes_of(text));
    co_return text;
}
coflux::call<std::string> receive_what_comes(environment&, tcp_stream& from) {
    std::string length(4, '0');
    co_await from.read_exactly(bytes_of(length));
    std::string text(std::stoul(length), ' ');
    (void)co_await from.read_some(bytes_of(text));  // the fault: "it is short, so it comes at once"
    co_return text;
}
template <bool Right>
coflux::task<void, sim_executor> answers(environment&, borrowed<tcp_listener> at) {
    auto&& here = co_await coflux::context();
    tcp_stream peer = co_await at->accept();
    const std::string got = Right ? co_await receive_message(here, peer) : co_await receive_what_comes(here, peer);
    co_await send_message(here, peer, got);
}
coflux::task<void, sim_executor> asks_once(environment&, endpoint where) {
    auto&& here = co_await coflux::context();
    tcp_stream peer = co_await tcp_stream::connect(where);
    co_await send_message(here, peer, "a question");
    if (co_await receive_message(here, peer) != "a question") throw std::runtime_error("another question");
}
TEST(sim_network_faults, finds_a_short_read_that_is_ignored) {
    const auto r = break_it({}, answers<false>, asks_once);
    EXPECT_FALSE(r.ok());
    EXPECT_LT(r.runs, 1000U);
    expect_whole({}, answers<true>, asks_once);
}

// --- a partial write

template <bool Right>
coflux::task<void, sim_executor> sends_a_page(environment&, borrowed<tcp_listener> at) {
    tcp_stream peer = co_await at->accept();
    const std::string page(48, 'p');
    if (Right) {
        std::string_view rest = page;
        while (!rest.empty()) rest.remove_prefix(co_await peer.write_some(rest));
    } else {
        (void)co_await peer.write_some(page);  // the fault: there is room for more than a page
    }
    peer.shutdown_send();
    std::byte none{};
    (void)co_await as_result(peer.read_some(std::span(&none, 1)));
}
coflux::task<void, sim_executor> gets_a_page(environment&, endpoint where) {
    tcp_stream peer = co_await tcp_stream::connect(where);
    std::string page;
    std::array<std::byte, 16> some{};
    while (const std::size_t n = co_await peer.read_some(some))
        page.append(reinterpret_cast<const char*>(some.data()), n);
    if (page.size() != 48) throw std::runtime_error("a page of " + std::to_string(page.size()) + " bytes");
}
TEST(sim_network_faults, finds_a_partial_write_that_is_lost) {
    const auto fifo = coflux::testing::explore(
        {.runs = 1}, [](coflux::testing::simulation&) { run_both({.buffer = 64}, sends_a_page<false>, gets_a_page); });
    EXPECT_TRUE(fifo.ok()) << fifo.report();  // on a good day no check sees it
    const auto r = break_it({.buffer = 64}, sends_a_page<false>, gets_a_page);
    EXPECT_FALSE(r.ok());
    EXPECT_LT(r.runs, 1000U);
    expect_whole({.buffer = 64}, sends_a_page<true>, gets_a_page);
}

// --- an accept loop without descriptors

coflux::fork<void, sim_executor> greets(environment&, tcp_stream peer) {
    co_await peer.write_all("hello");
    peer.shutdown_send();
    std::byte none{};
    (void)co_await as_result(peer.read_some(std::span(&none, 1)));
}
template <bool Right>
coflux::task<void, sim_executor> accepts_for_ever(environment&, borrowed<tcp_listener> at) {
    auto&& here = co_await coflux::context();
    for (;;) {
        if (!Right) {
            greets(here, co_await at->accept()).attach();  // the fault: too_many_files_open ends the loop
            continue;
        }
        auto accepted = co_await as_result(at->accept());
        if (accepted) {
            greets(here, std::move(*accepted)).attach();
        } else if (accepted.error() == std::errc::too_many_files_open) {
            co_await coflux::sleep_for(10ms);
        } else {
            throw std::system_error(accepted.error());
        }
    }
}
coflux::task<void, sim_executor> is_greeted_twice(environment&, endpoint where) {
    for (int i = 0; i < 2; ++i) {
        tcp_stream peer = co_await tcp_stream::connect(where);
        std::string text(5, ' ');
        co_await peer.read_exactly(bytes_of(text));
        if (text != "hello") throw std::runtime_error("'" + text + "'");
    }
}
TEST(sim_network_faults, finds_an_accept_loop_that_dies_without_descriptors) {
    const sim_network_options options{.faults = 3, .refuses = false, .resets = false};
    const auto r = break_it(options, accepts_for_ever<false>, is_greeted_twice);
    EXPECT_FALSE(r.ok());
    EXPECT_LT(r.runs, 1000U);
    expect_whole(options, accepts_for_ever<true>, is_greeted_twice);
}

// --- a half-closed connection

/// Answers each byte, and says good-bye once no more comes.
coflux::fork<void, sim_executor> says_good_bye(environment&, borrowed<tcp_listener> at) {
    tcp_stream peer = co_await at->accept();
    std::byte one{};
    while (co_await peer.read_some(std::span(&one, 1)) != 0) co_await peer.write_all(std::span(&one, 1));
    co_await peer.write_all("bye");
}
coflux::fork<void, sim_executor> copies(environment&, borrowed<tcp_stream> from, borrowed<tcp_stream> to) {
    std::array<std::byte, 4> some{};
    while (const std::size_t n = co_await from->read_some(some)) co_await to->write_all(std::span(some).first(n));
    to->shutdown_send();
}
/// A relay in front of it.
template <bool Right>
coflux::task<void, sim_executor> relays(environment&, borrowed<tcp_listener> at) {
    auto&& here = co_await coflux::context();
    tcp_listener behind(endpoint::loopback(0));
    auto server = says_good_bye(here, borrowed(behind));
    tcp_stream out = co_await tcp_stream::connect(behind.local_endpoint());
    tcp_stream in = co_await at->accept();
    auto there = copies(here, borrowed(in), borrowed(out));
    auto back = copies(here, borrowed(out), borrowed(in));
    if (Right) {
        co_await coflux::when_all(std::move(there), std::move(back));
    } else {
        (void)co_await coflux::when_any(std::move(there), std::move(back));  // the fault: it ends both ways with one
    }
    co_await std::move(server);
}
coflux::task<void, sim_executor> hears_good_bye(environment&, endpoint where) {
    tcp_stream peer = co_await tcp_stream::connect(where);
    co_await peer.write_all("a");
    peer.shutdown_send();
    std::string answer(4, ' ');
    co_await peer.read_exactly(bytes_of(answer));
    if (answer != "abye") throw std::runtime_error("'" + answer + "'");
    std::byte more{};
    if (co_await peer.read_some(std::span(&more, 1)) != 0) throw std::runtime_error("more than an answer");
}
TEST(sim_network_faults, finds_a_half_close_that_is_missed) {
    const auto r = break_it({}, relays<false>, hears_good_bye);
    EXPECT_FALSE(r.ok());
    EXPECT_LT(r.runs, 1000U);
    expect_whole({}, relays<true>, hears_good_bye);
}

/// A fault of a client: the server answers what has come once no more comes.
template <bool Right>
coflux::task<void, sim_executor> asks_for_all(environment&, endpoint where) {
    tcp_stream peer = co_await tcp_stream::connect(where);
    co_await peer.write_all("x");
    if (Right) peer.shutdown_send();
    std::string answer(4, ' ');
    co_await peer.read_exactly(bytes_of(answer));
}
coflux::task<void, sim_executor> serves_good_byes(environment&, borrowed<tcp_listener> at) {
    auto&& here = co_await coflux::context();
    co_await says_good_bye(here, at);
}
TEST(sim_network_faults, shows_who_waits_for_an_end_that_never_comes) {
    const auto r = break_it({}, serves_good_byes, asks_for_all<false>);
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.failure->kind, coflux::testing::failure_kind::deadlock);
    EXPECT_NE(r.failure->what.find("\nnetwork:\n"), std::string::npos) << r.failure->what;
    expect_whole({}, serves_good_byes, asks_for_all<true>);
}

// --- shrinking

/// Yields once more where it has its turn twice in a row: how many decisions come hangs on those before.
coflux::fork<void, sim_executor> yields(environment&, borrowed<int> last, int self) {
    for (int i = 0; i < 8; ++i) {
        if (std::exchange(*last, self) == self) co_await coflux::yield();
        co_await coflux::yield();
    }
}
coflux::task<void, sim_executor> yields_and_connects(environment&, endpoint to) {
    auto&& here = co_await coflux::context();
    int last = 0;
    auto one = yields(here, borrowed(last), 1);
    auto two = yields(here, borrowed(last), 2);
    auto three = yields(here, borrowed(last), 3);
    co_await coflux::when_all(std::move(one), std::move(two), std::move(three));
    if (!co_await as_result(tcp_stream::connect(to))) throw std::runtime_error("refused");
}
coflux::task<void, sim_executor> accepts_one(environment&, borrowed<tcp_listener> from) {
    (void)co_await from->accept();
}
/// Each fourth seed chooses at random.
TEST(sim_network_faults, stay_where_what_comes_before_them_is_left_out) {
    std::size_t tried = 0;
    for (std::uint64_t seed = 4; tried != 10; seed += 4) {
        const auto r = coflux::testing::explore({.runs = 1, .first_seed = seed}, [](coflux::testing::simulation&) {
            run_both({.faults = 1, .resets = false, .no_descriptors = false}, accepts_one, yields_and_connects);
        });
        if (r.ok()) continue;
        ++tried;
        EXPECT_GT(r.failure->deviations_found, 5U);
        const auto& small = r.failure->schedule;
        EXPECT_EQ(std::count_if(small.begin(), small.end(), [](const auto& d) { return d.chosen != 0; }), 1)
            << r.report();
    }
}

}  // namespace

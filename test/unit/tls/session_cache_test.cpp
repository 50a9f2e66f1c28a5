// Sessions that a client resumes.
#include <coflux/tls/session_cache.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/testing/chooser.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/sim_network.hpp>
#include <coflux/testing/simulation.hpp>

#include "tls_scenes.hpp"

namespace {

using namespace coflux_test;
using coflux::tls_context;
using coflux::tls_session_cache;
using coflux::tls_version;

/// A client that keeps sessions in `cache`, and speaks one version only.
tls_context client_with(const tls_session_cache& cache, tls_version version = tls_version::tls_1_3) {
    auto options = trusting_options();
    options.least = options.most = version;
    options.sessions = cache;
    return tls_context::client(options);
}

/// Before the handshakes.
coflux::call<tls_pair> connected(coflux::environment&, coflux::tcp_listener& at, tls_context client, tls_context server,
                                 std::string host) {
    auto near = co_await coflux::tcp_stream::connect(at.local_endpoint());
    auto far = co_await at.accept();
    co_return tls_pair{tls_stream(client, std::move(near), host), tls_stream(server, std::move(far))};
}
/// The handshakes, and a byte of the server: what it has sent before, as tickets, has come then.
coflux::call<void> shake(coflux::environment&, tls_pair& p) {
    auto&& here = co_await coflux::context();
    co_await coflux::when_all(p.near.handshake(here), p.far.handshake(here));
    co_await p.far.write_all(here, "x");
    std::string byte(1, ' ');
    co_await p.near.read_exactly(here, bytes_of(byte));
}
/// One connection after the other: true for each that was resumed. Both sides say so. Each is just cut at its end.
coflux::call<std::string> resumed_of(coflux::environment&, coflux::tcp_listener& at, tls_context client,
                                     tls_context server, int connections, std::string host = "localhost") {
    auto&& here = co_await coflux::context();
    std::string told;
    for (int i = 0; i != connections; ++i) {
        tls_pair p = co_await connected(here, at, client, server, host);
        EXPECT_FALSE(p.near.resumed());
        co_await shake(here, p);
        EXPECT_EQ(p.near.resumed(), p.far.resumed());
        EXPECT_EQ(p.near.peer_subject(), "CN=localhost");
        told += p.near.resumed() ? 'r' : 'f';
    }
    co_return told;
}

coflux::call<void> resumes_all_but_the_first(coflux::environment&) {
    auto&& here = co_await coflux::context();
    for (const tls_version version : {tls_version::tls_1_2, tls_version::tls_1_3}) {
        coflux::tcp_listener at(coflux::endpoint::loopback(0));
        const auto server = localhost_server();
        const auto with = client_with(tls_session_cache(), version);
        const std::string told = co_await resumed_of(here, at, with, server, 5);
        EXPECT_EQ(told, "frrrr");
        const std::string without = co_await resumed_of(here, at, trusting_client(), server, 3);
        EXPECT_EQ(without, "fff");
    }
}
TEST(tls_session_cache, lets_a_later_connection_resume_the_session) {
    on_worker(resumes_all_but_the_first);
}

coflux::call<void> keeps_to_server_and_name(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener at(coflux::endpoint::loopback(0));
    coflux::tcp_listener other_port(coflux::endpoint::loopback(0));
    const auto server = localhost_server();
    const tls_session_cache cache;
    auto options = trusting_options();
    options.verifies_peer = false;
    options.sessions = cache;
    const auto client = tls_context::client(options);
    std::string told = co_await resumed_of(here, at, client, server, 2);
    told += co_await resumed_of(here, other_port, client, server, 2);
    told += co_await resumed_of(here, at, client, server, 2, "another.host");
    told += co_await resumed_of(here, at, client, server, 2, "");
    EXPECT_EQ(told, "frfrfrfr");
}
TEST(tls_session_cache, tells_hosts_and_ports_apart) {
    on_worker(keeps_to_server_and_name);
}

/// A ticket is for one connection; a session of TLS 1.2 for all that come.
coflux::call<void> shares_what_may_be_shared(coflux::environment&) {
    auto&& here = co_await coflux::context();
    for (const tls_version version : {tls_version::tls_1_2, tls_version::tls_1_3}) {
        coflux::tcp_listener at(coflux::endpoint::loopback(0));
        const auto server = localhost_server();
        const tls_session_cache cache;
        const auto client = client_with(cache, version);
        (void)co_await resumed_of(here, at, client, server, 1);
        EXPECT_EQ(cache.size(), version == tls_version::tls_1_2 ? 1U : 2U);
        std::vector<tls_pair> pairs;
        for (int i = 0; i != 3; ++i) pairs.push_back(co_await connected(here, at, client, server, "localhost"));
        std::string told;
        for (tls_pair& p : pairs) {
            co_await shake(here, p);
            told += p.near.resumed() ? 'r' : 'f';
        }
        EXPECT_EQ(told, version == tls_version::tls_1_2 ? "rrr" : "rrf");
    }
}
TEST(tls_session_cache, uses_a_ticket_for_one_connection_only) {
    on_worker(shares_what_may_be_shared);
}

coflux::call<void> fills(coflux::environment&, tls_context client, tls_context server, std::size_t connections) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener at(coflux::endpoint::loopback(0));
    std::vector<tls_pair> pairs;
    for (std::size_t i = 0; i != connections; ++i)
        pairs.push_back(co_await connected(here, at, client, server, "localhost"));
    for (tls_pair& p : pairs) co_await shake(here, p);
}
coflux::call<void> stays_within_its_limits(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const auto server = localhost_server();
    const tls_session_cache large;
    const auto client = client_with(large);
    co_await fills(here, client, server, 6);  // two tickets each
    EXPECT_EQ(large.size(), 8U);
    co_await fills(here, client, server, 6);  // of another port
    EXPECT_EQ(large.size(), 16U);
    const tls_session_cache small(3);
    co_await fills(here, client_with(small), server, 3);
    EXPECT_EQ(small.size(), 3U);
}
TEST(tls_session_cache, keeps_eight_of_a_server_and_no_more_than_it_has_room_for) {
    on_worker(stays_within_its_limits);
}

coflux::call<void> forgets(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener at(coflux::endpoint::loopback(0));
    tls_session_cache cache;
    const auto client = client_with(cache);
    std::string told = co_await resumed_of(here, at, client, localhost_server(), 1);
    cache.clear();
    EXPECT_EQ(cache.size(), 0U);
    // Each server has keys of its own, and cannot read the tickets of the one before.
    told += co_await resumed_of(here, at, client, localhost_server(), 2);
    told += co_await resumed_of(here, at, client, localhost_server(), 2);
    EXPECT_EQ(told, "ffrfr");
}
TEST(tls_session_cache, leads_to_a_full_handshake_where_it_is_cleared_or_the_server_is_another) {
    on_worker(forgets);
}

/// The server at the port now has no certificate that the client trusts.
coflux::call<void> verifies_again(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener at(coflux::endpoint::loopback(0));
    const auto client = client_with(tls_session_cache());
    (void)co_await resumed_of(here, at, client, localhost_server(), 1);
    const certificate own = make_certificate("localhost", nullptr);
    tls_pair p = co_await connected(here, at, client, tls_context::server({.identity = own.identity()}), "localhost");
    const auto [near, far] = co_await coflux::when_all_outcomes(p.near.handshake(here), p.far.handshake(here));
    std::error_code failure;
    try {
        near.value();
    } catch (const std::system_error& e) {
        failure = e.code();
    }
    EXPECT_EQ(failure, coflux::tls_errc::certificate_refused);
    EXPECT_TRUE(far.has_error());
}
TEST(tls_session_cache, helps_no_other_server) {
    on_worker(verifies_again);
}

coflux::call<void> refuses_what_is_out_of_date(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener at(coflux::endpoint::loopback(0));
    const certificate old = make_certificate("localhost", &root(), -60);
    const tls_session_cache cache;
    auto options = trusting_options();
    options.verifies_peer = false;
    options.sessions = cache;
    const std::string told = co_await resumed_of(here, at, tls_context::client(options),
                                                 tls_context::server({.identity = old.identity()}), 2);
    EXPECT_EQ(told, "ff");
    EXPECT_EQ(cache.size(), 0U);
}
TEST(tls_session_cache, resumes_no_session_whose_certificate_is_out_of_date) {
    on_worker(refuses_what_is_out_of_date);
}

coflux::call<void> knows_the_client_again(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener at(coflux::endpoint::loopback(0));
    auto options = trusting_options();
    options.identity = localhost().identity();
    options.sessions = tls_session_cache();
    const auto client = tls_context::client(options);
    const auto server = tls_context::server(
        {.identity = localhost().identity(), .trusted_clients = coflux::tls_pem::text(root().pem())});
    for (const bool resumed : {false, true}) {
        tls_pair p = co_await connected(here, at, client, server, "localhost");
        co_await shake(here, p);
        EXPECT_EQ(p.far.resumed(), resumed);
        EXPECT_EQ(p.far.peer_subject(), "CN=localhost");
    }
}
TEST(tls_session_cache, brings_the_certificate_of_the_client_along) {
    on_worker(knows_the_client_again);
}

template <typename F>
std::string refusal_of(F f) {
    try {
        f();
        return "none";
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
}
TEST(tls_session_cache, is_that_of_one_context) {
    auto options = trusting_options();
    options.sessions = tls_session_cache();
    // One that is not made takes nothing.
    options.alpn = {""};
    expect_in(refusal_of([&] { (void)tls_context::client(options); }), "ALPN");
    options.alpn = {};
    EXPECT_EQ(refusal_of([&] { (void)tls_context::client(options); }), "none");
    EXPECT_EQ(refusal_of([&] { (void)tls_context::client(options); }),
              "coflux: a tls_session_cache of another context, which may trust others");
    EXPECT_EQ(refusal_of([] { (void)tls_session_cache(0); }), "coflux: a tls_session_cache with room for no session");
}

coflux::fork<void, pool> visits(coflux::environment&, tls_context client, tls_context server, tls_session_cache cache) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener at(coflux::endpoint::loopback(0));
    const std::string told = co_await resumed_of(here, at, client, server, 10);
    EXPECT_EQ(told, "frrrrrrrrr");
    EXPECT_GE(cache.size(), 1U);
}
coflux::task<void, pool> visits_at_once(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const tls_session_cache cache;
    const auto client = client_with(cache);
    const auto server = localhost_server();
    std::vector<coflux::fork<void, pool>> all;
    for (int i = 0; i != 4; ++i) all.push_back(visits(here, client, server, cache));
    co_await coflux::when_all(std::move(all));
}
TEST(tls_session_cache, is_used_by_several_threads) {
    get_on_pool(visits_at_once);
}

coflux::task<void, coflux::testing::sim_executor> simulated(coflux::environment&, std::string* told) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener at(coflux::endpoint::loopback(0));
    const auto client = client_with(tls_session_cache());
    *told = co_await resumed_of(here, at, client, localhost_server(), 3);
}
TEST(tls_session_cache, resumes_on_a_simulated_network) {
    coflux::testing::fifo_chooser decides;
    coflux::testing::simulation world(decides);
    const coflux::testing::sim_network net(world);
    coflux::testing::sim_executor on(world);
    auto env = coflux::make_environment(on);
    std::string told;
    simulated(env, &told).get();
    EXPECT_EQ(told, "frr");
}

}  // namespace

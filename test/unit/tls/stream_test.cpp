#include <coflux/tls/stream.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>

#include "tls_scenes.hpp"

namespace {

using namespace coflux_test;
using coflux::tcp_stream;
using coflux::tls_context;
using coflux::tls_errc;
using coflux::tls_version;

// --- the handshake ---------------------------------------------------------------------------------------------------

coflux::call<void> agrees(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto options = trusting_options();
    options.alpn = {"h2", "http/1.1"};
    const auto server = tls_context::server({.identity = localhost().identity(), .alpn = {"http/1.1"}});
    tls_pair p = co_await paired(here, tls_context::client(options), server, "localhost");
    co_await coflux::when_all(p.near.handshake(here), p.far.handshake(here));
    EXPECT_EQ(p.near.alpn(), "http/1.1");
    EXPECT_EQ(p.far.alpn(), "http/1.1");
    EXPECT_EQ(p.near.peer_subject(), "CN=localhost");
    EXPECT_EQ(p.far.peer_subject(), "");
    EXPECT_EQ(p.far.server_name(), "localhost");
    EXPECT_EQ(p.near.server_name(), "localhost");
    EXPECT_EQ(p.near.protocol(), "TLSv1.3");
    EXPECT_EQ(p.near.peer_endpoint(), p.far.local_endpoint());
    EXPECT_FALSE(p.near.has_failed());
    co_await p.near.handshake(here);  // once more: nothing
}
TEST(tls_stream, agrees_on_protocol_and_names) {
    on_worker(agrees);
}

coflux::call<void> agrees_without(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const auto client = tls_context::client({.verifies_peer = false});
    tls_pair p = co_await paired(here, client, localhost_server(), "");
    co_await coflux::when_all(p.near.handshake(here), p.far.handshake(here));
    EXPECT_EQ(p.near.alpn(), "");
    EXPECT_EQ(p.far.server_name(), "");
    EXPECT_EQ(p.near.peer_subject(), "CN=localhost");
}
TEST(tls_stream, takes_any_certificate_where_it_must_not_verify) {
    on_worker(agrees_without);
}

coflux::tls_client_options client_of(tls_version least, tls_version most) {
    auto options = trusting_options();
    options.least = least;
    options.most = most;
    return options;
}
coflux::tls_server_options server_of(tls_version least, tls_version most) {
    return {.identity = localhost().identity(), .least = least, .most = most};
}
coflux::call<std::string> chosen(coflux::environment&, coflux::tls_client_options client,
                                 coflux::tls_server_options server) {
    auto&& here = co_await coflux::context();
    tls_pair p = co_await paired(here, tls_context::client(client), tls_context::server(server), "localhost");
    const auto [near, far] = co_await coflux::when_all_outcomes(p.near.handshake(here), p.far.handshake(here));
    if (near.has_value() && far.has_value()) co_return p.near.protocol();
    for (const auto* const each : {&near, &far}) {
        std::error_code failure;
        try {
            each->value();
        } catch (const std::system_error& e) {
            failure = e.code();
        }
        EXPECT_EQ(failure, tls_errc::no_common_version);
    }
    co_return "none";
}
coflux::call<void> keeps_between_least_and_most(coflux::environment&) {
    auto&& here = co_await coflux::context();
    constexpr auto v2 = tls_version::tls_1_2;
    constexpr auto v3 = tls_version::tls_1_3;
    struct scene {
        tls_version client_least, client_most, server_least, server_most;
        const char* chosen;
    };
    const std::array<scene, 6> scenes{{{v2, v3, v2, v3, "TLSv1.3"},
                                       {v2, v2, v2, v3, "TLSv1.2"},
                                       {v2, v3, v2, v2, "TLSv1.2"},
                                       {v3, v3, v3, v3, "TLSv1.3"},
                                       {v2, v2, v3, v3, "none"},
                                       {v3, v3, v2, v2, "none"}}};
    for (const scene& s : scenes) {
        const std::string version =
            co_await chosen(here, client_of(s.client_least, s.client_most), server_of(s.server_least, s.server_most));
        EXPECT_EQ(version, s.chosen);
    }
}
TEST(tls_stream, speaks_the_newest_version_that_both_sides_allow) {
    on_worker(keeps_between_least_and_most);
}

/// The errors of the client's handshake and the server's.
struct failures {
    std::string near;
    std::string far;
    bool near_refused = false;
    bool both_failed = false;
};
coflux::call<failures> disagree(coflux::environment&, tls_context client, tls_context server, std::string host) {
    auto&& here = co_await coflux::context();
    tls_pair p = co_await paired(here, std::move(client), std::move(server), std::move(host));
    const auto [near, far] = co_await coflux::when_all_outcomes(p.near.handshake(here), p.far.handshake(here));
    failures f;
    try {
        near.value();
        // With TLS 1.3 a client has ended its handshake before the server judges it.
        std::byte one{};
        (void)co_await p.near.read_some(here, std::span(&one, 1));
    } catch (const coflux::tls_error& e) {
        f.near = e.what();
        f.near_refused = e.code() == tls_errc::certificate_refused;
    }
    try {
        far.value();
        std::byte one{};
        (void)co_await p.far.read_some(here, std::span(&one, 1));
    } catch (const coflux::tls_error& e) {
        f.far = e.what();
    }
    f.both_failed = p.near.has_failed() && p.far.has_failed();
    // It stays so.
    bool again = false;
    try {
        co_await p.near.write_all(here, "x");
    } catch (const coflux::tls_error&) {
        again = true;
    }
    EXPECT_TRUE(again);
    co_return f;
}

coflux::call<void> refuses(coflux::environment&, tls_context client, tls_context server, std::string host,
                           const char* why, const char* alert) {
    auto&& here = co_await coflux::context();
    const failures f = co_await disagree(here, std::move(client), std::move(server), std::move(host));
    EXPECT_TRUE(f.near_refused);
    EXPECT_TRUE(f.both_failed);
    expect_in(f.near, "coflux: TLS: handshake with 127.0.0.1:");
    expect_in(f.near, why);
    expect_in(f.far, alert);  // the alert has arrived
}
TEST(tls_stream, refuses_another_host) {
    on_worker([](coflux::environment& env) {
        return refuses(env, trusting_client(), localhost_server(), "example.org", "(example.org): hostname mismatch",
                       "alert");
    });
}
TEST(tls_stream, refuses_another_address) {
    on_worker([](coflux::environment& env) {
        return refuses(env, trusting_client(), localhost_server(), "127.0.0.1", "IP address mismatch", "alert");
    });
}
TEST(tls_stream, refuses_what_is_out_of_date) {
    on_worker([](coflux::environment& env) {
        const auto old = make_certificate("localhost", &root(), -a_day);
        return refuses(env, trusting_client(), tls_context::server({.identity = old.identity()}), "localhost",
                       "certificate has expired", "alert certificate expired");
    });
}
TEST(tls_stream, refuses_what_the_system_does_not_trust) {
    on_worker([](coflux::environment& env) {
        return refuses(env, tls_context::client(), localhost_server(), "localhost", "unable to get local issuer",
                       "alert unknown ca");
    });
}
TEST(tls_stream, refuses_who_signed_for_itself) {
    on_worker([](coflux::environment& env) {
        const auto own = make_certificate("localhost", nullptr);
        return refuses(env, trusting_client(), tls_context::server({.identity = own.identity()}), "localhost",
                       "self-signed", "alert unknown ca");
    });
}

coflux::call<void> takes_address(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const auto address = make_certificate("127.0.0.1", &root());
    const auto server = tls_context::server({.identity = address.identity()});
    tls_pair p = co_await paired(here, trusting_client(), server, "127.0.0.1");
    co_await coflux::when_all(p.near.handshake(here), p.far.handshake(here));
    EXPECT_EQ(p.far.server_name(), "");  // an address is not told
}
TEST(tls_stream, takes_a_certificate_for_an_address) {
    on_worker(takes_address);
}

coflux::call<void> clients(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const auto server = tls_context::server(
        {.identity = localhost().identity(), .trusted_clients = coflux::tls_pem::text(root().pem())});
    auto options = trusting_options();
    const auto alice = make_certificate("alice", &root());
    options.identity = alice.identity();
    tls_pair p = co_await paired(here, tls_context::client(options), server, "localhost");
    co_await coflux::when_all(p.near.handshake(here), p.far.handshake(here));
    EXPECT_EQ(p.far.peer_subject(), "CN=alice");
    // One that has none.
    const failures f = co_await disagree(here, trusting_client(), server, "localhost");
    expect_in(f.near, "read from");
    expect_in(f.near, "certificate required");
    expect_in(f.far, "peer did not return a certificate");
}
TEST(tls_stream, asks_clients_for_a_certificate) {
    on_worker(clients);
}

coflux::call<void> alpn_differs(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto options = trusting_options();
    options.alpn = {"h2"};
    const auto server = tls_context::server({.identity = localhost().identity(), .alpn = {"http/1.1"}});
    const failures f = co_await disagree(here, tls_context::client(options), server, "localhost");
    expect_in(f.near, "no application protocol");
    EXPECT_FALSE(f.near_refused);
}
TEST(tls_stream, refuses_a_client_that_speaks_none_of_the_protocols) {
    on_worker(alpn_differs);
}

coflux::call<void> junk(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));
    auto plain = co_await tcp_stream::connect(listener.local_endpoint());
    tls_stream server(localhost_server(), co_await listener.accept());
    co_await plain.write_all("GET / HTTP/1.1\r\n\r\n");
    bool failed = false;
    try {
        co_await server.handshake(here);
    } catch (const coflux::tls_error& e) {
        failed = true;
        expect_in(e.what(), "http request");
    }
    EXPECT_TRUE(failed);
    EXPECT_TRUE(server.has_failed());
}
TEST(tls_stream, fails_where_the_peer_speaks_no_tls) {
    on_worker(junk);
}

coflux::call<void> hangs_up(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));
    auto plain = co_await tcp_stream::connect(listener.local_endpoint());
    tls_stream server(localhost_server(), co_await listener.accept());
    plain.close();
    std::error_code code;
    try {
        co_await server.handshake(here);
    } catch (const std::system_error& e) {
        code = e.code();
    }
    EXPECT_EQ(code, tls_errc::truncated);
}
TEST(tls_stream, says_that_the_peer_hung_up_in_the_handshake) {
    on_worker(hangs_up);
}

TEST(tls_stream, wants_a_name_to_verify_and_a_connection) {
    EXPECT_THROW(tls_stream(trusting_client(), tcp_stream(), "localhost"), std::invalid_argument);
    on_worker([](coflux::environment& env) -> coflux::call<void> {
        return [](coflux::environment&) -> coflux::call<void> {
            coflux::tcp_listener listener(coflux::endpoint::loopback(0));
            auto near = co_await tcp_stream::connect(listener.local_endpoint());
            EXPECT_THROW(tls_stream(trusting_client(), std::move(near)), std::invalid_argument);
            auto far = co_await listener.accept();
            EXPECT_THROW(tls_stream(localhost_server(), std::move(far), "localhost"), std::invalid_argument);
        }(env);
    });
}

// --- bytes -----------------------------------------------------------------------------------------------------------

coflux::call<void> ends(coflux::environment&) {
    auto&& here = co_await coflux::context();
    tls_pair p = co_await secured(here);
    co_await p.near.write_all(here, "some bytes");
    co_await p.near.write_all(here, "");
    co_await p.near.shutdown_send(here);
    co_await p.near.shutdown_send(here);
    std::string four(4, ' ');
    co_await p.far.read_exactly(here, bytes_of(four));
    EXPECT_EQ(four, "some");
    std::array<std::byte, 64> rest{};
    EXPECT_EQ(co_await p.far.read_some(here, std::span(rest).first(0)), 0U);
    EXPECT_EQ(co_await p.far.read_some(here, rest), 6U);
    EXPECT_EQ(co_await p.far.read_some(here, rest), 0U);
    EXPECT_EQ(co_await p.far.read_some(here, rest), 0U);
    std::size_t count = 99;
    try {
        co_await p.far.read_exactly(here, rest);
    } catch (const coflux::end_of_stream& e) {
        count = e.count();
    }
    EXPECT_EQ(count, 0U);
    // The other direction goes on.
    co_await p.far.write_all(here, "more");
    co_await p.near.read_exactly(here, bytes_of(four));
    EXPECT_EQ(four, "more");
    const auto [near, far] = co_await coflux::when_all(p.near.shutdown(here, late()), p.far.shutdown(here, late()));
    EXPECT_TRUE(near);
    EXPECT_TRUE(far);
}
TEST(tls_stream, tells_the_end_of_the_stream_from_all_else) {
    on_worker(ends);
}

coflux::call<void> is_cut(coflux::environment&) {
    auto&& here = co_await coflux::context();
    tls_pair p = co_await secured(here);
    std::array<std::byte, 64> bytes{};
    co_await p.near.write_all(here, "some");
    // Unread bytes of a socket that is closed, as the sessions that a server offers, make it a reset.
    co_await p.far.write_all(here, "x");
    EXPECT_EQ(co_await p.near.read_some(here, bytes), 1U);
    p.near.close();
    EXPECT_FALSE(p.near.is_open());
    EXPECT_EQ(co_await p.far.read_some(here, bytes), 4U);
    for (int i = 0; i < 2; ++i) {
        std::error_code code;
        try {
            (void)co_await p.far.read_some(here, bytes);
        } catch (const coflux::tls_error& e) {
            code = e.code();
            expect_in(e.what(), "coflux: TLS: read from 127.0.0.1:");
            expect_in(e.what(), "close_notify");
        }
        EXPECT_EQ(code, tls_errc::truncated);
    }
    EXPECT_FALSE(p.far.has_failed());
    EXPECT_FALSE(co_await p.far.shutdown(here, late()));
}
TEST(tls_stream, says_that_it_was_cut) {
    on_worker(is_cut);
}

coflux::call<void> shuts_down(coflux::environment&) {
    auto&& here = co_await coflux::context();
    tls_pair p = co_await secured(here);
    co_await p.far.write_all(here, "dropped");
    std::array<std::byte, 8> bytes{};
    EXPECT_FALSE(co_await p.near.shutdown(here, std::chrono::steady_clock::now()));  // it says its end nevertheless
    EXPECT_EQ(co_await p.far.read_some(here, bytes), 0U);
    EXPECT_FALSE(co_await p.near.shutdown(here, soon()));  // the peer says nothing
    EXPECT_TRUE(co_await p.far.shutdown(here, late()));
    EXPECT_TRUE(co_await p.near.shutdown(here, late()));
}
TEST(tls_stream, waits_for_the_peers_end_no_longer_than_it_must) {
    on_worker(shuts_down);
}

template <typename E>
coflux::task<void, E> both_ways(coflux::environment&) {
    auto&& here = co_await coflux::context();
    tls_pair p = co_await secured(here);
    const std::string there = numbered(10'000'000, 1);
    const std::string back = numbered(10'000'000, 2);
    auto w1 = writes<E>(here, &p.near, there);
    auto w2 = writes<E>(here, &p.far, back);
    auto r1 = reads<E>(here, &p.far, there.size());
    auto r2 = reads<E>(here, &p.near, back.size());
    const auto [got_there, got_back] = co_await coflux::when_all(std::move(r1), std::move(r2));
    EXPECT_TRUE(got_there == there);
    EXPECT_TRUE(got_back == back);
    co_await coflux::when_all(std::move(w1), std::move(w2));
}
TEST(tls_stream, carries_much_both_ways_at_once_on_a_worker) {
    get_on_worker(both_ways<worker>);
}
TEST(tls_stream, carries_much_both_ways_at_once_on_a_pool) {
    get_on_pool(both_ways<pool>);
}

coflux::call<void> moves(coflux::environment&) {
    auto&& here = co_await coflux::context();
    tls_pair p = co_await secured(here);
    auto reader = reads<worker>(here, &p.near, 4);
    co_await coflux::yield();
    tls_stream moved = std::move(p.near);
    co_await p.far.write_all(here, "four");
    EXPECT_EQ(co_await std::move(reader), "four");
}
TEST(tls_stream, is_moved_while_a_reader_waits) {
    on_worker(moves);
}

// --- wrong use -------------------------------------------------------------------------------------------------------

class tls_stream_death : public testing::Test {
protected:
    // Under TSan a child that was forked in the presence of threads may start none.
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

coflux::call<void> reads_twice(coflux::environment&) {
    auto&& here = co_await coflux::context();
    tls_pair p = co_await secured(here);
    auto one = reads<worker>(here, &p.near, 4);
    auto two = reads<worker>(here, &p.near, 4);
    co_await coflux::when_all(std::move(one), std::move(two));
}
TEST_F(tls_stream_death, names_two_readers) {
    EXPECT_DEATH(on_worker(reads_twice), "two coroutines read from one TLS stream");
}
coflux::call<void> dies_early(coflux::environment&) {
    auto&& here = co_await coflux::context();
    tls_pair p = co_await secured(here);
    auto one = reads<worker>(here, &p.near, 4);
    co_await coflux::yield();
    p.near.close();
    co_await std::move(one);
}
TEST_F(tls_stream_death, names_a_stream_that_dies_while_it_is_read) {
    EXPECT_DEATH(on_worker(dies_early), "a TLS stream dies, or is closed, while an operation of it waits");
}
coflux::call<void> skips_handshake(coflux::environment&) {
    auto&& here = co_await coflux::context();
    tls_pair p = co_await paired(here, trusting_client(), localhost_server(), "localhost");
    co_await p.near.write_all(here, "x");
}
TEST_F(tls_stream_death, names_a_handshake_that_was_left_out) {
    EXPECT_DEATH(on_worker(skips_handshake), "write to a TLS stream whose handshake");
}
coflux::call<void> writes_after_end(coflux::environment&) {
    auto&& here = co_await coflux::context();
    tls_pair p = co_await secured(here);
    co_await p.near.shutdown_send(here);
    co_await p.near.write_all(here, "x");
}
TEST_F(tls_stream_death, names_a_write_after_the_end) {
    EXPECT_DEATH(on_worker(writes_after_end), "after its end was sent");
}
TEST_F(tls_stream_death, names_a_stream_that_is_closed) {
    EXPECT_DEATH((void)tls_stream().alpn(), "a TLS stream that is closed");
}

}  // namespace

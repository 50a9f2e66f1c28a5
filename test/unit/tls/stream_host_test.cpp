// Which names a client takes, tells its server, and finds in the server's certificate.
#include <coflux/tls/stream.hpp>

#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>

#include "tls_scenes.hpp"

namespace {

using namespace coflux_test;
using coflux::tls_context;
using coflux::tls_errc;

/// How the handshake of a client ends that was given `host`, with a server of this certificate.
struct meeting {
    std::error_code failure;
    std::string told;  // to the server
    std::string own;   // what the client says its server's name is
};
coflux::call<meeting> meet(coflux::environment&, const certificate* of_server, std::string host) {
    auto&& here = co_await coflux::context();
    const auto server = tls_context::server({.identity = of_server->identity()});
    tls_pair p = co_await paired(here, trusting_client(), server, std::move(host));
    const auto [near, far] = co_await coflux::when_all_outcomes(p.near.handshake(here), p.far.handshake(here));
    meeting m{{}, p.far.server_name(), p.near.server_name()};
    try {
        near.value();
    } catch (const std::system_error& e) {
        m.failure = e.code();
    }
    co_return m;
}

coflux::call<void> ends_with_a_dot(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const certificate made = make_certificate("example.org", &root());
    const meeting m = co_await meet(here, &made, "example.org.");
    EXPECT_FALSE(m.failure) << m.failure.message();
    EXPECT_EQ(m.told, "example.org");
    EXPECT_EQ(m.own, "example.org");
    const certificate address = make_certificate("127.0.0.1", &root());
    const meeting a = co_await meet(here, &address, "127.0.0.1.");
    EXPECT_FALSE(a.failure) << a.failure.message();
    EXPECT_EQ(a.told, "");
    const meeting other = co_await meet(here, &made, "example.com.");
    EXPECT_EQ(other.failure, tls_errc::certificate_refused);
}
TEST(tls_host, may_end_with_a_dot_which_is_neither_told_nor_verified) {
    on_worker(ends_with_a_dot);
}

coflux::call<void> is_no_name(coflux::environment&) {
    auto&& here = co_await coflux::context();
    for (const char* const wrong : {".example.org", ".", "..", "example.org..", "www..example.org", ""}) {
        bool refused = false;
        try {
            (void)co_await paired(here, trusting_client(), localhost_server(), wrong);
        } catch (const std::invalid_argument&) {
            refused = true;
        }
        EXPECT_TRUE(refused) << wrong;
    }
}
TEST(tls_host, is_refused_with_a_dot_in_front_or_an_empty_part) {
    on_worker(is_no_name);
}

coflux::call<void> has_a_subject_alone(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const certificate made = make_certificate("example.org", &root(), a_day, names::in_the_subject_alone);
    const meeting m = co_await meet(here, &made, "example.org");
    EXPECT_EQ(m.failure, tls_errc::certificate_refused);
}
TEST(tls_host, is_looked_for_among_the_alternative_names_alone) {
    on_worker(has_a_subject_alone);
}

coflux::call<void> has_a_wildcard(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const certificate made = make_certificate("*.example.org", &root());
    const meeting one = co_await meet(here, &made, "www.example.org.");
    EXPECT_FALSE(one.failure) << one.failure.message();
    for (const char* const other : {"example.org", "a.www.example.org"}) {
        const meeting m = co_await meet(here, &made, other);
        EXPECT_EQ(m.failure, tls_errc::certificate_refused) << other;
    }
}
TEST(tls_host, is_one_part_where_the_certificate_has_a_star) {
    on_worker(has_a_wildcard);
}

}  // namespace

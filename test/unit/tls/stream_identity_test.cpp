// Which of its certificates a server shows.
#include <coflux/tls/stream.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>

#include "tls_scenes.hpp"

namespace {

using namespace coflux_test;
using coflux::tls_context;
using coflux::tls_errc;

const certificate& of_example() {
    static const certificate made = make_certificate("example.org", &root());
    return made;
}
const certificate& of_hosts() {
    static const certificate made = make_certificate("*.hosts.example", &root());
    return made;
}
const certificate& without_names() {
    static const certificate made = make_certificate("subject.example", &root(), a_day, names::in_the_subject_alone);
    return made;
}
coflux::tls_server_options several() {
    return {.identity = localhost().identity(),
            .further_identities = {without_names().identity(), of_example().identity(), of_hosts().identity()},
            .alpn = {"h2"}};
}

/// The subject that a client is shown that asks for `host`; it verifies nothing.
coflux::call<std::string> shown_for(coflux::environment&, std::string host) {
    auto&& here = co_await coflux::context();
    const auto client = tls_context::client({.verifies_peer = false, .alpn = {"h2"}});
    const auto server = tls_context::server(several());
    tls_pair p = co_await paired(here, client, server, host);
    co_await coflux::when_all(p.near.handshake(here), p.far.handshake(here));
    EXPECT_EQ(p.near.alpn(), "h2");
    EXPECT_EQ(p.far.server_name(), host);
    std::string subject = p.near.peer_subject();
    co_return subject;
}
coflux::call<void> shows_the_first_that_fits(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const std::array<std::array<const char*, 2>, 7> cases{{{"localhost", "CN=localhost"},
                                                           {"example.org", "CN=example.org"},
                                                           {"EXAMPLE.org", "CN=example.org"},
                                                           {"a.hosts.example", "CN=*.hosts.example"},
                                                           {"hosts.example", "CN=localhost"},
                                                           {"subject.example", "CN=localhost"},
                                                           {"", "CN=localhost"}}};
    for (const auto& [host, subject] : cases) {
        const std::string shown = co_await shown_for(here, host);
        EXPECT_EQ(shown, subject) << host;
    }
}
TEST(tls_identity, is_the_first_for_the_name_that_is_asked_for) {
    on_worker(shows_the_first_that_fits);
}

coflux::call<void> verifies(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const auto server = tls_context::server(several());
    for (const char* const host : {"localhost", "example.org", "b.hosts.example", "example.com"}) {
        tls_pair p = co_await paired(here, trusting_client(), server, host);
        const auto [near, far] = co_await coflux::when_all_outcomes(p.near.handshake(here), p.far.handshake(here));
        std::error_code failure;
        try {
            near.value();
        } catch (const std::system_error& e) {
            failure = e.code();
        }
        const bool is_known = std::string(host) != "example.com";
        EXPECT_EQ(failure, is_known ? std::error_code() : make_error_code(tls_errc::certificate_refused)) << host;
    }
}
TEST(tls_identity, is_one_that_a_client_can_verify) {
    on_worker(verifies);
}

/// A server's demand on its clients holds whichever certificate it shows.
coflux::call<void> asks_for_certificates(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto options = several();
    options.trusted_clients = coflux::tls_pem::text(root().pem());
    const auto server = tls_context::server(options);
    auto known = trusting_options();
    known.identity = localhost().identity();
    const auto with = tls_context::client(known);
    tls_pair p = co_await paired(here, with, server, "example.org");
    co_await coflux::when_all(p.near.handshake(here), p.far.handshake(here));
    EXPECT_EQ(p.far.peer_subject(), "CN=localhost");
    tls_pair q = co_await paired(here, trusting_client(), server, "example.org");
    const auto [near, far] = co_await coflux::when_all_outcomes(q.near.handshake(here), q.far.handshake(here));
    EXPECT_TRUE(far.has_error());
}
TEST(tls_identity, changes_nothing_of_what_is_asked_of_clients) {
    on_worker(asks_for_certificates);
}

std::string refusal_of(coflux::tls_server_options options) {
    try {
        (void)tls_context::server(options);
        return "none";
    } catch (const std::system_error& e) {
        return e.what();
    }
}
TEST(tls_identity, is_checked_when_the_context_is_made) {
    auto options = several();
    options.further_identities.push_back(
        {coflux::tls_pem::text(of_example().pem()), coflux::tls_pem::text(root().key_pem())});
    expect_in(refusal_of(options), "key values mismatch");
    // A key of another kind than its certificate's.
    const coflux_test::certificate other{
        nullptr, std::unique_ptr<EVP_PKEY, free_key>(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"))};
    options = several();
    options.further_identities.front().key = coflux::tls_pem::text(other.key_pem());
    expect_in(refusal_of(options), "coflux: use a private key from memory");
    expect_in(refusal_of({.identity = options.further_identities.front()}), "coflux: use a private key from memory");
}

}  // namespace

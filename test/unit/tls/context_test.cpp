#include <coflux/tls/context.hpp>

#include <stdexcept>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

#include <coflux/tls/error.hpp>

#include "certificates.hpp"
#include "support/temporary_folder.hpp"

namespace {

using coflux::tls_context;
using coflux::tls_pem;
using coflux_test::localhost;
using coflux_test::root;

template <typename F>
std::string error_of(F f) {
    try {
        (void)f();
    } catch (const std::system_error& e) {
        return e.what();
    }
    return "none";
}
void expect_in(const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(tls_context, is_read_from_files) {
    const coflux_test::temporary_folder folder;
    const std::string chain = folder.file("chain.pem", localhost().pem() + root().pem());
    const std::string key = folder.file("key.pem", localhost().key_pem());
    (void)tls_context::server({.identity = {tls_pem::file(chain), tls_pem::file(key)}});
    (void)tls_context::client({.trusted = tls_pem::file(chain)});
}

TEST(tls_context, names_a_file_that_is_missing) {
    const auto text = error_of([] { return tls_context::client({.trusted = tls_pem::file("/no/such.pem")}); });
    expect_in(text, "coflux: read PEM from /no/such.pem");
    expect_in(text, "No such file");
}

TEST(tls_context, says_what_is_no_pem) {
    expect_in(error_of([] { return tls_context::client({.trusted = tls_pem::text("nonsense")}); }),
              "coflux: read certificates from memory: no start line");
    expect_in(error_of([] { return tls_context::client({.trusted = tls_pem::text("")}); }), "read certificates");
    std::string broken = root().pem() + root().pem();
    broken.resize(broken.size() - 60);
    expect_in(error_of([&] { return tls_context::client({.trusted = tls_pem::text(broken)}); }), "read certificates");
}

TEST(tls_context, of_a_server_that_was_given_no_identity_says_so) {
    const coflux::tls_server_options nothing;
    try {
        (void)tls_context::server(nothing);
        ADD_FAILURE();
    } catch (const std::invalid_argument& e) {
        expect_in(e.what(), "a tls_pem that names neither a file nor a text");
    }
}

TEST(tls_context, refuses_a_key_of_another_certificate) {
    const auto text = error_of([] {
        return tls_context::server({.identity = {tls_pem::text(localhost().pem()), tls_pem::text(root().key_pem())}});
    });
    expect_in(text, "use a private key from memory: key values mismatch");
}

TEST(tls_context, never_asks_for_a_pass_phrase) {
    const std::string locked = coflux_test::certificate::written([](BIO* to) {
        return PEM_write_bio_PrivateKey(to, localhost().key.get(), EVP_aes_128_cbc(),
                                        reinterpret_cast<const unsigned char*>("secret"), 6, nullptr, nullptr);
    });
    expect_in(error_of([&] {
                  return tls_context::server({.identity = {tls_pem::text(localhost().pem()), tls_pem::text(locked)}});
              }),
              "read a private key from memory");
}

TEST(tls_context, refuses_names_of_alpn_that_cannot_be_sent) {
    EXPECT_THROW((void)tls_context::client({.alpn = {""}}), std::invalid_argument);
    EXPECT_THROW((void)tls_context::client({.alpn = {std::string(256, 'x')}}), std::invalid_argument);
}

TEST(tls_context, refuses_options_that_leave_no_version) {
    const auto refusal = [](auto make) -> std::string {
        try {
            (void)make();
            return "none";
        } catch (const std::invalid_argument& e) {
            return e.what();
        }
    };
    const auto least = coflux::tls_version::tls_1_3;
    const auto most = coflux::tls_version::tls_1_2;
    expect_in(refusal([&] { return tls_context::client({.least = least, .most = most}); }),
              "no version of TLS is left");
    expect_in(refusal([&] {
                  return tls_context::server({.identity = localhost().identity(), .least = least, .most = most});
              }),
              "no version of TLS is left");
}

}  // namespace

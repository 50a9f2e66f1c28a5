#include <coflux/tls/error.hpp>

#include <system_error>

#include <gtest/gtest.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

namespace {

TEST(tls_error, is_a_system_error_that_programs_tell_apart) {
    const coflux::tls_error e(coflux::make_error_code(coflux::tls_errc::truncated), "coflux: TLS: read from nowhere");
    const std::system_error& as_system_error = e;
    EXPECT_EQ(as_system_error.code(), coflux::tls_errc::truncated);
    EXPECT_NE(as_system_error.code(), coflux::tls_errc::certificate_refused);
    EXPECT_STREQ(e.what(), "coflux: TLS: read from nowhere: the connection ended without close_notify");
}

TEST(tls_error, has_openssls_reason) {
    const auto packed = static_cast<int>(ERR_PACK(ERR_LIB_SSL, 0, SSL_R_WRONG_VERSION_NUMBER));
    EXPECT_EQ(std::error_code(packed, coflux::tls_category()).message(), "wrong version number");
    EXPECT_EQ(std::error_code(77, coflux::tls_category()).message(), "error 77 of OpenSSL");
    EXPECT_STREQ(coflux::tls_category().name(), "coflux.tls");
}

}  // namespace

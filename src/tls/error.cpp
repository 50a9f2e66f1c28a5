#include <coflux/tls/error.hpp>

#include <openssl/err.h>

#include "openssl.hpp"

namespace coflux {
namespace {

class category final : public std::error_category {
public:
    [[nodiscard]] const char* name() const noexcept override { return "coflux.tls"; }
    [[nodiscard]] std::string message(int value) const override {
        switch (static_cast<tls_errc>(value)) {
        case tls_errc::truncated: return "the connection ended without close_notify";
        case tls_errc::certificate_refused: return "certificate refused";
        case tls_errc::no_common_version: return "no version of TLS that both sides speak";
        }
        // Else a program that has used nothing of OpenSSL yet finds no texts.
        (void)OPENSSL_init_ssl(OPENSSL_INIT_LOAD_SSL_STRINGS | OPENSSL_INIT_LOAD_CRYPTO_STRINGS, nullptr);
        const char* const reason = ERR_reason_error_string(static_cast<unsigned>(value));
        return reason != nullptr ? reason : "error " + std::to_string(static_cast<unsigned>(value)) + " of OpenSSL";
    }
};

}  // namespace

const std::error_category& tls_category() noexcept {
    static const category the_one;
    return the_one;
}
std::error_code make_error_code(tls_errc e) noexcept {
    return {static_cast<int>(e), tls_category()};
}

namespace detail {

std::error_code take_tls_error() noexcept {
    const unsigned long packed = ERR_get_error();
    ERR_clear_error();
    if (ERR_SYSTEM_ERROR(packed)) return {ERR_GET_REASON(packed), std::system_category()};
    return {static_cast<int>(packed), tls_category()};
}

void throw_tls_error(std::error_code code, const std::string& what) {
    if (code.category() == tls_category()) throw tls_error(code, what);
    throw std::system_error(code, what);
}

}  // namespace detail
}  // namespace coflux

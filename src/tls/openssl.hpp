// OpenSSL's results: objects that are owned, and errors.
#pragma once

#include <memory>
#include <string>
#include <system_error>

#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace coflux::detail {

template <auto Free>
struct frees {
    template <typename T>
    void operator()(T* p) const noexcept {
        Free(p);
    }
};
using owned_ssl_ctx = std::unique_ptr<SSL_CTX, frees<&SSL_CTX_free>>;
using owned_ssl = std::unique_ptr<SSL, frees<&SSL_free>>;
using owned_session = std::unique_ptr<SSL_SESSION, frees<&SSL_SESSION_free>>;
using owned_bio = std::unique_ptr<BIO, frees<&BIO_free>>;
using owned_x509 = std::unique_ptr<X509, frees<&X509_free>>;
using owned_key = std::unique_ptr<EVP_PKEY, frees<&EVP_PKEY_free>>;

/// The first error of this thread's queue, which is empty then.
[[nodiscard]] std::error_code take_tls_error() noexcept;

/// `code`, in an exception of its category.
[[noreturn]] void throw_tls_error(std::error_code code, const std::string& what);

}  // namespace coflux::detail

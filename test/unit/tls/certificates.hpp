// Certificates for tests, made when they run.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <coflux/tls/context.hpp>

namespace coflux_test {

inline void must(bool done) {
    if (!done) throw std::runtime_error("the test's certificate cannot be made");
}

struct free_x509 {
    void operator()(X509* p) const { X509_free(p); }
};
struct free_key {
    void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
};

struct certificate {
    std::unique_ptr<X509, free_x509> x509;
    std::unique_ptr<EVP_PKEY, free_key> key;

    [[nodiscard]] std::string pem() const {
        return written([this](BIO* to) { return PEM_write_bio_X509(to, x509.get()); });
    }
    [[nodiscard]] std::string key_pem() const {
        return written(
            [this](BIO* to) { return PEM_write_bio_PrivateKey(to, key.get(), nullptr, nullptr, 0, nullptr, nullptr); });
    }
    [[nodiscard]] coflux::tls_identity identity() const {
        return {coflux::tls_pem::text(pem()), coflux::tls_pem::text(key_pem())};
    }

    template <typename Write>
    static std::string written(Write write) {
        BIO* const to = BIO_new(BIO_s_mem());
        must(to != nullptr && write(to) == 1);
        char* data = nullptr;
        const long size = BIO_get_mem_data(to, &data);
        std::string text(data, static_cast<std::size_t>(size));
        BIO_free(to);
        return text;
    }
};

inline void extend(X509* x, X509* issuer, int what, const char* value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, x, nullptr, nullptr, 0);
    X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, what, value);
    must(extension != nullptr && X509_add_ext(x, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

constexpr long a_day = 86'400;

/// Where a certificate has its name.
enum class names { in_both, in_the_subject_alone };

/// For `name`, an address or a host, by `issuer`, itself if there is none; valid for `seconds` from now on, or until so
/// long ago.
inline certificate make_certificate(const std::string& name, const certificate* issuer, long seconds = a_day,
                                    names where = names::in_both) {
    certificate made{std::unique_ptr<X509, free_x509>(X509_new()),
                     std::unique_ptr<EVP_PKEY, free_key>(EVP_EC_gen("P-256"))};
    X509* const x = made.x509.get();
    must(x != nullptr && made.key != nullptr);
    static long serial = 0;
    must(X509_set_version(x, 2) == 1 && ASN1_INTEGER_set(X509_get_serialNumber(x), ++serial) == 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -2 * a_day);
    X509_gmtime_adj(X509_getm_notAfter(x), seconds);
    must(X509_set_pubkey(x, made.key.get()) == 1);
    X509_NAME* const subject = X509_get_subject_name(x);
    must(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name.c_str()),
                                    -1, -1, 0) == 1);
    X509* const by = issuer == nullptr ? x : issuer->x509.get();
    must(X509_set_issuer_name(x, X509_get_subject_name(by)) == 1);
    if (issuer == nullptr) {
        extend(x, by, NID_basic_constraints, "critical,CA:TRUE");
    } else if (where == names::in_both) {
        const bool is_address = name.find_first_not_of("0123456789.") == std::string::npos;
        extend(x, by, NID_subject_alt_name, ((is_address ? "IP:" : "DNS:") + name).c_str());
    }
    must(X509_sign(x, issuer == nullptr ? made.key.get() : issuer->key.get(), EVP_sha256()) > 0);
    return made;
}

/// One for all tests.
inline const certificate& root() {
    static const certificate made = make_certificate("Root of the tests", nullptr);
    return made;
}
inline const certificate& localhost() {
    static const certificate made = make_certificate("localhost", &root());
    return made;
}

inline coflux::tls_client_options trusting_options() {
    return {.trusted = coflux::tls_pem::text(root().pem())};
}
inline coflux::tls_context trusting_client() {
    return coflux::tls_context::client(trusting_options());
}
inline coflux::tls_context localhost_server() {
    return coflux::tls_context::server({.identity = localhost().identity()});
}

}  // namespace coflux_test

#include <coflux/tls/context.hpp>

#include <cstdio>
#include <limits>
#include <stdexcept>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "settings.hpp"

namespace coflux {
namespace detail {
namespace {

[[noreturn]] void fail_with_openssl(const std::string& what) {
    throw_tls_error(take_tls_error(), "coflux: " + what);
}

[[nodiscard]] std::string text_of(const tls_pem& pem) {
    return pem.is_file() ? "from " + pem.value() : "from memory";
}

[[nodiscard]] owned_bio open(const tls_pem& pem) {
    ERR_clear_error();
    const std::string& v = pem.value();
    if (pem.is_file() && v.empty())
        throw std::invalid_argument("coflux: a tls_pem that names neither a file nor a text");
    if (v.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
        throw std::invalid_argument("coflux: too much PEM");
    owned_bio in(pem.is_file() ? BIO_new_file(v.c_str(), "r") : BIO_new_mem_buf(v.data(), static_cast<int>(v.size())));
    if (in == nullptr) fail_with_openssl("read PEM " + text_of(pem));
    return in;
}

/// In place of OpenSSL's question at the terminal.
int no_pass_phrase(char*, int, int, void*) {
    return -1;
}

/// Calls `take(certificate)` for each; it is false where OpenSSL refuses one.
template <typename Take>
void for_each_certificate(const tls_pem& pem, Take take) {
    const owned_bio in = open(pem);
    std::size_t count = 0;
    for (;; ++count) {
        owned_x509 one(PEM_read_bio_X509(in.get(), nullptr, &no_pass_phrase, nullptr));
        if (one == nullptr) break;
        if (!take(std::move(one), count)) fail_with_openssl("use a certificate " + text_of(pem));
    }
    // The end looks like text without a certificate.
    if (count == 0 || ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
        fail_with_openssl("read certificates " + text_of(pem));
    ERR_clear_error();
}

void use_identity(SSL_CTX* ctx, const tls_identity& identity) {
    for_each_certificate(identity.certificates, [ctx](owned_x509 one, std::size_t index) {
        if (index == 0) return SSL_CTX_use_certificate(ctx, one.get()) == 1;
        if (SSL_CTX_add0_chain_cert(ctx, one.get()) != 1) return false;
        (void)one.release();  // the context's
        return true;
    });
    const owned_bio in = open(identity.key);
    const owned_key key(PEM_read_bio_PrivateKey(in.get(), nullptr, &no_pass_phrase, nullptr));
    if (key == nullptr) fail_with_openssl("read a private key " + text_of(identity.key));
    if (SSL_CTX_use_PrivateKey(ctx, key.get()) != 1) fail_with_openssl("use a private key " + text_of(identity.key));
    // A key of another kind than the certificate's has taken its place.
    if (SSL_CTX_check_private_key(ctx) != 1) fail_with_openssl("use a private key " + text_of(identity.key));
}

void trust(SSL_CTX* ctx, const tls_pem& roots) {
    X509_STORE* const store = SSL_CTX_get_cert_store(ctx);
    for_each_certificate(
        roots, [store](const owned_x509& one, std::size_t) { return X509_STORE_add_cert(store, one.get()) == 1; });
}

[[nodiscard]] std::string wire_of(const std::vector<std::string>& names) {
    std::string wire;
    for (const std::string& name : names) {
        if (name.empty() || name.size() > 255)
            throw std::invalid_argument("coflux: a name of ALPN has 1 to 255 bytes: '" + name + "'");
        wire += static_cast<char>(name.size());
        wire += name;
    }
    return wire;
}

int choose_alpn(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* offered,
                unsigned offered_size, void* settings) {
    const std::string& mine = static_cast<const tls_settings*>(settings)->alpn;
    unsigned char* chosen = nullptr;
    const int how = SSL_select_next_proto(&chosen, out_size, reinterpret_cast<const unsigned char*>(mine.data()),
                                          static_cast<unsigned>(mine.size()), offered, offered_size);
    if (how != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

[[nodiscard]] int number_of(tls_version version) noexcept {
    return version == tls_version::tls_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION;
}

[[nodiscard]] owned_ssl_ctx make_context(const SSL_METHOD* method, tls_version least, tls_version most) {
    if (least > most)
        throw std::invalid_argument("coflux: no version of TLS is left: the least is TLS 1.3, and the most TLS 1.2");
    ERR_clear_error();
    owned_ssl_ctx made(SSL_CTX_new(method));
    if (made == nullptr) fail_with_openssl("make a TLS context");
    SSL_CTX* const ctx = made.get();
    if (SSL_CTX_set_min_proto_version(ctx, number_of(least)) != 1 ||
        SSL_CTX_set_max_proto_version(ctx, number_of(most)) != 1)
        fail_with_openssl("set the versions of TLS");
    // Without renegotiation only a handshake reads in order to write.
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode(ctx,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    // After a message that is no data it goes on to the next record: it wants bytes only where none are left.
    SSL_CTX_set_mode(ctx, SSL_MODE_AUTO_RETRY);
    return made;
}

/// `s` lives as long as each session of the context. The first one is `s.openssl`, and has what the others share.
[[nodiscard]] owned_ssl_ctx make_server(const tls_server_options& options, const tls_identity& identity,
                                        tls_settings& s) {
    owned_ssl_ctx made = make_context(TLS_server_method(), options.least, options.most);
    SSL_CTX* const ctx = made.get();
    use_identity(ctx, identity);
    if (options.trusted_clients) {
        if (s.openssl == nullptr) {
            trust(ctx, *options.trusted_clients);
        } else {
            SSL_CTX_set1_cert_store(ctx, SSL_CTX_get_cert_store(s.openssl.get()));
        }
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    }
    static constexpr unsigned char sessions_of[] = "coflux";  // else OpenSSL refuses to resume a verified session
    SSL_CTX_set_session_id_context(ctx, sessions_of, sizeof(sessions_of) - 1);
    if (!s.alpn.empty()) SSL_CTX_set_alpn_select_cb(ctx, &choose_alpn, &s);
    return made;
}

[[nodiscard]] bool has_certificate_for(SSL_CTX* ctx, const char* name) noexcept {
    static constexpr unsigned how = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;
    if (*name == '.') return false;  // OpenSSL's mark for any name below
    ERR_set_mark();
    const bool is_for = X509_check_host(SSL_CTX_get0_certificate(ctx), name, 0, how, nullptr) == 1;
    ERR_pop_to_mark();
    return is_for;
}
/// The session goes on with the first context that has a certificate for the name that the client asks for. A second
/// hello of the client may ask for another one.
int choose_identity(SSL* session, int* alert, void* settings) {
    const auto& s = *static_cast<const tls_settings*>(settings);
    const char* const name = SSL_get_servername(session, TLSEXT_NAMETYPE_host_name);
    if (name == nullptr) return SSL_TLSEXT_ERR_NOACK;
    SSL_CTX* chosen = s.openssl.get();
    if (!s.further.empty() && !has_certificate_for(chosen, name)) {
        for (const owned_ssl_ctx& other : s.further) {
            if (!has_certificate_for(other.get(), name)) continue;
            chosen = other.get();
            break;
        }
    }
    if (SSL_set_SSL_CTX(session, chosen) == nullptr) {
        *alert = SSL_AD_INTERNAL_ERROR;
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    return SSL_TLSEXT_ERR_OK;  // also with none for it: the session then keeps the name, for server_name()
}

}  // namespace
}  // namespace detail

tls_context tls_context::client(const tls_client_options& options) {
    const auto s = std::make_shared<detail::tls_settings>();
    s->openssl = detail::make_context(TLS_client_method(), options.least, options.most);
    SSL_CTX* const ctx = s->openssl.get();
    s->verifies_peer = options.verifies_peer;
    if (options.trusted) {
        detail::trust(ctx, *options.trusted);
    } else if (options.verifies_peer && SSL_CTX_set_default_verify_paths(ctx) != 1) {
        detail::fail_with_openssl("read the roots of the system");
    }
    SSL_CTX_set_verify(ctx, options.verifies_peer ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    if (options.identity) detail::use_identity(ctx, *options.identity);
    if (!options.alpn.empty()) {
        const std::string wire = detail::wire_of(options.alpn);
        // 0 is success.
        if (SSL_CTX_set_alpn_protos(ctx, reinterpret_cast<const unsigned char*>(wire.data()),
                                    static_cast<unsigned>(wire.size())) != 0)
            detail::fail_with_openssl("set the protocols of ALPN");
    }
    // Last, as it is for good.
    if (options.sessions) {
        s->sessions = options.sessions->sessions_;
        if (!s->sessions->belong_to(ctx))
            throw std::invalid_argument("coflux: a tls_session_cache of another context, which may trust others");
    }
    return tls_context(s);
}

tls_context tls_context::server(const tls_server_options& options) {
    const auto s = std::make_shared<detail::tls_settings>();
    s->is_server = true;
    s->verifies_peer = options.trusted_clients.has_value();
    s->alpn = detail::wire_of(options.alpn);
    s->openssl = detail::make_server(options, options.identity, *s);
    for (const tls_identity& each : options.further_identities)
        s->further.push_back(detail::make_server(options, each, *s));
    SSL_CTX_set_tlsext_servername_callback(s->openssl.get(), &detail::choose_identity);
    SSL_CTX_set_tlsext_servername_arg(s->openssl.get(), s.get());
    return tls_context(s);
}

}  // namespace coflux

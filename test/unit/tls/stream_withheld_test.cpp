// A peer that sends a part of a message of TLS after the handshake, and keeps back the rest.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/tls/stream.hpp>

namespace {

using namespace std::chrono_literals;

/// A ticket that takes several records.
int fill_ticket(SSL* session, void*) {
    static std::array<char, 3000> large{};
    return SSL_SESSION_set1_ticket_appdata(SSL_get_session(session), large.data(), large.size());
}
SSL_TICKET_RETURN take_ticket(SSL*, SSL_SESSION*, const unsigned char*, size_t, SSL_TICKET_STATUS, void*) {
    return SSL_TICKET_RETURN_IGNORE;
}

std::shared_ptr<SSL_CTX> server_context() {
    const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
    const std::unique_ptr<X509, void (*)(X509*)> own(X509_new(), &X509_free);
    X509_set_version(own.get(), 2);
    X509_gmtime_adj(X509_getm_notBefore(own.get()), 0);
    X509_gmtime_adj(X509_getm_notAfter(own.get()), 3600);
    X509_set_pubkey(own.get(), key.get());
    X509_sign(own.get(), key.get(), EVP_sha256());
    std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
    SSL_CTX_use_certificate(context.get(), own.get());
    SSL_CTX_use_PrivateKey(context.get(), key.get());
    SSL_CTX_set_session_ticket_cb(context.get(), &fill_ticket, &take_ticket, nullptr);
    SSL_CTX_set_max_send_fragment(context.get(), 512);
    return context;
}

/// Sends the handshake, then the first record of the ticket, and no more until the client has gone.
void serve(int listener) {
    const int peer = ::accept(listener, nullptr, nullptr);
    const auto context = server_context();
    const std::unique_ptr<SSL, void (*)(SSL*)> session(SSL_new(context.get()), &SSL_free);
    SSL_set_accept_state(session.get());
    BIO* const in = BIO_new(BIO_s_mem());
    BIO* const out = BIO_new(BIO_s_mem());
    BIO_set_mem_eof_return(in, -1);
    BIO_set_mem_eof_return(out, -1);
    SSL_set_bio(session.get(), in, out);
    std::vector<unsigned char> bytes(1 << 16);
    bool done = false;
    for (ssize_t n = 0; (n = ::read(peer, bytes.data(), bytes.size())) > 0;) {
        if (done) continue;
        BIO_write(in, bytes.data(), static_cast<int>(n));
        done = SSL_do_handshake(session.get()) == 1;
        const int ready = BIO_read(out, bytes.data(), static_cast<int>(bytes.size()));
        if (ready <= 0) continue;
        const int first_record = 5 + (bytes[3] << 8 | bytes[4]);
        (void)!::write(peer, bytes.data(), static_cast<std::size_t>(done ? first_record : ready));
    }
    ::close(peer);
}

coflux::task<void, coflux::worker_executor> writes_after_a_read_in_vain(coflux::environment&, coflux::endpoint to) {
    auto&& here = co_await coflux::context();
    coflux::tls_client_options options;
    options.verifies_peer = false;
    const auto context = coflux::tls_context::client(options);
    coflux::tls_stream stream(context, co_await coflux::tcp_stream::connect(to), "localhost");
    co_await stream.handshake(here);
    std::array<std::byte, 100> buffer{};
    const auto got = co_await coflux::timeout(stream.read_some(here, buffer), 200ms);
    EXPECT_FALSE(got.has_value());
    co_await stream.write_all(here, "hello");
}

TEST(tls_stream_withheld, fails_a_write_where_the_peer_keeps_back_a_message) {
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));
    const int number = ::dup(listener.native_handle());
    // It blocks, for the thread of the other side.
    std::thread server([number] {
        fd_set readable;
        FD_ZERO(&readable);
        FD_SET(number, &readable);
        (void)::select(number + 1, &readable, nullptr, nullptr, nullptr);
        serve(number);
    });
    coflux::worker_executor on;
    auto env = coflux::make_environment(on);
    try {
        writes_after_a_read_in_vain(env, listener.local_endpoint()).get();
        ADD_FAILURE() << "nothing was missing";
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::protocol_error) << e.what();
    }
    server.join();
    ::close(number);
}

}  // namespace

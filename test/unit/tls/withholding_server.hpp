// A server of TLS that sends a part of a message after the handshake, and keeps back the rest until it is told to.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <coflux/coflux.hpp>

namespace coflux_test {

class withholding_server {
public:
    withholding_server() {
        if (::pipe(orders_.data()) != 0) throw std::runtime_error("no pipe");
        thread_ = std::thread([this] { serve(); });
    }
    withholding_server(const withholding_server&) = delete;
    withholding_server& operator=(const withholding_server&) = delete;
    ~withholding_server() {
        order('q');
        thread_.join();
        ::close(orders_[0]);
        ::close(orders_[1]);
    }

    [[nodiscard]] coflux::endpoint at() const { return listener_.local_endpoint(); }
    /// True when the part is where the client reads it.
    [[nodiscard]] bool has_sent_part() const noexcept { return has_sent_part_.load(); }
    /// Sends the rest of the message; from then on it sends back what it gets.
    void send_rest() { order('r'); }
    void hang_up() { order('q'); }

private:
    /// A ticket that takes several records.
    static int fill_ticket(SSL* session, void*) {
        static std::array<char, 3000> large{};
        return SSL_SESSION_set1_ticket_appdata(SSL_get_session(session), large.data(), large.size());
    }
    static SSL_TICKET_RETURN take_ticket(SSL*, SSL_SESSION*, const unsigned char*, size_t, SSL_TICKET_STATUS, void*) {
        return SSL_TICKET_RETURN_IGNORE;
    }
    static std::shared_ptr<SSL_CTX> context() {
        const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
        const std::unique_ptr<X509, void (*)(X509*)> own(X509_new(), &X509_free);
        X509_set_version(own.get(), 2);
        X509_gmtime_adj(X509_getm_notBefore(own.get()), 0);
        X509_gmtime_adj(X509_getm_notAfter(own.get()), 3600);
        X509_set_pubkey(own.get(), key.get());
        X509_sign(own.get(), key.get(), EVP_sha256());
        std::shared_ptr<SSL_CTX> made(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
        SSL_CTX_use_certificate(made.get(), own.get());
        SSL_CTX_use_PrivateKey(made.get(), key.get());
        SSL_CTX_set_session_ticket_cb(made.get(), &fill_ticket, &take_ticket, nullptr);
        SSL_CTX_set_max_send_fragment(made.get(), 512);
        return made;
    }

    void order(char what) { (void)!::write(orders_[1], &what, 1); }

    void serve() {
        pollfd readable{listener_.native_handle(), POLLIN, 0};
        (void)::poll(&readable, 1, -1);
        peer_ = ::accept(listener_.native_handle(), nullptr, nullptr);
        const auto made = context();
        const std::unique_ptr<SSL, void (*)(SSL*)> session(SSL_new(made.get()), &SSL_free);
        SSL_set_accept_state(session.get());
        BIO* const in = BIO_new(BIO_s_mem());
        BIO* const out = BIO_new(BIO_s_mem());
        BIO_set_mem_eof_return(in, -1);
        BIO_set_mem_eof_return(out, -1);
        SSL_set_bio(session.get(), in, out);
        while (step(session.get(), in, out)) {}
        ::close(peer_);
    }
    bool step(SSL* session, BIO* in, BIO* out) {
        std::array<pollfd, 2> looks{pollfd{orders_[0], POLLIN, 0}, pollfd{peer_, POLLIN, 0}};
        (void)::poll(looks.data(), looks.size(), -1);
        std::vector<unsigned char> bytes(1 << 16);
        if (looks[0].revents != 0) {
            char what = 'q';
            (void)!::read(orders_[0], &what, 1);
            if (what == 'q') return false;
            withholds_ = false;
            sends(withheld_);
            return true;
        }
        const ssize_t n = ::read(peer_, bytes.data(), bytes.size());
        if (n <= 0) return false;
        BIO_write(in, bytes.data(), static_cast<int>(n));
        const bool was_done = SSL_is_init_finished(session) == 1;
        if (!was_done) (void)SSL_do_handshake(session);
        for (int got = 0; (got = SSL_read(session, bytes.data(), static_cast<int>(bytes.size()))) > 0;)
            (void)SSL_write(session, bytes.data(), got);
        if ((SSL_get_shutdown(session) & SSL_RECEIVED_SHUTDOWN) != 0) (void)SSL_shutdown(session);
        const int ready = BIO_read(out, bytes.data(), static_cast<int>(bytes.size()));
        if (ready <= 0) return true;
        bytes.resize(static_cast<std::size_t>(ready));
        if (!was_done && SSL_is_init_finished(session) == 1) {
            withholds_ = true;
            const int first_record = 5 + (bytes[3] << 8 | bytes[4]);
            withheld_.assign(bytes.begin() + first_record, bytes.end());
            bytes.resize(static_cast<std::size_t>(first_record));
            sends(bytes);
            has_sent_part_ = true;
        } else if (withholds_) {
            withheld_.insert(withheld_.end(), bytes.begin(), bytes.end());
        } else {
            sends(bytes);
        }
        return true;
    }
    void sends(const std::vector<unsigned char>& bytes) const {
        for (std::size_t sent = 0; sent < bytes.size();) {
            const ssize_t n = ::send(peer_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
            if (n <= 0) return;
            sent += static_cast<std::size_t>(n);
        }
    }

    coflux::tcp_listener listener_{coflux::endpoint::loopback(0)};
    std::array<int, 2> orders_{};  // a pipe
    int peer_ = -1;
    bool withholds_ = false;
    std::atomic<bool> has_sent_part_{false};
    std::vector<unsigned char> withheld_;
    std::thread thread_;
};

}  // namespace coflux_test

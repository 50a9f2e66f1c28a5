// A TLS stream against the client and the server of OpenSSL's command.
#include <coflux/tls/stream.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <unistd.h>

#include "openssl_command.hpp"
#include "support/iterations.hpp"
#include "support/temporary_folder.hpp"
#include "tls_scenes.hpp"

namespace {

using namespace coflux_test;
using coflux::endpoint;

class tls_and_openssl : public testing::Test {
protected:
    void SetUp() override {
        if (!has_openssl_command()) GTEST_SKIP() << "there is no command openssl";
    }
};

/// The port that a server says it listens at.
coflux::call<std::uint16_t> port_of(coflux::environment&, const temporary_folder* folder) {
    for (int i = 0; i < 2000; ++i) {
        const std::string text = coflux_test::text_of(folder->path("out"));
        const std::size_t at = text.find("ACCEPT 127.0.0.1:");
        if (at != std::string::npos && text.find('\n', at) != std::string::npos)
            co_return static_cast<std::uint16_t>(std::stoi(text.substr(at + 17)));
        co_await 10ms;
    }
    throw std::runtime_error("openssl s_server does not come up");
}

template <typename E>
coflux::task<void, E> asks_server(coflux::environment&, const char* version) {
    auto&& here = co_await coflux::context();
    const temporary_folder folder;
    const std::string certificate = folder.file("certificate.pem", localhost().pem());
    const std::string key = folder.file("key.pem", localhost().key_pem());
    const openssl_command server({"s_server", "-accept", "127.0.0.1:0", "-cert", certificate, "-key", key, "-rev",
                                  "-alpn", "reversing", version, "-naccept", "1"},
                                 "/dev/null", folder.path("out"));
    const auto at = endpoint::loopback(co_await port_of(here, &folder));
    auto options = trusting_options();
    options.alpn = {"other", "reversing"};
    tls_stream stream(coflux::tls_context::client(options), co_await coflux::tcp_stream::connect(at), "localhost");
    co_await stream.handshake(here);
    EXPECT_EQ(stream.alpn(), "reversing");
    EXPECT_EQ(stream.peer_subject(), "CN=localhost");
    EXPECT_EQ(stream.protocol(), version == std::string("-tls1_2") ? "TLSv1.2" : "TLSv1.3");
    for (int i = 0; i < 3; ++i) {
        co_await stream.write_all(here, "hello\n");
        std::string answer(6, ' ');
        co_await stream.read_exactly(here, bytes_of(answer));
        EXPECT_EQ(answer, "olleh\n");
    }
    (void)co_await stream.shutdown(here, std::chrono::steady_clock::now() + 10s);
}
TEST_F(tls_and_openssl, asks_a_server_of_version_1_3) {
    get_on_worker(asks_server<worker>, "-tls1_3");
}
TEST_F(tls_and_openssl, asks_a_server_of_version_1_2) {
    get_on_pool(asks_server<pool>, "-tls1_2");
}

constexpr std::size_t much = coflux_test::at_full_speed ? 10'000'000 : 2'000'000;  // bytes

template <typename E>
coflux::fork<void, E> sends(coflux::environment&, tls_stream* to, const std::string* bytes) {
    auto&& here = co_await coflux::context();
    co_await to->write_all(here, *bytes);
}
template <typename E>
coflux::task<void, E> serves(coflux::environment&, const char* version) {
    auto&& here = co_await coflux::context();
    const temporary_folder folder;
    const std::string there = numbered(much, 5);
    const std::string back = numbered(much, 6);
    const std::string in = folder.file("in", there);
    const std::string roots = folder.file("roots.pem", root().pem());
    coflux::tcp_listener listener(endpoint::loopback(0));
    const openssl_command client({"s_client", "-connect", listener.local_endpoint().to_string(), "-quiet",
                                  "-verify_return_error", "-CAfile", roots, "-servername", "localhost",
                                  "-verify_hostname", "localhost", version},
                                 in, folder.path("out"));
    tls_stream stream(localhost_server(), co_await listener.accept());
    co_await stream.handshake(here);
    EXPECT_EQ(stream.server_name(), "localhost");
    auto sender = sends<E>(here, &stream, &back);
    std::string got(there.size(), ' ');
    co_await stream.read_exactly(here, bytes_of(got));
    EXPECT_TRUE(got == there);
    co_await std::move(sender);
    co_await stream.shutdown_send(here);
    for (int i = 0; i < 2000 && coflux_test::text_of(folder.path("out")).size() < back.size(); ++i) co_await 10ms;
    EXPECT_TRUE(coflux_test::text_of(folder.path("out")) == back);
}
TEST_F(tls_and_openssl, serves_much_both_ways_at_once_on_a_worker) {
    get_on_worker(serves<worker>, "-tls1_3");
}
TEST_F(tls_and_openssl, serves_much_both_ways_at_once_on_a_pool) {
    get_on_pool(serves<pool>, "-tls1_2");
}

coflux::task<void, worker> serves_old(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const temporary_folder folder;
    coflux::tcp_listener listener(endpoint::loopback(0));
    const openssl_command client(
        {"s_client", "-connect", listener.local_endpoint().to_string(), "-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"},
        "/dev/null", folder.path("out"));
    tls_stream stream(localhost_server(), co_await listener.accept());
    std::error_code failure;
    try {
        co_await stream.handshake(here);
    } catch (const coflux::tls_error& e) {
        failure = e.code();
    }
    EXPECT_EQ(failure, coflux::tls_errc::no_common_version);
}
TEST_F(tls_and_openssl, refuses_a_client_of_version_1_1) {
    get_on_worker(serves_old);
}

/// A client that asks for new keys, in threads of its own.
class client_with_new_keys {
public:
    explicit client_with_new_keys(std::uint16_t port)
        : socket_(BIO_new_connect(("127.0.0.1:" + std::to_string(port)).c_str())) {
        SSL_set_bio(ssl_, socket_, socket_);
        SSL_set_msg_callback(ssl_, &count);
        SSL_set_msg_callback_arg(ssl_, &answers_);
    }
    client_with_new_keys(const client_with_new_keys&) = delete;
    client_with_new_keys& operator=(const client_with_new_keys&) = delete;
    ~client_with_new_keys() {
        SSL_free(ssl_);
        SSL_CTX_free(context_);
    }

    void connect() { must(BIO_do_connect(socket_) == 1 && SSL_connect(ssl_) == 1); }
    void ask(const char* text) {
        must(SSL_key_update(ssl_, SSL_KEY_UPDATE_REQUESTED) == 1);
        const int size = static_cast<int>(std::string_view(text).size());
        must(SSL_write(ssl_, text, size) == size);
    }
    std::string read(int size) {
        std::string got;
        std::string buffer(static_cast<std::size_t>(size), ' ');
        while (static_cast<int>(got.size()) < size) {
            const int n = SSL_read(ssl_, buffer.data(), size - static_cast<int>(got.size()));
            must(n > 0);
            got.append(buffer, 0, static_cast<std::size_t>(n));
        }
        return got;
    }
    [[nodiscard]] int answers() const { return answers_; }

private:
    static void count(int written, int, int type, const void* data, std::size_t, SSL*, void* answers) {
        const bool is_key_update = *static_cast<const unsigned char*>(data) == SSL3_MT_KEY_UPDATE;
        if (written == 0 && type == SSL3_RT_HANDSHAKE && is_key_update) ++*static_cast<int*>(answers);
    }

    SSL_CTX* context_ = SSL_CTX_new(TLS_client_method());
    SSL* ssl_ = SSL_new(context_);
    BIO* socket_;
    int answers_ = 0;
};

constexpr int rounds = 200;
constexpr int size_of_a_round = 50'000;

coflux::task<void, pool> changes_keys(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener listener(endpoint::loopback(0));
    std::string peer_got;
    int answers = 0;
    std::thread thread([port = listener.local_endpoint().port(), &peer_got, &answers] {
        client_with_new_keys peer(port);
        peer.connect();
        for (int i = 0; i < rounds; ++i) {
            peer.ask("0123456789");
            peer_got += peer.read(size_of_a_round);
        }
        answers = peer.answers();
    });
    tls_stream stream(localhost_server(), co_await listener.accept());
    co_await stream.handshake(here);
    const std::string back = numbered(std::size_t{rounds} * size_of_a_round, 7);
    auto sender = sends<pool>(here, &stream, &back);
    std::string got(10, ' ');
    for (int i = 0; i < rounds; ++i) {
        co_await stream.read_exactly(here, bytes_of(got));
        EXPECT_EQ(got, "0123456789");
    }
    co_await std::move(sender);
    std::byte one{};
    EXPECT_THROW((void)co_await stream.read_some(here, std::span(&one, 1)), std::system_error);  // the peer hangs up
    thread.join();
    EXPECT_TRUE(peer_got == back);
    EXPECT_GT(answers, 0);
}
TEST(tls_and_a_foreign_peer, changes_keys_beside_a_writer) {
    get_on_pool(changes_keys);
}

/// A server of TLS 1.2 that asks for a new handshake again and again. It counts what it gets, and does not read it: the
/// kind of a record is not secret.
class server_that_asks_again {
public:
    explicit server_that_asks_again(int connection) : connection_(connection) {
        const certificate& own = localhost();
        must(SSL_CTX_use_certificate(context_, own.x509.get()) == 1 &&
             SSL_CTX_use_PrivateKey(context_, own.key.get()) == 1 &&
             SSL_CTX_set_max_proto_version(context_, TLS1_2_VERSION) == 1);
        SSL_CTX_set_options(context_, SSL_OP_NO_TICKET);
        ssl_ = SSL_new(context_);
        must(SSL_set_fd(ssl_, connection) == 1 && SSL_accept(ssl_) == 1);
    }
    server_that_asks_again(const server_that_asks_again&) = delete;
    server_that_asks_again& operator=(const server_that_asks_again&) = delete;
    ~server_that_asks_again() {
        SSL_free(ssl_);
        SSL_CTX_free(context_);
        ::close(connection_);
    }

    void ask() { must(SSL_write(ssl_, "x", 1) == 1 && SSL_renegotiate(ssl_) == 1 && SSL_do_handshake(ssl_) == 1); }
    /// True: so many records of data and of alerts have come, within ten seconds each.
    bool has_got(int data, int alerts) {
        while (data_ < data || alerts_ < alerts) {
            std::array<unsigned char, 5> head{};
            if (!read(head)) return false;
            std::vector<unsigned char> body(static_cast<std::size_t>(head[3]) << 8 | head[4]);
            if (!read(body)) return false;
            ++(head[0] == 21 ? alerts_ : data_);
        }
        return data_ == data && alerts_ == alerts;
    }

private:
    bool read(std::span<unsigned char> into) const {
        while (!into.empty()) {
            pollfd readable{connection_, POLLIN, 0};
            if (::poll(&readable, 1, 10'000) != 1) return false;
            const ssize_t n = ::read(connection_, into.data(), into.size());
            if (n <= 0) return false;
            into = into.subspan(static_cast<std::size_t>(n));
        }
        return true;
    }

    int connection_;
    SSL_CTX* context_ = SSL_CTX_new(TLS_server_method());
    SSL* ssl_ = nullptr;
    int data_ = 0;
    int alerts_ = 0;
};

/// Looks all the time, on a thread of its own: so it begins at once.
coflux::fork<void, worker> writes_at_each(coflux::environment&, tls_stream* to, const std::atomic<int>* asked) {
    auto&& here = co_await coflux::context();
    for (int next = 1;; ++next) {
        int seen = 0;
        while ((seen = asked->load()) != next && seen >= 0) std::this_thread::yield();
        if (seen < 0) co_return;
        co_await to->write_all(here, "y");
    }
}
/// A writer begins as the reader finds the request, whose answer the reader makes: the two send at the same time.
coflux::task<void, worker> answers_beside_a_writer(coflux::environment&, worker* other, int rounds) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener listener(endpoint::loopback(0));
    auto accepted = listener.accept();
    auto connection = co_await coflux::tcp_stream::connect(listener.local_endpoint());
    auto peer = co_await std::move(accepted);
    const int number = ::dup(peer.native_handle());
    peer.close();
    ::fcntl(number, F_SETFL, 0);
    bool all_came = false;
    std::thread thread([number, rounds, &all_came] {
        server_that_asks_again server(number);
        for (int i = 1; i <= rounds; ++i) {
            server.ask();
            if (!server.has_got(i, i)) return;
        }
        all_came = true;
    });
    tls_stream stream(trusting_client(), std::move(connection), "localhost");
    co_await stream.handshake(here);
    std::atomic<int> asked{0};
    auto on_other = coflux::make_environment(*other);
    auto writer = writes_at_each(on_other, &stream, &asked);
    std::byte one{};
    unsigned x = 1;
    try {
        while (co_await stream.read_some(here, std::span(&one, 1)) != 0) {
            ++asked;
            x = x * 1'664'525U + 1'013'904'223U;
            for (unsigned spin = x >> 18; spin != 0; --spin) asm volatile("" : : : "memory");
        }
    } catch (const std::system_error&) {  // it has gone
    }
    asked = -1;
    (void)co_await coflux::as_outcome(std::move(writer));
    thread.join();
    EXPECT_TRUE(all_came);
}
TEST(tls_and_a_foreign_peer, gets_each_answer_that_a_reader_makes_beside_a_writer) {
    worker other;
    get_on_worker(answers_beside_a_writer, &other, 2000);
}

}  // namespace

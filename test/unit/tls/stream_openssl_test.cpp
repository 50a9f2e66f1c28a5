// A TLS stream against the client and the server of OpenSSL's command.
#include <coflux/tls/stream.hpp>

#include <array>
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

#include <gtest/gtest.h>

#include <openssl/bio.h>
#include <openssl/ssl.h>

#include <coflux/coflux.hpp>

#include "certificates.hpp"
#include "openssl_command.hpp"
#include "secured.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::endpoint;
using coflux::tls_stream;
using coflux_test::bytes_of;
using coflux_test::localhost;
using coflux_test::localhost_server;
using coflux_test::must;
using coflux_test::numbered;
using coflux_test::openssl_command;
using coflux_test::root;
using coflux_test::scratch_folder;
using coflux_test::trusting_options;
using pool = coflux::thread_pool_executor;
using worker = coflux::worker_executor;

class tls_and_openssl : public testing::Test {
protected:
    void SetUp() override {
        if (!coflux_test::has_openssl_command()) GTEST_SKIP() << "there is no command openssl";
    }
};

/// The port that a server says it listens at.
coflux::call<std::uint16_t> port_of(coflux::environment&, const scratch_folder* folder) {
    for (int i = 0; i < 2000; ++i) {
        const std::string text = folder->read("out");
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
    const scratch_folder folder;
    const std::string certificate = folder.write("certificate.pem", localhost().pem());
    const std::string key = folder.write("key.pem", localhost().key_pem());
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
    worker w;
    auto env = coflux::make_environment(w);
    asks_server<worker>(env, "-tls1_3").get();
}
TEST_F(tls_and_openssl, asks_a_server_of_version_1_2) {
    pool p{2};
    auto env = coflux::make_environment(p);
    asks_server<pool>(env, "-tls1_2").get();
}

template <typename E>
coflux::fork<void, E> sends(coflux::environment&, tls_stream* to, const std::string* bytes) {
    auto&& here = co_await coflux::context();
    co_await to->write_all(here, *bytes);
}
template <typename E>
coflux::task<void, E> serves(coflux::environment&, const char* version) {
    auto&& here = co_await coflux::context();
    const scratch_folder folder;
    const std::string there = numbered(10'000'000, 5);
    const std::string back = numbered(10'000'000, 6);
    const std::string in = folder.write("in", there);
    const std::string roots = folder.write("roots.pem", root().pem());
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
    for (int i = 0; i < 2000 && folder.read("out").size() < back.size(); ++i) co_await 10ms;
    EXPECT_TRUE(folder.read("out") == back);
}
TEST_F(tls_and_openssl, serves_much_both_ways_at_once_on_a_worker) {
    worker w;
    auto env = coflux::make_environment(w);
    serves<worker>(env, "-tls1_3").get();
}
TEST_F(tls_and_openssl, serves_much_both_ways_at_once_on_a_pool) {
    pool p{2};
    auto env = coflux::make_environment(p);
    serves<pool>(env, "-tls1_2").get();
}

coflux::task<void, worker> serves_old(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const scratch_folder folder;
    coflux::tcp_listener listener(endpoint::loopback(0));
    const openssl_command client(
        {"s_client", "-connect", listener.local_endpoint().to_string(), "-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"},
        "/dev/null", folder.path("out"));
    tls_stream stream(localhost_server(), co_await listener.accept());
    std::string text;
    try {
        co_await stream.handshake(here);
    } catch (const coflux::tls_error& e) {
        text = e.what();
    }
    EXPECT_NE(text.find("unsupported protocol"), std::string::npos) << text;
}
TEST_F(tls_and_openssl, refuses_a_client_of_version_1_1) {
    worker w;
    auto env = coflux::make_environment(w);
    serves_old(env).get();
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
    pool p{2};
    auto env = coflux::make_environment(p);
    changes_keys(env).get();
}

}  // namespace

#include <coflux/io/tcp.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "simulated.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::endpoint;
using coflux::tcp_listener;
using coflux::tcp_stream;
using simulated = coflux::testing::sim_executor;

/// A kind of executor, with the one below it.
struct on_worker {
    using type = coflux::worker_executor;
    type worker;
    type& executor() { return worker; }
};
struct on_pool {
    using type = coflux::thread_pool_executor;
    type threads{2};
    type& executor() { return threads; }
};
struct on_strand {
    using type = coflux::strand<coflux::worker_executor>;
    coflux::worker_executor worker;
    type strand{worker};
    type& executor() { return strand; }
};
struct on_shard {
    using type = coflux::shard;
    coflux::shard_group shards{1};
    type& executor() { return shards[0]; }
};

template <typename On>
class tcp : public testing::Test {};
using executors = testing::Types<on_worker, on_pool, on_strand, on_shard>;
TYPED_TEST_SUITE(tcp, executors);

template <typename E>
coflux::fork<void, E> echoes(coflux::environment&, tcp_stream peer) {
    std::array<std::byte, 64> buffer{};
    while (const std::size_t n = co_await peer.read_some(buffer)) co_await peer.write_all(std::span(buffer).first(n));
}
template <typename E>
coflux::fork<void, E> serves(coflux::environment&, tcp_listener* at, int connections) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < connections; ++i) echoes<E>(here, co_await at->accept()).attach();
}
template <typename E>
coflux::fork<int, E> asks(coflux::environment&, endpoint where, int times) {
    tcp_stream peer = co_await tcp_stream::connect(where);
    int right = 0;
    for (int i = 0; i < times; ++i) {
        const std::string text = "message " + std::to_string(i);
        co_await peer.write_all(text);
        std::string got(text.size(), ' ');
        co_await peer.read_exactly(std::as_writable_bytes(std::span(got)));
        right += got == text ? 1 : 0;
    }
    peer.shutdown_send();
    std::byte rest{};
    EXPECT_EQ(co_await peer.read_some(std::span(&rest, 1)), 0U);
    co_return right;
}
template <typename E>
coflux::task<int, E> talks(coflux::environment&, int clients, int times) {
    auto&& here = co_await coflux::context();
    tcp_listener listener(endpoint::loopback(0));
    auto server = serves<E>(here, &listener, clients);
    std::vector<coflux::fork<int, E>> all;
    for (int i = 0; i < clients; ++i) all.push_back(asks<E>(here, listener.local_endpoint(), times));
    int right = 0;
    for (int n : co_await coflux::when_all(std::move(all))) right += n;
    co_await std::move(server);
    co_return right;
}

TYPED_TEST(tcp, carries_messages_to_and_fro) {
    TypeParam on;
    auto env = coflux::make_environment(on.executor());
    EXPECT_EQ((talks<typename TypeParam::type>(env, 10, 100).get()), 1000);
}
TEST(tcp_simulated, carries_messages_to_and_fro) {
    coflux_test::in_simulations([](coflux::environment& env) { return talks<simulated>(env, 5, 10); }, 50);
}

template <typename E>
coflux::fork<void, E> reads_for_ever(coflux::environment&, tcp_stream* from) {
    std::byte one{};
    (void)co_await from->read_some(std::span(&one, 1));
}
template <typename E>
coflux::task<std::string, E> stops_a_read(coflux::environment&) {
    auto&& here = co_await coflux::context();
    tcp_listener listener(endpoint::loopback(0));
    tcp_stream near = co_await tcp_stream::connect(listener.local_endpoint());
    tcp_stream far = co_await listener.accept();
    const bool ended = co_await coflux::timeout(reads_for_ever<E>(here, &near), 5ms);
    EXPECT_FALSE(ended);
    co_await far.write_all("kept");
    std::string got(4, ' ');
    co_await near.read_exactly(std::as_writable_bytes(std::span(got)));
    co_return got;
}

TYPED_TEST(tcp, loses_nothing_by_a_stop_of_a_read) {
    TypeParam on;
    auto env = coflux::make_environment(on.executor());
    EXPECT_EQ(stops_a_read<typename TypeParam::type>(env).get(), "kept");
}
TEST(tcp_simulated, loses_nothing_by_a_stop_of_a_read) {
    coflux_test::in_simulations(stops_a_read<simulated>, "kept");
}

template <typename E>
coflux::fork<std::size_t, E> sends_much(coflux::environment&, tcp_stream* to, std::size_t size) {
    const std::string much(size, 'x');
    co_await to->write_all(much);
    to->shutdown_send();
    co_return size;
}
template <typename E>
coflux::task<std::size_t, E> fills_the_socket(coflux::environment&, std::size_t size) {
    auto&& here = co_await coflux::context();
    tcp_listener listener(endpoint::loopback(0));
    tcp_stream near = co_await tcp_stream::connect(listener.local_endpoint());
    tcp_stream far = co_await listener.accept();
    auto sender = sends_much<E>(here, &near, size);
    std::vector<std::byte> buffer(1000);
    std::size_t received = 0;
    while (const std::size_t n = co_await far.read_some(buffer)) received += n;
    co_await std::move(sender);
    co_return received;
}

TYPED_TEST(tcp, sends_more_than_a_socket_holds) {
    TypeParam on;
    auto env = coflux::make_environment(on.executor());
    EXPECT_EQ(fills_the_socket<typename TypeParam::type>(env, 3'000'000).get(), 3'000'000U);
}
TEST(tcp_simulated, sends_more_than_a_socket_holds) {
    coflux_test::in_simulations([](coflux::environment& env) { return fills_the_socket<simulated>(env, 20'000); },
                                20'000U);
}

template <typename E>
coflux::task<void, E> tells_errors(coflux::environment&) {
    endpoint none_listens;
    {
        tcp_listener listener(endpoint::loopback(0));
        none_listens = listener.local_endpoint();
    }
    std::string text;
    try {
        (void)co_await tcp_stream::connect(none_listens);
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::connection_refused);
        text = e.what();
    }
    EXPECT_EQ(text.find("coflux: connect to " + none_listens.to_string()), 0U) << text;
    const auto refused = co_await coflux::as_result(tcp_stream::connect(none_listens));
    EXPECT_EQ(refused.error(), std::errc::connection_refused);

    tcp_listener listener(endpoint::loopback(0));
    tcp_stream near = co_await tcp_stream::connect(listener.local_endpoint());
    tcp_stream far = co_await listener.accept();
    co_await far.write_all("ab");
    far.shutdown_send();
    std::array<std::byte, 3> three{};
    std::size_t before_the_end = 0;
    try {
        co_await near.read_exactly(three);
    } catch (const coflux::end_of_stream& e) {
        before_the_end = e.count();
    }
    EXPECT_EQ(before_the_end, 2U);
    // After the end of the stream a reset need not be told.
    far.reset();
    const auto cut = co_await coflux::as_result(near.read_some(three));
    EXPECT_TRUE(cut ? *cut == 0 : cut.error() == std::errc::connection_reset);
}

TYPED_TEST(tcp, tells_errors_as_exceptions_and_as_values) {
    TypeParam on;
    auto env = coflux::make_environment(on.executor());
    tells_errors<typename TypeParam::type>(env).get();
}
TEST(tcp_simulated, tells_errors_as_exceptions_and_as_values) {
    coflux_test::in_each_simulation([](coflux::environment& env) { tells_errors<simulated>(env).get(); });
}

coflux::task<int, coflux::run_loop> talks_to_itself(coflux::environment&) {
    auto&& here = co_await coflux::context();
    tcp_listener listener(endpoint::loopback(0));
    auto server = serves<coflux::run_loop>(here, &listener, 1);
    const int right = co_await asks<coflux::run_loop>(here, listener.local_endpoint(), 50);
    co_await std::move(server);
    co_return right;
}

TEST(tcp_on_a_run_loop, waits_in_the_loop_of_its_user) {
    coflux::run_loop loop;
    auto env = coflux::make_environment(loop);
    EXPECT_EQ(loop.run(talks_to_itself(env)), 50);
}

}  // namespace

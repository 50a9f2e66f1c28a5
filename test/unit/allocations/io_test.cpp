// Operations of sockets that have waited before allocate nothing.
#include <array>
#include <chrono>
#include <cstddef>
#include <span>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/alloc_guard.hpp>

namespace {

template <typename E>
coflux::fork<void, E> gives_back(coflux::environment&, coflux::tcp_stream* peer) {
    std::array<std::byte, 64> buffer{};
    while (const std::size_t n = co_await peer->read_some(buffer)) co_await peer->write_all(std::span(buffer).first(n));
}
template <typename E>
coflux::task<std::size_t, E> asks(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));
    auto near = co_await coflux::tcp_stream::connect(listener.local_endpoint());
    auto far = co_await listener.accept();
    auto echo = gives_back<E>(here, &far);
    std::array<std::byte, 16> answer{};
    std::size_t before = 0;
    for (int i = 0; i < 2000; ++i) {
        if (i == 1000) before = coflux::testing::new_calls();
        co_await near.write_all(std::span<const std::byte>(answer));
        co_await near.read_exactly(answer);
    }
    const std::size_t made = coflux::testing::new_calls() - before;
    near.shutdown_send();
    co_await std::move(echo);
    co_return made;
}

TEST(allocations_of_sockets, are_none_once_a_stream_has_waited) {
    if (!coflux::testing::counts_new()) GTEST_SKIP() << "operator new is not counted here";
    coflux::worker_executor worker;
    auto env = coflux::make_environment(worker);
    EXPECT_EQ(asks<coflux::worker_executor>(env).get(), 0U);
    coflux::thread_pool_executor pool{1};
    auto env_of_pool = coflux::make_environment(pool);
    EXPECT_EQ(asks<coflux::thread_pool_executor>(env_of_pool).get(), 0U);
}

template <typename E>
coflux::task<std::size_t, E> accepts(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));
    std::array<std::byte, 1> one{};
    std::size_t before = 0;
    for (int i = 0; i < 400; ++i) {
        if (i == 200) before = coflux::testing::new_calls();
        auto near = co_await coflux::tcp_stream::connect(listener.local_endpoint());
        auto far = co_await listener.accept();
        auto echo = gives_back<E>(here, &far);
        co_await near.write_all(std::span<const std::byte>(one));
        co_await near.read_exactly(one);
        near.shutdown_send();
        co_await std::move(echo);
    }
    co_return coflux::testing::new_calls() - before;
}

TEST(allocations_of_sockets, are_none_for_one_connection_after_the_other) {
    if (!coflux::testing::counts_new()) GTEST_SKIP() << "operator new is not counted here";
    coflux::worker_executor worker;
    auto env = coflux::make_environment(worker);
    EXPECT_EQ(accepts<coflux::worker_executor>(env).get(), 0U);
}

coflux::task<std::size_t, coflux::worker_executor> waits_with_limits(coflux::environment&) {
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));
    auto near = co_await coflux::tcp_stream::connect(listener.local_endpoint());
    auto far = co_await listener.accept();
    std::array<std::byte, 1> one{};
    std::size_t before = 0;
    for (int i = 0; i < 20; ++i) {
        if (i == 10) before = coflux::testing::new_calls();
        (void)co_await coflux::timeout(near.read_some(one), std::chrono::milliseconds(1));
        co_await far.write_all(std::span<const std::byte>(one));
        (void)co_await coflux::timeout(near.read_some(one), std::chrono::seconds(1));
    }
    co_return coflux::testing::new_calls() - before;
}

TEST(allocations_of_sockets, are_none_for_a_wait_with_a_limit) {
    if (!coflux::testing::counts_new()) GTEST_SKIP() << "operator new is not counted here";
    coflux::worker_executor worker;
    auto env = coflux::make_environment(worker);
    EXPECT_EQ(waits_with_limits(env).get(), 0U);
}

}  // namespace

// Operations of local sockets, datagrams and pipes that have waited before allocate nothing, and no split does.
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/alloc_guard.hpp>

namespace {

using coflux::testing::new_calls;

template <typename E>
coflux::fork<void, E> gives_back(coflux::environment&, coflux::byte_reader* from, coflux::byte_writer* to) {
    std::array<std::byte, 64> buffer{};
    const std::array parts{std::span(buffer).first(3), std::span(buffer).subspan(3)};
    while (const std::size_t n = co_await from->read_some(parts)) {
        const std::array<std::span<const std::byte>, 2> back{std::span(buffer).first(1),
                                                             std::span(buffer).subspan(1, n - 1)};
        co_await to->write_all(back);
    }
}
template <typename E>
coflux::fork<void, E> gives_messages_back(coflux::environment&, coflux::datagram_socket* at) {
    std::array<std::byte, 64> buffer{};
    std::array<coflux::incoming_datagram, 1> batch{coflux::incoming_datagram{buffer, {}}};
    for (;;) {
        (void)co_await at->receive_batch(batch);
        if (batch[0].got.size == 0) break;
        co_await at->send_to(std::span(buffer).first(batch[0].got.size), batch[0].got.from);
    }
}
template <typename E>
coflux::task<std::size_t, E> asks(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto [near, far] = coflux::unix_stream::pair();
    const std::size_t before_split = new_calls();
    auto halves = std::move(far).split();
    std::size_t made = new_calls() - before_split;
    auto to = coflux::make_pipe();
    auto back = coflux::make_pipe();
    coflux::udp_socket server(coflux::endpoint::loopback(0));
    coflux::udp_socket client(coflux::endpoint::loopback(0));
    client.connect(server.local_endpoint());
    auto echo = gives_back<E>(here, &halves.reader, &halves.writer);
    auto through_pipes = gives_back<E>(here, &to.reader, &back.writer);
    auto messages = gives_messages_back<E>(here, &server);
    std::array<std::byte, 16> answer{};
    std::size_t before = 0;
    for (int i = 0; i < 1000; ++i) {
        if (i == 500) before = new_calls();
        co_await near.write_all(std::span<const std::byte>(answer));
        co_await near.read_exactly(answer);
        co_await to.writer.write_all(std::span<const std::byte>(answer));
        co_await back.reader.read_exactly(answer);
        co_await client.send(answer);
        (void)co_await client.receive(answer);
    }
    made += new_calls() - before;
    near.shutdown_send();
    to.writer.close();
    co_await client.send("");
    co_await std::move(echo);
    co_await std::move(through_pipes);
    co_await std::move(messages);
    co_return made;
}

TEST(allocations_of_sockets, of_each_kind_are_none_once_they_have_waited) {
    if (!coflux::testing::counts_new()) GTEST_SKIP() << "operator new is not counted here";
    coflux::worker_executor worker;
    auto env = coflux::make_environment(worker);
    EXPECT_EQ(asks<coflux::worker_executor>(env).get(), 0U);
    coflux::thread_pool_executor pool{1};
    auto env_of_pool = coflux::make_environment(pool);
    EXPECT_EQ(asks<coflux::thread_pool_executor>(env_of_pool).get(), 0U);
}

}  // namespace

// The operations of sockets of messages of each kind.
#include <coflux/io/datagram.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"
#include "simulated.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::datagram_socket;
using coflux::endpoint;
using coflux::udp_socket;
using coflux::unix_datagram;
using coflux_test::bytes_of;
using coflux_test::on_a_worker;
using coflux_test::open_descriptors;
using pool = coflux::thread_pool_executor;
using worker = coflux::worker_executor;
using simulated = coflux::testing::sim_executor;

struct udp_pair {
    udp_socket first{endpoint::loopback(0)};
    udp_socket second{endpoint::loopback(0)};
    udp_pair() {
        first.connect(second.local_endpoint());
        second.connect(first.local_endpoint());
    }
};

std::string_view text_of(std::span<const std::byte> bytes, std::size_t size) {
    return {reinterpret_cast<const char*>(bytes.data()), size};
}

// --- messages --------------------------------------------------------------------------------------------------------

coflux::call<void> keeps_borders(coflux::environment&, datagram_socket* near, datagram_socket* far) {
    co_await near->send("one");
    co_await near->send("");
    co_await near->send("three");
    std::array<std::byte, 10> into{};
    EXPECT_EQ(co_await far->receive(into), 3U);
    EXPECT_EQ(text_of(into, 3), "one");
    EXPECT_EQ(co_await far->receive(into), 0U);
    const auto last = co_await far->receive_from(into);
    EXPECT_EQ(last.size, 5U);
    EXPECT_FALSE(last.is_truncated());

    // Too long.
    co_await near->send("0123456789abcdef");
    const auto cut = co_await far->receive_from(into);
    EXPECT_EQ(cut.size, 10U);
    EXPECT_EQ(cut.whole, 16U);
    EXPECT_TRUE(cut.is_truncated());
    co_await near->send("0123456789abcdef");
    const auto refused = co_await coflux::as_result(far->receive(into));
    EXPECT_EQ(refused.error(), std::errc::message_size);
    co_await near->send("0123456789abcdef");
    EXPECT_THROW((void)co_await far->receive(into), std::system_error);
    co_await near->send("x");
    EXPECT_EQ((co_await coflux::as_result(far->receive_from(into))).value().size, 1U);
}
template <typename E>
coflux::task<void, E> keeps_borders_of_each(coflux::environment&) {
    auto&& here = co_await coflux::context();
    udp_pair udp;
    co_await keeps_borders(here, &udp.first, &udp.second);
    auto local = unix_datagram::pair();
    co_await keeps_borders(here, &local.first, &local.second);
}
TEST(datagrams, keep_their_borders_and_tell_what_is_cut) {
    on_a_worker(keeps_borders_of_each<worker>);
    coflux_test::in_simulations(keeps_borders_of_each<simulated>);
}

// --- batches ---------------------------------------------------------------------------------------------------------

template <typename E>
coflux::fork<std::size_t, E> sends_batches(coflux::environment&, datagram_socket* to, std::size_t count) {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < count; ++i) texts.push_back("message " + std::to_string(i));
    std::vector<coflux::outgoing_datagram> all;
    for (const std::string& t : texts) all.push_back({std::as_bytes(std::span(t)), {}});
    std::size_t calls = 0;
    for (std::span<const coflux::outgoing_datagram> left = all; !left.empty(); ++calls)
        left = left.subspan(co_await to->send_batch(left));
    co_return calls;
}
template <typename E>
coflux::task<void, E> uses_batches(coflux::environment&, std::size_t count) {
    auto&& here = co_await coflux::context();
    auto [near, far] = unix_datagram::pair();
    auto sender = sends_batches<E>(here, &near, count);
    std::vector<std::array<std::byte, 64>> buffers(40);
    std::vector<coflux::incoming_datagram> batch;
    for (auto& b : buffers) batch.push_back({b, {}});
    std::size_t received = 0;
    while (received < count) {
        const std::size_t n = co_await far.receive_batch(batch);
        EXPECT_GE(n, 1U);
        EXPECT_LE(n, 32U);
        for (std::size_t i = 0; i < n; ++i)
            EXPECT_EQ(text_of(batch[i].into, batch[i].got.size), "message " + std::to_string(received + i));
        received += n;
    }
    EXPECT_EQ(received, count);
    EXPECT_GE(co_await std::move(sender), count / 32);
}
TEST(datagram_batches, come_in_order_and_wait_for_room_on_a_worker) {
    worker on;
    auto env = coflux::make_environment(on);
    uses_batches<worker>(env, 1000).get();
}
TEST(datagram_batches, come_in_order_and_wait_for_room_in_a_simulation) {
    coflux_test::in_simulations([](coflux::environment& env) { return uses_batches<simulated>(env, 1000); });
}
TEST(datagram_batches, come_in_order_and_wait_for_room_on_a_pool) {
    pool on{2};
    auto env = coflux::make_environment(on);
    uses_batches<pool>(env, 1000).get();
}

template <typename E>
coflux::task<void, E> sends_batches_by_udp(coflux::environment&) {
    udp_socket to(endpoint::loopback(0));
    udp_socket from(endpoint::loopback(0));
    const std::string a = "a";
    const std::string b = "bb";
    const std::array messages{coflux::outgoing_datagram{std::as_bytes(std::span(a)), to.local_endpoint()},
                              coflux::outgoing_datagram{std::as_bytes(std::span(b)), to.local_endpoint()}};
    EXPECT_EQ(co_await from.send_batch(messages), 2U);
    EXPECT_EQ(co_await from.send_batch({}), 0U);
    std::array<std::byte, 1> one{};
    std::array<std::byte, 1> two{};
    std::array<coflux::incoming_datagram, 3> batch{coflux::incoming_datagram{one, {}}, {two, {}}, {{}, {}}};
    EXPECT_EQ(co_await to.receive_batch({}), 0U);
    co_await 1ms;  // in a simulation they are on their way
    EXPECT_EQ(co_await to.receive_batch(batch), 2U);
    EXPECT_EQ(batch[0].got.from, from.local_endpoint());
    EXPECT_FALSE(batch[0].got.is_truncated());
    EXPECT_TRUE(batch[1].got.is_truncated());
    EXPECT_EQ(batch[1].got.whole, 2U);

    // The error of a later message is that of the next call.
    const std::string long_one(70'000, 'x');
    const std::array bad{coflux::outgoing_datagram{std::as_bytes(std::span(a)), to.local_endpoint()},
                         coflux::outgoing_datagram{std::as_bytes(std::span(long_one)), to.local_endpoint()}};
    EXPECT_EQ(co_await from.send_batch(bad), 1U);
    const auto refused = co_await coflux::as_result(from.send_batch(std::span(bad).subspan(1)));
    EXPECT_EQ(refused.error(), std::errc::message_size);
    EXPECT_THROW((void)co_await from.send_batch(std::span(bad).subspan(1)), std::system_error);
    auto last = co_await coflux::as_result(to.receive_batch(batch));
    EXPECT_EQ(last.value(), 1U);
}
TEST(datagram_batches, tell_senders_and_errors) {
    on_a_worker(sends_batches_by_udp<worker>);
    coflux_test::in_simulations(sends_batches_by_udp<simulated>);
}

// --- stop ------------------------------------------------------------------------------------------------------------

template <typename E>
coflux::fork<void, E> sends_later(coflux::environment&, datagram_socket* to, int yields) {
    for (int y = 0; y < yields; ++y) co_await coflux::this_coroutine::yield();
    co_await to->send("kept");
}
template <typename E>
coflux::fork<std::size_t, E> receives(coflux::environment&, datagram_socket* from) {
    std::array<std::byte, 8> into{};
    co_return co_await from->receive(into);
}
template <typename E>
coflux::fork<void, E> requests_stop(coflux::environment&, coflux::environment* of) {
    of->request_stop();
    co_return;
}
/// The message comes beside the stop; in every fifth round the stop leaves it the time to be seen.
template <typename E>
coflux::task<int, E> races(coflux::environment&, int times) {
    auto&& here = co_await coflux::context();
    auto [near, far] = unix_datagram::pair();
    int stopped = 0;
    for (int i = 0; i < times; ++i) {
        auto inside = coflux::make_environment(here);
        auto receiver = receives<E>(inside, &far);
        auto sender = sends_later<E>(here, &near, i % 3);
        for (int y = 0; y < i % 4; ++y) co_await coflux::this_coroutine::yield();
        if (i % 5 == 4) co_await coflux::sleep_for(100us);
        auto stop = requests_stop<E>(here, &inside);
        const auto how = co_await coflux::as_outcome(std::move(receiver));
        co_await std::move(stop);
        co_await std::move(sender);
        co_await inside.join();
        EXPECT_FALSE(how.has_error());
        stopped += how.is_stopped() ? 1 : 0;
        std::array<std::byte, 8> into{};
        if (how.is_stopped()) {
            EXPECT_EQ(co_await far.receive(into), 4U);
        }
    }
    co_return stopped;
}
TEST(datagram_stop, beside_a_message_loses_none_on_a_worker) {
    worker on;
    auto env = coflux::make_environment(on);
    const int stopped = races<worker>(env, 400).get();
    EXPECT_GT(stopped, 0);
    EXPECT_LT(stopped, 400);
}
TEST(datagram_stop, beside_a_message_loses_none_in_a_simulation) {
    coflux_test::in_simulations([](coflux::environment& env) -> coflux::task<void, simulated> {
        auto&& here = co_await coflux::context();
        EXPECT_GT(co_await races<simulated>(here, 40), 0);
    });
}
TEST(datagram_stop, beside_a_message_loses_none_on_a_pool) {
    pool on{2};
    auto env = coflux::make_environment(on);
    (void)races<pool>(env, 400).get();
}

template <typename E>
coflux::task<void, E> stops_each(coflux::environment&) {
    auto [near, far] = unix_datagram::pair();
    std::array<std::byte, 8> into{};
    std::array<coflux::incoming_datagram, 1> batch{coflux::incoming_datagram{into, {}}};
    EXPECT_FALSE(co_await coflux::timeout(far.receive(into), 1ms));
    EXPECT_FALSE(co_await coflux::timeout(far.receive_from(into), 1ms));
    EXPECT_FALSE(co_await coflux::timeout(far.receive_batch(batch), 1ms));
    EXPECT_TRUE((co_await coflux::timeout(coflux::as_result(far.receive_from(into)), 1ms)).timed_out());
    int sent = 0;
    while (co_await coflux::timeout(near.send("message"), 2ms)) ++sent;
    EXPECT_GT(sent, 0);
    const std::string text = "more";
    const std::array more{coflux::outgoing_datagram{std::as_bytes(std::span(text)), {}}};
    EXPECT_FALSE(co_await coflux::timeout(near.send_batch(more), 1ms));
    for (int i = 0; i < sent; ++i) EXPECT_EQ(co_await far.receive(into), 7U);  // no more, no less
    EXPECT_FALSE(co_await coflux::timeout(far.receive(into), 1ms));
}
TEST(datagram_stop, ends_each_operation_that_waits_and_sends_nothing) {
    on_a_worker(stops_each<worker>);
    coflux_test::in_simulations(stops_each<simulated>);
}

template <typename E>
coflux::task<void, E> chooses(coflux::environment&) {
    udp_pair a;
    udp_pair b;
    std::array<std::byte, 4> one{};
    std::array<std::byte, 4> two{};
    co_await b.first.send("b");
    const auto first = co_await coflux::when_any(a.second.receive(one), b.second.receive(two));
    EXPECT_EQ(first.index(), 1U);
    co_await b.first.send("b");
    auto chosen = co_await coflux::select(a.second.receive(one), b.second.receive(two));
    EXPECT_EQ(chosen.index(), 1U);
    co_await a.first.send("kept");
    EXPECT_EQ(co_await a.second.receive(one), 4U);
}
TEST(datagram_stop, of_what_loses_a_choice_loses_no_message) {
    on_a_worker(chooses<worker>);
    coflux_test::in_simulations(chooses<simulated>);
}

class datagram_death : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};
coflux::task<void, worker> destroys_what_is_waited_for(coflux::environment&) {
    auto&& here = co_await coflux::context();
    udp_socket socket(endpoint::loopback(0));
    auto waits = receives<worker>(here, &socket);
    co_await 1ms;
    socket = udp_socket();
    co_await std::move(waits);
}
TEST_F(datagram_death, a_socket_that_is_assigned_to_while_an_operation_waits_is_refused) {
    EXPECT_DEATH(on_a_worker(destroys_what_is_waited_for),
                 "a socket, pipe or process is assigned to while an operation of it waits");
}
coflux::task<void, worker> two_receivers(coflux::environment&) {
    auto&& here = co_await coflux::context();
    udp_socket socket(endpoint::loopback(0));
    auto one = receives<worker>(here, &socket);
    auto two = receives<worker>(here, &socket);
    co_await coflux::when_all(std::move(one), std::move(two));
}
TEST_F(datagram_death, two_receivers_are_refused) {
    EXPECT_DEATH(on_a_worker(two_receivers), "two coroutines wait for the same direction of a socket");
}

}  // namespace

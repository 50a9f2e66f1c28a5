// The result of a read that waits for a message: by a call that the system makes, or after a poll.
#include <coflux/io/datagram.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"
#include "simulated.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::datagram;
using coflux::datagram_socket;
using coflux::endpoint;
using coflux::io_result;
using coflux::udp_socket;
using coflux::unix_datagram;
using coflux_test::on_a_worker;
using worker = coflux::worker_executor;
using simulated = coflux::testing::sim_executor;

using room = std::array<std::byte, 8>;

std::string_view text_of(const room& bytes, std::size_t size) {
    return {reinterpret_cast<const char*>(bytes.data()), size};
}

template <typename E>
coflux::fork<io_result<std::size_t>, E> receives(coflux::environment&, datagram_socket* from, room* into,
                                                 std::size_t size = 8) {
    co_return co_await coflux::as_result(from->receive(std::span(*into).first(size)));
}
template <typename E>
coflux::fork<io_result<datagram>, E> receives_from(coflux::environment&, datagram_socket* from, room* into) {
    co_return co_await coflux::as_result(from->receive_from(*into));
}
/// The result of `read`, which waits by then, of this message.
template <typename Read>
coflux::call<typename Read::value_type> after_a_wait(coflux::environment&, Read read, datagram_socket* sender,
                                                     std::string_view message) {
    co_await coflux::sleep_for(200us);
    co_await sender->send(message);
    co_return co_await std::move(read);
}

template <typename E>
coflux::call<void> gets_messages(coflux::environment& here, datagram_socket* near, datagram_socket* far) {
    room into{};
    const auto reads = [&](std::string_view message) {
        return after_a_wait(here, receives<E>(here, far, &into), near, message);
    };
    for (const std::string_view text : {"one", "", "two", "eight by", ""}) {
        const auto got = co_await reads(text);
        EXPECT_EQ(got.value(), text.size());
        EXPECT_EQ(text_of(into, text.size()), text);
    }
    const auto refused = co_await reads("nine byte");
    EXPECT_EQ(refused.error(), std::errc::message_size);
    const auto next = co_await reads("next");
    EXPECT_EQ(next.value(), 4U);
    // Without room only an empty message is received.
    const auto none = co_await after_a_wait(here, receives<E>(here, far, &into, 0), near, "");
    EXPECT_EQ(none.value(), 0U);
    const auto some = co_await after_a_wait(here, receives<E>(here, far, &into, 0), near, "x");
    EXPECT_EQ(some.error(), std::errc::message_size);
}

template <typename E>
coflux::call<void> gets_senders(coflux::environment& here, datagram_socket* near, datagram_socket* far,
                                endpoint sender) {
    room into{};
    const auto reads = [&](std::string_view message) {
        return after_a_wait(here, receives_from<E>(here, far, &into), near, message);
    };
    static constexpr std::array<std::string_view, 5> texts{"one", "", "nine byte",
                                                           "longer than its room by more than that", "two"};
    for (const std::string_view text : texts) {
        const auto got = co_await reads(text);
        EXPECT_EQ(got.value().whole, text.size());
        EXPECT_EQ(got.value().size, std::min(text.size(), into.size()));
        EXPECT_EQ(got.value().is_truncated(), text.size() > into.size());
        EXPECT_EQ(got.value().from, sender);
        EXPECT_EQ(text_of(into, got.value().size), text.substr(0, into.size()));
    }
}

template <typename E>
coflux::task<void, E> waits_at_each(coflux::environment&) {
    auto&& here = co_await coflux::context();
    udp_socket first{endpoint::loopback(0)};
    udp_socket second{endpoint::loopback(0)};
    first.connect(second.local_endpoint());
    co_await gets_messages<E>(here, &first, &second);
    co_await gets_senders<E>(here, &first, &second, first.local_endpoint());
    auto local = unix_datagram::pair();
    co_await gets_messages<E>(here, &local.first, &local.second);
    co_await gets_senders<E>(here, &local.first, &local.second, endpoint());
}
TEST(datagram_waits, get_what_a_read_that_does_not_wait_gets) {
    on_a_worker(waits_at_each<worker>);
    coflux_test::in_simulations(waits_at_each<simulated>);
}

/// Some messages come one by one, some together.
template <typename E>
coflux::fork<void, E> sends_in_bursts(coflux::environment&, datagram_socket* to, unsigned messages) {
    for (unsigned i = 0; i < messages; ++i) {
        const std::string text = std::to_string(i);
        co_await to->send(text);
        if (i % 7 == 0) co_await coflux::this_coroutine::yield();
        if (i % 50 == 0) co_await coflux::sleep_for(100us);
    }
}
template <typename E>
coflux::task<void, E> reads_bursts(coflux::environment&, unsigned messages) {
    auto&& here = co_await coflux::context();
    auto [near, far] = unix_datagram::pair();
    auto sender = sends_in_bursts<E>(here, &near, messages);
    room into{};
    for (unsigned i = 0; i < messages; ++i) {
        std::size_t size = 0;
        if (i % 2 == 0) {
            size = co_await far.receive(into);
        } else {
            const datagram got = co_await far.receive_from(into);
            size = got.size;
        }
        EXPECT_EQ(text_of(into, size), std::to_string(i));
    }
    co_await std::move(sender);
}
TEST(datagram_waits, get_each_message_of_bursts_in_order) {
    on_a_worker([](coflux::environment& env) { return reads_bursts<worker>(env, 2'000); });
    coflux_test::in_simulations([](coflux::environment& env) { return reads_bursts<simulated>(env, 60); });
}

template <typename E>
coflux::task<void, E> is_refused(coflux::environment&) {
    auto&& here = co_await coflux::context();
    // Keeps its port, so that no other program gets it meanwhile, and takes only what it sends itself.
    udp_socket nobody{endpoint::loopback(0)};
    nobody.connect(nobody.local_endpoint());
    udp_socket near{endpoint::loopback(0)};
    near.connect(nobody.local_endpoint());
    room into{};
    for (int i = 0; i < 3; ++i) {
        const auto got = co_await after_a_wait(here, receives<E>(here, &near, &into), &near, "anybody?");
        EXPECT_EQ(got.error(), std::errc::connection_refused);
        const auto from = co_await after_a_wait(here, receives_from<E>(here, &near, &into), &near, "anybody?");
        EXPECT_EQ(from.error(), std::errc::connection_refused);
    }
}
TEST(datagram_waits, get_the_error_of_a_message_that_none_took) {
    on_a_worker(is_refused<worker>);
}

template <typename E>
coflux::task<void, E> outlasts_limits(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto [near, far] = unix_datagram::pair();
    room into{};
    for (int i = 0; i < 5; ++i) {
        EXPECT_FALSE(co_await coflux::timeout(far.receive(into), 200us));
        EXPECT_FALSE(co_await coflux::timeout(far.receive_from(into), 200us));
        const auto got = co_await after_a_wait(here, receives<E>(here, &far, &into), &near, "kept");
        EXPECT_EQ(got.value(), 4U);
    }
}
TEST(datagram_waits, lose_no_message_to_a_limit) {
    on_a_worker(outlasts_limits<worker>);
    coflux_test::in_simulations(outlasts_limits<simulated>);
}

}  // namespace

// Batches over UDP, whose messages of one length are sent as one that the system cuts.
#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <sys/socket.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "simulated.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::endpoint;
using coflux::outgoing_datagram;
using coflux::udp_socket;
using worker = coflux::worker_executor;
using simulated = coflux::testing::sim_executor;
using texts = std::vector<std::string>;

/// Each of its own letter.
texts of_lengths(std::initializer_list<std::size_t> lengths) {
    texts all;
    for (const std::size_t n : lengths) all.emplace_back(n, static_cast<char>('a' + all.size() % 26));
    return all;
}
std::vector<outgoing_datagram> messages_of(const texts& all, const endpoint& to) {
    std::vector<outgoing_datagram> messages;
    for (const std::string& t : all) messages.push_back({std::as_bytes(std::span(t)), to});
    return messages;
}

coflux::call<void> sends_all(coflux::environment&, udp_socket* from, std::span<const outgoing_datagram> messages) {
    while (!messages.empty()) messages = messages.subspan(co_await from->send_batch(messages));
}
/// Checks what comes next, as often as `expected` has a text.
coflux::call<void> has_come(coflux::environment&, udp_socket* to, const texts* expected) {
    std::vector<std::byte> into(70'000);
    for (const std::string& text : *expected) {
        const coflux::datagram got = co_await to->receive_from(into);
        EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(into.data()), got.size), text);
    }
    EXPECT_FALSE(co_await coflux::timeout(to->receive_from(into), 1ms)) << "a message more than was sent";
}

template <typename E>
coflux::task<void, E> keeps_each_message(coflux::environment&, endpoint loopback) {
    auto&& here = co_await coflux::context();
    udp_socket from(loopback);
    udp_socket to(loopback);
    udp_socket other(loopback);
    const std::vector<texts> cases{of_lengths({5, 5, 5}),
                                   of_lengths({5, 5, 3}),
                                   of_lengths({5, 5, 3, 5, 5}),
                                   of_lengths({3, 5, 5, 5}),
                                   of_lengths({5, 0, 5, 5, 0, 0}),
                                   of_lengths({0, 0}),
                                   of_lengths({1, 1, 2, 2, 3, 3, 1}),
                                   of_lengths({1200, 1200, 1200, 1200, 700}),
                                   of_lengths({30'000, 30'000, 30'000, 30'000})};
    for (const texts& all : cases) {
        co_await sends_all(here, &from, messages_of(all, to.local_endpoint()));
        co_await has_come(here, &to, &all);
    }
    const texts many(60, "the same");  // of two batches
    co_await sends_all(here, &from, messages_of(many, to.local_endpoint()));
    co_await has_come(here, &to, &many);

    // Those for another endpoint are not cut from one of this.
    texts mine;
    texts theirs;
    std::vector<outgoing_datagram> mixed;
    const texts all = of_lengths({4, 4, 4, 4, 4, 4, 4, 4, 4, 4});
    for (std::size_t i = 0; i < all.size(); ++i) {
        const bool is_mine = i < 3 || i % 2 == 1;
        mixed.push_back({std::as_bytes(std::span(all[i])), (is_mine ? to : other).local_endpoint()});
        (is_mine ? mine : theirs).push_back(all[i]);
    }
    co_await sends_all(here, &from, mixed);
    co_await has_come(here, &to, &mine);
    co_await has_come(here, &other, &theirs);

    from.connect(to.local_endpoint());
    co_await sends_all(here, &from, messages_of(all, endpoint()));
    co_await has_come(here, &to, &all);
}
TEST(udp_batch, keeps_each_message) {
    worker on;
    auto env = coflux::make_environment(on);
    keeps_each_message<worker>(env, endpoint::loopback(0)).get();
    coflux_test::in_simulations(
        [](coflux::environment& here) { return keeps_each_message<simulated>(here, endpoint::loopback(0)); });
}
TEST(udp_batch, keeps_each_message_over_version_6) {
    worker on;
    auto env = coflux::make_environment(on);
    const endpoint loopback = endpoint::ip("::1", 0);
    try {
        const udp_socket there_is_one(loopback);
    } catch (const std::system_error&) {
        GTEST_SKIP() << "a machine without IPv6";
    }
    keeps_each_message<worker>(env, loopback).get();
}

coflux::task<void, worker> sends_what_cannot_be_cut(coflux::environment&) {
    auto&& here = co_await coflux::context();
    udp_socket from(endpoint::loopback(0));
    udp_socket to(endpoint::loopback(0));
    // The system cuts no message that has no sum.
    const int on = 1;
    EXPECT_EQ(setsockopt(from.native_handle(), SOL_SOCKET, SO_NO_CHECK, &on, sizeof on), 0);
    const texts all = of_lengths({5, 5, 5, 3, 7, 7});
    co_await sends_all(here, &from, messages_of(all, to.local_endpoint()));
    co_await has_come(here, &to, &all);
}
TEST(udp_batch, sends_what_the_system_does_not_cut_one_by_one) {
    worker on;
    auto env = coflux::make_environment(on);
    sends_what_cannot_be_cut(env).get();
}

coflux::task<void, worker> tells_what_was_not_sent(coflux::environment&) {
    udp_socket from(endpoint::loopback(0));
    endpoint nowhere;
    {
        const udp_socket gone(endpoint::loopback(0));
        nowhere = gone.local_endpoint();
    }
    const texts all = of_lengths({4, 4, 4});
    // Not an address to send to: as one by one, the first message has the error.
    const auto unknown = co_await coflux::as_result(from.send_batch(messages_of(all, endpoint())));
    EXPECT_EQ(unknown.error(), std::errc::destination_address_required);
    // None listens: the answer to the first batch is the error of the second, and is told once.
    from.connect(nowhere);
    EXPECT_EQ(co_await from.send_batch(messages_of(all, endpoint())), 3U);
    const auto refused = co_await coflux::as_result(from.send_batch(messages_of(all, endpoint())));
    EXPECT_EQ(refused.error(), std::errc::connection_refused);
    EXPECT_EQ(co_await from.send_batch(messages_of(all, endpoint())), 3U);
}
TEST(udp_batch, tells_what_was_not_sent) {
    worker on;
    auto env = coflux::make_environment(on);
    tells_what_was_not_sent(env).get();
}

}  // namespace

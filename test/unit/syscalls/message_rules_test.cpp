// Rare answers of the system to a message, several buffers, or a batch, and the results of operations.
#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "system_rules.hpp"
#include "unit/io/connected.hpp"
#include "until_called.hpp"

namespace {

using coflux::as_result;
using coflux::endpoint;
using coflux::environment;
using coflux::udp_socket;
using coflux_test::always;
using coflux_test::bytes_of;
using coflux_test::connected;
using coflux_test::on_a_worker;
using coflux_test::system_call;
using coflux_test::system_rules;
using coflux_test::until_called;
using worker = coflux::worker_executor;

constexpr std::string_view text = "a text of thirty bytes, or so.";

struct two_sockets {
    udp_socket from{endpoint::loopback(0)};
    udp_socket to{endpoint::loopback(0)};
};
coflux::fork<std::string, worker> message_of(environment&, udp_socket* at) {
    std::string got(64, ' ');
    got.resize((co_await at->receive_from(bytes_of(got))).size);
    co_return got;
}
std::error_code of_system(int error) {
    return {error, std::system_category()};
}

coflux::task<void, worker> a_message_arrives(environment&, int error, std::size_t times, bool waits) {
    auto&& here = co_await coflux::context();
    two_sockets s;
    // Where it waits, the first call finds nothing.
    const system_rules rules{
        {.on = system_call::send_message, .times = times, .error = error},
        {.on = system_call::receive_message, .from = waits ? 2U : 1U, .times = times, .error = error}};
    if (waits) {
        auto reader = message_of(here, &s.to);
        co_await until_called(here, &rules, system_call::receive_message);
        co_await s.from.send_to(text, s.to.local_endpoint());
        EXPECT_EQ(co_await std::move(reader), text);
    } else {
        co_await s.from.send_to(text, s.to.local_endpoint());
        EXPECT_EQ(co_await message_of(here, &s.to), text);
    }
    EXPECT_GE(rules.followed(), times + 1);
}
TEST(message_rules, goes_on_where_a_call_is_interrupted_or_would_wait) {
    for (const int error : {EINTR, EAGAIN}) {
        for (const std::size_t times : {1, 2, 50}) {
            for (const bool waits : {false, true}) on_a_worker(a_message_arrives, error, times, waits);
        }
    }
}

coflux::task<void, worker> a_message_fails(environment&, int error) {
    auto&& here = co_await coflux::context();
    two_sockets s;
    {
        const system_rules rules{{.on = system_call::send_message, .error = error},
                                 {.on = system_call::receive_message, .error = error}};
        const auto sent = co_await as_result(s.from.send_to("lost", s.to.local_endpoint()));
        EXPECT_EQ(sent.error(), of_system(error));
        std::string into(64, ' ');
        const auto got = co_await as_result(s.to.receive_from(bytes_of(into)));
        EXPECT_EQ(got.error(), of_system(error));
    }
    co_await s.from.send_to(text, s.to.local_endpoint());  // the sockets are as before
    EXPECT_EQ(co_await message_of(here, &s.to), text);
}
TEST(message_rules, gives_the_error_of_a_message_to_its_operation_alone) {
    for (const int error : {ENOBUFS, ENOMEM, EPERM, ECONNREFUSED}) on_a_worker(a_message_fails, error);
}

coflux::task<void, worker> buffers_move(environment&, system_call on, int error, std::size_t moves) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    const std::array<std::span<const std::byte>, 3> parts{std::as_bytes(std::span(text.substr(0, 4))),
                                                          std::as_bytes(std::span(text.substr(4, 11))),
                                                          std::as_bytes(std::span(text.substr(15)))};
    std::string first(7, ' ');
    std::string second(text.size() - 7, ' ');
    const system_rules rules{{.on = on, .times = error != 0 ? 3 : always, .error = error, .moves = moves}};
    co_await p.near.write_all(parts);
    std::string got;
    while (got.size() < text.size()) {
        const std::array<std::span<std::byte>, 2> into{bytes_of(first), bytes_of(second)};
        const std::size_t n = co_await p.far.read_some(into);
        EXPECT_GT(n, 0U);
        got += (first + second).substr(0, n);
    }
    EXPECT_EQ(got, text);
    EXPECT_GE(rules.followed(), 1U);
}
TEST(message_rules, moves_all_buffers_by_calls_that_move_fewer_bytes) {
    for (const system_call on : {system_call::send_message, system_call::receive_message}) {
        for (std::size_t k = 1; k <= text.size(); ++k) on_a_worker(buffers_move, on, 0, k);
        for (const int error : {EINTR, EAGAIN}) on_a_worker(buffers_move, on, error, text.size());
    }
}

/// Each is longer than the one before: none is cut from another.
std::vector<coflux::outgoing_datagram> eight_messages(const endpoint& to) {
    std::vector<coflux::outgoing_datagram> all;
    for (std::size_t i = 1; i <= 8; ++i) all.push_back({std::as_bytes(std::span(text.substr(0, i))), to});
    return all;
}
coflux::task<void, worker> a_batch_arrives(environment&, int error, std::size_t times, std::size_t moves) {
    two_sockets s;
    const auto messages = eight_messages(s.to.local_endpoint());
    std::array<std::array<std::byte, 64>, 8> room{};
    std::array<coflux::incoming_datagram, 8> into;
    for (std::size_t i = 0; i < into.size(); ++i) into[i].into = room[i];
    const system_rules rules{{.on = system_call::send_batch, .times = times, .error = error, .moves = moves},
                             {.on = system_call::receive_batch, .times = times, .error = error, .moves = moves}};
    for (std::size_t sent = 0; sent < messages.size();) {
        const std::size_t n = co_await s.from.send_batch(std::span(messages).subspan(sent));
        EXPECT_TRUE(n >= 1 && n <= moves);
        sent += n;
    }
    for (std::size_t came = 0; came < messages.size();) {
        const std::size_t n = co_await s.to.receive_batch(into);
        EXPECT_TRUE(n >= 1 && n <= moves);
        for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(into[i].got.size, ++came);
    }
    EXPECT_GE(rules.followed(), 2U);
}
TEST(message_rules, a_batch_loses_no_message) {
    for (const std::size_t moves : {1, 2, 3, 7}) on_a_worker(a_batch_arrives, 0, always, moves);
    for (const int error : {EINTR, EAGAIN}) {
        for (const std::size_t times : {1, 2, 50}) on_a_worker(a_batch_arrives, error, times, std::size_t{8});
    }
}
coflux::task<void, worker> a_batch_fails(environment&) {
    two_sockets s;
    const auto messages = eight_messages(s.to.local_endpoint());
    {
        const system_rules rules{{.on = system_call::send_batch, .error = ENOBUFS}};
        const auto sent = co_await as_result(s.from.send_batch(messages));
        EXPECT_EQ(sent.error(), of_system(ENOBUFS));
    }
    EXPECT_EQ(co_await s.from.send_batch(messages), messages.size());
}
TEST(message_rules, gives_the_error_of_the_first_message_of_a_batch) {
    on_a_worker(a_batch_fails);
}

coflux::task<void, worker> descriptors_arrive(environment&, int error, std::size_t times) {
    auto [near, far] = coflux::unix_stream::pair();
    const int number = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const std::array<int, 1> one{number};
    const system_rules rules{{.on = system_call::send_message, .times = times, .error = error},
                             {.on = system_call::receive_message, .times = times, .error = error}};
    co_await near.send_descriptors(one, std::as_bytes(std::span(text)));
    std::string got(64, ' ');
    std::array<coflux::owned_descriptor, 2> came;
    const auto n = co_await far.receive_descriptors(bytes_of(got), came);
    EXPECT_EQ(got.substr(0, n.bytes), text);
    EXPECT_EQ(n.descriptors, 1U);
    EXPECT_GE(rules.followed(), times + 1);
    close(number);
}
TEST(message_rules, descriptors_arrive_once) {
    for (const int error : {EINTR, EAGAIN}) {
        for (const std::size_t times : {1, 2, 50}) on_a_worker(descriptors_arrive, error, times);
    }
}

}  // namespace

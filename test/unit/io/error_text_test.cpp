// The text of an operation's error: which operation it was, and at or to which endpoint.
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/io/process.hpp>

#include "connected.hpp"

namespace {

using coflux::as_outcome;
using coflux::endpoint;
using coflux::outcome;
using coflux_test::connected;
using coflux_test::on_a_worker;
using coflux_test::own_loopback;
using coflux_test::stream_pair;
using task = coflux::task<void, coflux::worker_executor>;

/// `what` is all of the text but the library's name and the error's.
template <typename T>
void expect_told(const outcome<T>& ended, const std::string& what, std::errc why) {
    ASSERT_TRUE(ended.has_error()) << what;
    try {
        std::rethrow_exception(ended.error());
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), why) << what;
        EXPECT_EQ(std::string(e.what()), "coflux: " + what + ": " + e.code().message());
    }
}

coflux::call<stream_pair> broken(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    p.far.reset();
    co_return p;
}

task reads_from(coflux::environment&) {
    auto&& here = co_await coflux::context();
    std::array<std::byte, 2> two{};
    const std::array parts{std::span(two).first(1), std::span(two).last(1)};
    constexpr auto why = std::errc::connection_reset;
    for (int operation = 0; operation < 3; ++operation) {
        auto p = co_await broken(here);
        const std::string what = "read from " + p.near.peer_endpoint().to_string();
        if (operation == 0) expect_told(co_await as_outcome(p.near.read_some(two)), what, why);
        if (operation == 1) expect_told(co_await as_outcome(p.near.read_exactly(two)), what, why);
        if (operation == 2) expect_told(co_await as_outcome(p.near.read_some(parts)), what, why);
    }
}
TEST(error_text, of_a_read_names_the_peer) {
    on_a_worker(reads_from);
}

task writes_to(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const std::array<std::byte, 2> two{};
    const std::array<std::span<const std::byte>, 2> parts{std::span(two).first(1), std::span(two).last(1)};
    const std::span<const std::byte> all(two);
    for (int operation = 0; operation < 4; ++operation) {
        auto p = co_await broken(here);
        const std::string what = "write to " + p.near.peer_endpoint().to_string();
        // The reset is told to who asks first.
        std::byte none{};
        (void)co_await coflux::as_result(p.near.read_some(std::span(&none, 1)));
        constexpr auto why = std::errc::broken_pipe;
        if (operation == 0) expect_told(co_await as_outcome(p.near.write_some(all)), what, why);
        if (operation == 1) expect_told(co_await as_outcome(p.near.write_all(all)), what, why);
        if (operation == 2) expect_told(co_await as_outcome(p.near.write_some(parts)), what, why);
        if (operation == 3) expect_told(co_await as_outcome(p.near.write_all(parts)), what, why);
    }
}
TEST(error_text, of_a_write_names_the_peer) {
    on_a_worker(writes_to);
}

task ends_the_stream(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await broken(here);
    const std::string what = "coflux: end the stream to " + p.near.peer_endpoint().to_string() + ": ";
    std::string text;
    try {
        p.near.shutdown_send();
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::not_connected);
        text = e.what();
    }
    EXPECT_EQ(text.substr(0, what.size()), what);
}
TEST(error_text, of_the_end_of_a_stream_names_the_peer) {
    on_a_worker(ends_the_stream);
}

task accepts(coflux::environment&) {
    coflux::tcp_listener listener(own_loopback());
    const std::string what = "accept a connection at " + listener.local_endpoint().to_string();
    EXPECT_EQ(::shutdown(listener.native_handle(), SHUT_RDWR), 0);
    expect_told(co_await as_outcome(listener.accept()), what, std::errc::invalid_argument);
}
TEST(error_text, of_an_accept_names_the_listener) {
    on_a_worker(accepts);
}

task moves_descriptors(coflux::environment&) {
    const endpoint name = endpoint::local(std::string(1, '\0') + "coflux-text-" + std::to_string(getpid()));
    coflux::unix_listener listener(name);
    auto near = co_await coflux::unix_stream::connect(name);
    auto far = co_await listener.accept();
    std::array<std::byte, 1> one{};
    const std::array none{-1};
    const auto sent = co_await as_outcome(near.send_descriptors(none, one));
    expect_told(sent, "send descriptors to " + name.to_string(), std::errc::bad_file_descriptor);

    const std::array some{0, 1};
    co_await far.send_descriptors(some, one);
    std::array<coflux::owned_descriptor, 1> room;
    const auto received = co_await as_outcome(near.receive_descriptors(one, room));
    expect_told(received, "receive descriptors from " + name.to_string(), std::errc::message_size);
}
TEST(error_text, of_descriptors_names_the_peer) {
    on_a_worker(moves_descriptors);
}

task receives_at(coflux::environment&) {
    endpoint none_listens;
    {
        const coflux::udp_socket gone(own_loopback());
        none_listens = gone.local_endpoint();
    }
    coflux::udp_socket socket(own_loopback());
    const std::string what = "receive at " + socket.local_endpoint().to_string();
    socket.connect(none_listens);
    std::array<std::byte, 1> one{};
    std::array<coflux::incoming_datagram, 1> batch{coflux::incoming_datagram{one, {}}};
    constexpr auto why = std::errc::connection_refused;
    co_await socket.send("x");
    expect_told(co_await as_outcome(socket.receive(one)), what, why);
    co_await socket.send("x");
    expect_told(co_await as_outcome(socket.receive_from(one)), what, why);
    co_await socket.send("x");
    expect_told(co_await as_outcome(socket.receive_batch(batch)), what, why);
}
TEST(error_text, of_a_receive_names_the_socket) {
    on_a_worker(receives_at);
}

task sends(coflux::environment&) {
    coflux::udp_socket socket(own_loopback());
    const endpoint own = socket.local_endpoint();
    const std::string what = "send to " + own.to_string();
    const std::string too_long(70'000, 'x');
    const std::array<coflux::outgoing_datagram, 1> batch{
        coflux::outgoing_datagram{std::as_bytes(std::span(too_long)), own}};
    constexpr auto why = std::errc::message_size;
    expect_told(co_await as_outcome(socket.send_to(too_long, own)), what, why);
    expect_told(co_await as_outcome(socket.send_batch(batch)), what, why);
    socket.connect(own);
    expect_told(co_await as_outcome(socket.send(too_long)), "send from " + own.to_string(), why);
}
TEST(error_text, of_a_send_names_where_it_goes_or_else_the_socket) {
    on_a_worker(sends);
}

task waits_for(coflux::environment&) {
    const coflux::command_line command{"true"};
    auto child = co_await coflux::process::spawn(command);
    const std::string what = "wait for the process true";
    EXPECT_EQ(::waitpid(child.id(), nullptr, 0), child.id());
    expect_told(co_await as_outcome(child.wait()), what, std::errc::no_child_process);
}
TEST(error_text, of_a_wait_for_a_process_names_its_program) {
    on_a_worker(waits_for);
}

}  // namespace

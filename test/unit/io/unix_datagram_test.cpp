#include <coflux/io/unix_datagram.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::endpoint;
using coflux::unix_datagram;
using coflux_test::on_a_worker;
using pool = coflux::thread_pool_executor;
using worker = coflux::worker_executor;

endpoint a_path() {
    static int count = 0;
    return endpoint::local("/tmp/coflux_unix_datagram_" + std::to_string(getpid()) + '_' + std::to_string(count++));
}
bool is_there(const endpoint& path) {
    return access(path.to_string().c_str(), F_OK) == 0;
}

coflux::task<void, worker> sends_to_names(coflux::environment&) {
    const endpoint path = a_path();
    std::string abstract(1, '\0');
    abstract += a_path().to_string();
    unix_datagram server(path);
    unix_datagram client(endpoint::local(abstract));
    std::array<std::byte, 16> into{};
    co_await client.send_to("question", path);
    const auto got = co_await server.receive_from(into);
    EXPECT_EQ(got.from, endpoint::local(abstract));
    co_await server.send_to("answer", got.from);
    EXPECT_EQ((co_await client.receive_from(into)).from, path);

    auto nameless = unix_datagram::unbound();
    co_await nameless.send_to("x", path);
    EXPECT_EQ((co_await server.receive_from(into)).from.size(), 0U);
    nameless.connect(path);
    co_await nameless.send("y");
    EXPECT_EQ(co_await server.receive(into), 1U);
    server.close();
    const auto gone = co_await coflux::as_result(nameless.send("z"));
    EXPECT_EQ(gone.error(), std::errc::connection_refused);
    const auto no_file = co_await coflux::as_result(client.send_to("z", path));
    EXPECT_EQ(no_file.error(), std::errc::no_such_file_or_directory);
}
TEST(unix_datagram, goes_to_paths_and_abstract_names) {
    on_a_worker(sends_to_names);
}

TEST(unix_datagram, removes_its_file_and_replaces_one_at_which_none_listens) {
    const endpoint at = a_path();
    {
        unix_datagram socket(at);
        EXPECT_TRUE(is_there(at));
        unix_datagram moved = std::move(socket);
        EXPECT_TRUE(is_there(at));
        EXPECT_THROW(unix_datagram(at, {.replace_stale = true}), std::system_error);
    }
    EXPECT_FALSE(is_there(at));
    { const unix_datagram stale(at, {.unlink = false}); }
    EXPECT_TRUE(is_there(at));
    { const unix_datagram again(at, {.replace_stale = true}); }
    EXPECT_FALSE(is_there(at));
}

template <typename E>
coflux::fork<void, E> sends(coflux::environment&, unix_datagram* to, int times) {
    for (int i = 0; i < times; ++i) co_await to->send("message");
}
/// The receiver's queue is short: the system has to tell the sender when it has room.
template <typename E>
coflux::task<void, E> fills_a_receiver(coflux::environment&, int times) {
    auto&& here = co_await coflux::context();
    const endpoint at = a_path();
    unix_datagram receiver(at);
    auto sender = unix_datagram::unbound();
    sender.connect(at);
    auto all = sends<E>(here, &sender, times);
    co_await 2ms;  // most often it waits by now
    std::array<std::byte, 16> into{};
    for (int i = 0; i < times; ++i) EXPECT_EQ(co_await receiver.receive(into), 7U);
    co_await std::move(all);
}
TEST(unix_datagram, that_is_connected_waits_for_room_at_the_receiver_on_a_worker) {
    worker on;
    auto env = coflux::make_environment(on);
    fills_a_receiver<worker>(env, 2000).get();
}
TEST(unix_datagram, that_is_connected_waits_for_room_at_the_receiver_on_a_pool) {
    pool on{2};
    auto env = coflux::make_environment(on);
    fills_a_receiver<pool>(env, 2000).get();
}

coflux::task<void, worker> fills_a_stranger(coflux::environment&) {
    const endpoint at = a_path();
    unix_datagram receiver(at);
    auto sender = unix_datagram::unbound();
    std::error_code error;
    for (int i = 0; i < 10'000 && !error; ++i)
        error = (co_await coflux::as_result(sender.send_to("message", at))).error();
    EXPECT_EQ(error, std::errc::resource_unavailable_try_again);
    const std::string text = "message";
    const std::array batch{coflux::outgoing_datagram{std::as_bytes(std::span(text)), at}};
    const auto more = co_await coflux::as_result(sender.send_batch(batch));
    EXPECT_EQ(more.error(), std::errc::resource_unavailable_try_again);
    std::array<std::byte, 16> into{};
    (void)co_await receiver.receive(into);
    co_await sender.send_to("message", at);
}
TEST(unix_datagram, that_is_not_connected_is_told_that_the_receiver_has_no_room) {
    on_a_worker(fills_a_stranger);
}

}  // namespace

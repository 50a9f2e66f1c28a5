#include <coflux/io/unix.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"
#include "support/forbidden_calls.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::endpoint;
using coflux::owned_descriptor;
using coflux::unix_listener;
using coflux::unix_stream;
using coflux_test::bytes_of;
using coflux_test::on_a_worker;
using coflux_test::open_descriptors;
using pool = coflux::thread_pool_executor;
using worker = coflux::worker_executor;

endpoint a_path() {
    static int count = 0;
    return endpoint::local("/tmp/coflux_unix_" + std::to_string(getpid()) + '_' + std::to_string(count++));
}
endpoint an_abstract_name() {
    std::string name(1, '\0');
    name += a_path().to_string();
    return endpoint::local(name);
}
bool is_there(const endpoint& path) {
    return access(path.to_string().c_str(), F_OK) == 0;
}

// --- streams ---------------------------------------------------------------------------------------------------------

template <typename E>
coflux::fork<void, E> echoes_once(coflux::environment&, unix_listener* at) {
    unix_stream peer = co_await at->accept();
    std::array<std::byte, 64> buffer{};
    while (const std::size_t n = co_await peer.read_some(buffer)) co_await peer.write_all(std::span(buffer).first(n));
}
template <typename E>
coflux::task<void, E> talks(coflux::environment&, endpoint at) {
    auto&& here = co_await coflux::context();
    unix_listener listener(at);
    EXPECT_EQ(listener.local_endpoint(), at);
    auto echo = echoes_once<E>(here, &listener);
    unix_stream peer = co_await unix_stream::connect(at);
    EXPECT_EQ(peer.peer_endpoint(), at);
    const auto who = peer.credentials();
    EXPECT_EQ(who.process, getpid());
    EXPECT_EQ(who.user, getuid());
    EXPECT_EQ(who.group, getgid());
    std::string got(5, ' ');
    co_await peer.write_all("hello");
    co_await peer.read_exactly(bytes_of(got));
    EXPECT_EQ(got, "hello");
    peer.shutdown_send();
    EXPECT_EQ(co_await peer.read_some(bytes_of(got)), 0U);
    co_await std::move(echo);
}
TEST(unix_stream, carries_bytes_by_a_path_and_by_an_abstract_name) {
    on_a_worker(talks<worker>, a_path());
    on_a_worker(talks<worker>, an_abstract_name());
    pool threads{2};
    auto env = coflux::make_environment(threads);
    talks<pool>(env, a_path()).get();
}

coflux::task<void, worker> tells_errors(coflux::environment&) {
    const endpoint nowhere = a_path();
    const auto none = co_await coflux::as_result(unix_stream::connect(nowhere));
    EXPECT_EQ(none.error(), std::errc::no_such_file_or_directory);
    const auto refused = co_await coflux::as_result(unix_stream::connect(an_abstract_name()));
    EXPECT_EQ(refused.error(), std::errc::connection_refused);
    try {
        (void)co_await unix_stream::connect(nowhere);
        ADD_FAILURE();
    } catch (const std::system_error& e) {
        EXPECT_NE(std::string(e.what()).find("connect to " + nowhere.to_string()), std::string::npos);
    }
    const unix_listener listener(nowhere, {.backlog = 1});
    std::vector<unix_stream> connections;
    std::error_code error;
    for (int i = 0; i < 10 && !error; ++i) {
        auto one = co_await coflux::as_result(unix_stream::connect(nowhere));
        error = one.error();
        if (one) connections.push_back(std::move(*one));
    }
    EXPECT_EQ(error, std::errc::resource_unavailable_try_again);
}
TEST(unix_stream, tells_what_keeps_it_from_connecting) {
    on_a_worker(tells_errors);
}
/// It would have no credentials, and send no descriptors.
coflux::task<void, worker> takes_what_is_not_local(coflux::environment&) {
    const coflux::tcp_listener listener(endpoint::loopback(0));
    const endpoint at = listener.local_endpoint();
    auto near = co_await coflux::tcp_stream::connect(at);
    const std::size_t before = open_descriptors();
    EXPECT_THROW((void)co_await unix_stream::connect(at), std::system_error);
    EXPECT_THROW((void)unix_listener(endpoint::loopback(0)), std::system_error);
    EXPECT_THROW((void)coflux::unix_datagram(endpoint::loopback(0)), std::system_error);
    EXPECT_THROW((void)coflux::udp_socket(a_path()), std::system_error);
    const int copy = dup(near.native_handle());
    EXPECT_THROW((void)unix_stream::adopt(owned_descriptor(copy)), std::system_error);
    EXPECT_LE(open_descriptors(), before);
}
TEST(unix_stream, takes_local_endpoints_alone) {
    on_a_worker(takes_what_is_not_local);
}

coflux::task<void, worker> connects_to_what_is_not_local(coflux::environment&) {
    const std::array others{endpoint::loopback(1), endpoint()};
    for (const endpoint& to : others) {
        const auto refused = co_await coflux::as_result(unix_stream::connect(to));
        EXPECT_EQ(refused.error(), std::errc::address_family_not_supported);
        std::string text;
        try {
            (void)co_await unix_stream::connect(to);
        } catch (const std::system_error& e) {
            EXPECT_EQ(e.code(), std::errc::address_family_not_supported);
            text = e.what();
        }
        EXPECT_EQ(text.find("coflux: make a local socket at " + to.to_string()), 0U) << text;
    }
}
TEST(unix_stream, does_not_connect_to_what_is_not_local_and_says_so_by_the_await) {
    on_a_worker(connects_to_what_is_not_local);
}

coflux::task<void, worker> stops_an_accept(coflux::environment&) {
    const endpoint at = a_path();
    unix_listener listener(at);
    EXPECT_FALSE((co_await coflux::timeout(listener.accept(), 1ms)).has_value());
    unix_stream near = co_await unix_stream::connect(at);
    unix_stream far = co_await listener.accept();
    std::byte one{};
    EXPECT_FALSE((co_await coflux::timeout(far.read_some(std::span(&one, 1)), 1ms)).has_value());
    co_await near.write_all("x");
    EXPECT_EQ(co_await far.read_some(std::span(&one, 1)), 1U);
    auto value = co_await coflux::timeout(coflux::as_result(listener.accept()), 1ms);
    EXPECT_TRUE(value.timed_out());
}
TEST(unix_stream, loses_nothing_by_a_stop) {
    on_a_worker(stops_an_accept);
}

// --- the file --------------------------------------------------------------------------------------------------------

TEST(unix_listener, removes_its_file_when_it_is_closed_or_dies) {
    const endpoint at = a_path();
    {
        unix_listener listener(at);
        EXPECT_TRUE(is_there(at));
        EXPECT_THROW(unix_listener{at}, std::system_error);  // of another's
        EXPECT_TRUE(is_there(at));
        unix_listener moved = std::move(listener);
        listener = unix_listener();
        EXPECT_TRUE(is_there(at));
    }
    EXPECT_FALSE(is_there(at));
    unix_listener again(at);
    again.close();
    EXPECT_FALSE(again.is_open());
    EXPECT_FALSE(is_there(at));
}
TEST(unix_listener, leaves_a_file_that_is_not_its_own) {
    const endpoint at = a_path();
    {
        unix_listener first(at);
        unlink(at.to_string().c_str());
        const unix_listener second(at);
        first.close();
        EXPECT_TRUE(is_there(at));
    }
    EXPECT_FALSE(is_there(at));
}
TEST(unix_listener, leaves_its_file_if_it_is_told_to_and_replaces_one_at_which_none_listens) {
    const endpoint at = a_path();
    { const unix_listener stale(at, {.unlink = false}); }
    EXPECT_TRUE(is_there(at));
    EXPECT_THROW(unix_listener{at}, std::system_error);
    const unix_listener listener(at, {.replace_stale = true});
    try {
        const unix_listener refused(at, {.replace_stale = true});  // of one that listens
        ADD_FAILURE();
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::address_in_use);
    }
    EXPECT_TRUE(is_there(at));
}
TEST(unix_listener_death, leaves_no_file_where_it_is_bound_and_cannot_listen) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto listens = [] {
        const endpoint at = a_path();
        coflux_test::forbid({.number = SYS_listen, .error = ENOBUFS});
        std::error_code error;
        try {
            const unix_listener refused(at, {.unlink = false});
        } catch (const std::system_error& e) {
            error = e.code();
        }
        std::_Exit(error == std::errc::no_buffer_space && !is_there(at) ? 7 : 1);
    };
    EXPECT_EXIT(listens(), testing::ExitedWithCode(7), "");
}
TEST(unix_listener, replaces_no_file_that_is_no_socket) {
    const endpoint at = a_path();
    const owned_descriptor file(creat(at.to_string().c_str(), 0600));
    EXPECT_THROW(unix_listener(at, {.replace_stale = true}), std::system_error);
    EXPECT_TRUE(is_there(at));
    unlink(at.to_string().c_str());
}

// --- descriptors -----------------------------------------------------------------------------------------------------

/// Both ends of a pipe go through a socket.
coflux::task<void, worker> passes_a_pipe(coflux::environment&) {
    auto [near, far] = unix_stream::pair();
    {
        const auto p = coflux::make_pipe();
        const std::array both{p.reader.native_handle(), p.writer.native_handle()};
        const std::string with = "with";
        co_await near.send_descriptors(both, std::as_bytes(std::span(with)));
    }
    std::string got(10, ' ');
    std::array<owned_descriptor, 3> came;
    const auto n = co_await far.receive_descriptors(bytes_of(got), came);
    EXPECT_EQ(n.bytes, 4U);
    EXPECT_EQ(n.descriptors, 2U);
    EXPECT_FALSE(came[2].is_open());
    EXPECT_EQ(got.substr(0, 4), "with");
    for (int i = 0; i < 2; ++i) {
        EXPECT_NE(fcntl(came[static_cast<std::size_t>(i)].native_handle(), F_GETFD) & FD_CLOEXEC, 0);
    }
    auto reader = coflux::pipe_reader::adopt(std::move(came[0]));
    auto writer = coflux::pipe_writer::adopt(std::move(came[1]));
    co_await writer.write_all("through");
    std::string text(7, ' ');
    co_await reader.read_exactly(bytes_of(text));
    EXPECT_EQ(text, "through");

    // Without any, and the end.
    co_await near.write_all("only bytes");
    auto plain = co_await coflux::as_result(far.receive_descriptors(bytes_of(got), came));
    EXPECT_EQ(plain.value().bytes, 10U);
    EXPECT_EQ(plain->descriptors, 0U);
    co_await near.send_descriptors({}, std::as_bytes(std::span(text)));
    EXPECT_EQ((co_await far.receive_descriptors(bytes_of(got), came)).bytes, 7U);
    near.close();
    EXPECT_EQ((co_await far.receive_descriptors(bytes_of(got), came)).bytes, 0U);
}
TEST(unix_descriptors, go_to_the_peer_and_are_closed_on_exec) {
    const std::size_t before = open_descriptors();
    on_a_worker(passes_a_pipe);
    EXPECT_LE(open_descriptors(), before);
}

const std::byte one_byte{};

coflux::task<void, worker> sends_too_many(coflux::environment&) {
    auto [near, far] = unix_stream::pair();
    const std::size_t before = open_descriptors();
    std::byte into{};
    const std::array four{0, 1, 2, 0};
    std::array<owned_descriptor, 3> came;
    co_await near.send_descriptors(four, std::span(&one_byte, 1));
    const auto cut = co_await coflux::as_result(far.receive_descriptors(std::span(&into, 1), came));
    EXPECT_EQ(cut.error(), std::errc::message_size);
    EXPECT_LE(open_descriptors(), before);
    EXPECT_FALSE(came[0].is_open());
    co_await near.send_descriptors(four, std::span(&one_byte, 1));
    EXPECT_THROW((void)co_await far.receive_descriptors(std::span(&into, 1), {}), std::system_error);
    co_await near.send_descriptors(four, std::span(&one_byte, 1));
    EXPECT_EQ(co_await far.read_some(std::span(&into, 1)), 1U);  // that closes them
    EXPECT_LE(open_descriptors(), before);

    // As many as go, and one more.
    const std::vector<int> most(253, 0);
    std::vector<owned_descriptor> all(300);
    co_await near.send_descriptors(most, std::span(&one_byte, 1));
    EXPECT_EQ((co_await far.receive_descriptors(std::span(&into, 1), all)).descriptors, 253U);
    EXPECT_EQ(open_descriptors(), before + 253);
    all.clear();
    EXPECT_LE(open_descriptors(), before);
    const std::vector<int> too_many(254, 0);
    const auto refused = co_await coflux::as_result(near.send_descriptors(too_many, std::span(&one_byte, 1)));
    EXPECT_EQ(refused.error(), std::errc::invalid_argument);
    const std::array closed{1'000'000};
    const auto bad = co_await coflux::as_result(near.send_descriptors(closed, std::span(&one_byte, 1)));
    EXPECT_EQ(bad.error(), std::errc::bad_file_descriptor);
}
TEST(unix_descriptors, that_have_no_room_are_closed_and_an_error) {
    on_a_worker(sends_too_many);
}

coflux::task<bool, worker> receives_without_room(coflux::environment&) {
    auto [near, far] = unix_stream::pair();
    std::byte into{};
    std::array<owned_descriptor, 3> came;
    (void)co_await coflux::timeout(far.receive_descriptors(std::span(&into, 1), came), 1ms);  // there is a source
    const std::array three{0, 0, 0};
    co_await near.send_descriptors(three, std::span(&one_byte, 1));
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const int next = dup(0);
    close(next);
    rlimit tight = limit;
    tight.rlim_cur = static_cast<rlim_t>(next) + 1;  // room for one
    setrlimit(RLIMIT_NOFILE, &tight);
    const auto refused = co_await coflux::as_result(far.receive_descriptors(std::span(&into, 1), came));
    setrlimit(RLIMIT_NOFILE, &limit);  // UBSan needs descriptors for its checks
    const int after = dup(0);
    close(after);
    co_return refused.error() == std::errc::too_many_files_open&& after == next && !came[0].is_open();
}
TEST(unix_descriptors_death, that_the_process_has_no_numbers_for_are_closed_and_an_error) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto child = [] { std::_Exit(on_a_worker(receives_without_room) ? 7 : 1); };
    EXPECT_EXIT(child(), testing::ExitedWithCode(7), "");
}

coflux::fork<std::size_t, worker> gathers(coflux::environment&, unix_stream* from,
                                          std::vector<owned_descriptor>* into) {
    std::vector<std::byte> buffer(10'000);
    std::array<owned_descriptor, 4> came;
    std::size_t all = 0;
    for (;;) {
        const auto n = co_await from->receive_descriptors(buffer, came);
        if (n.bytes == 0) break;
        all += n.bytes;
        for (std::size_t i = 0; i < n.descriptors; ++i) into->push_back(std::move(came[i]));
    }
    co_return all;
}
/// Longer than the socket has room for: the descriptors go once, with the first bytes.
coflux::task<void, worker> sends_with_much(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto [near, far] = unix_stream::pair();
    std::vector<owned_descriptor> came;
    const std::vector<std::byte> much(2'000'000);
    auto all = gathers(here, &far, &came);
    const std::array two{0, 1};
    for (int i = 0; i < 3; ++i) co_await near.send_descriptors(two, much);
    near.close();
    EXPECT_EQ(co_await std::move(all), 3 * much.size());
    EXPECT_EQ(came.size(), 6U);
}
TEST(unix_descriptors, go_once_with_bytes_that_do_not_go_at_once) {
    on_a_worker(sends_with_much);
}

coflux::task<void, worker> stops_descriptors(coflux::environment&) {
    auto [near, far] = unix_stream::pair();
    std::byte into{};
    std::array<owned_descriptor, 1> came;
    const std::array one{0};
    EXPECT_FALSE((co_await coflux::timeout(far.receive_descriptors(std::span(&into, 1), came), 1ms)).has_value());
    co_await near.send_descriptors(one, std::span(&one_byte, 1));
    EXPECT_EQ((co_await far.receive_descriptors(std::span(&into, 1), came)).descriptors, 1U);
    // Full of bytes: what waits for room sends no descriptor.
    const std::string much(5'000'000, 'x');
    EXPECT_FALSE(co_await coflux::timeout(near.write_all(much), 1ms));
    EXPECT_FALSE(co_await coflux::timeout(near.send_descriptors(one, std::span(&one_byte, 1)), 1ms));
    near.close();
    std::vector<std::byte> buffer(100'000);
    for (;;) {
        const auto n = co_await far.receive_descriptors(buffer, came);
        EXPECT_EQ(n.descriptors, 0U);
        if (n.bytes == 0) break;
    }
}
TEST(unix_descriptors, are_not_lost_by_a_stop) {
    on_a_worker(stops_descriptors);
}

template <typename E>
coflux::fork<std::size_t, E> receives_one(coflux::environment&, unix_stream* from, owned_descriptor* into) {
    std::byte byte{};
    const auto got = co_await from->receive_descriptors(std::span(&byte, 1), std::span(into, 1));
    co_return got.descriptors;
}
template <typename E>
coflux::fork<void, E> sends_one(coflux::environment&, unix_stream* to) {
    const std::array one{0};
    co_await to->send_descriptors(one, std::span(&one_byte, 1));
}
template <typename E>
coflux::fork<void, E> requests_stop(coflux::environment&, coflux::environment* of) {
    of->request_stop();
    co_return;
}
/// The descriptor comes beside the stop: it is received, or still there.
template <typename E>
coflux::task<void, E> races(coflux::environment&, int times) {
    auto&& here = co_await coflux::context();
    auto [near, far] = unix_stream::pair();
    for (int i = 0; i < times; ++i) {
        owned_descriptor came;
        auto inside = coflux::make_environment(here);
        auto receiver = receives_one<E>(inside, &far, &came);
        auto sender = sends_one<E>(here, &near);
        for (int y = 0; y < i % 3; ++y) co_await coflux::this_coroutine::yield();
        auto stop = requests_stop<E>(here, &inside);
        const auto how = co_await coflux::as_outcome(std::move(receiver));
        co_await std::move(stop);
        co_await std::move(sender);
        co_await inside.join();
        EXPECT_FALSE(how.has_error());
        EXPECT_EQ(came.is_open(), !how.is_stopped());
        if (how.is_stopped()) {
            EXPECT_EQ(co_await receives_one<E>(here, &far, &came), 1U);
        }
    }
}
template <typename E>
void races_on(E& executor) {
    auto env = coflux::make_environment(executor);
    const std::size_t before = open_descriptors();
    races<E>(env, 300).get();
    EXPECT_LE(open_descriptors(), before + 5);  // the executor's event source and alarm
}
TEST(unix_descriptors, beside_a_stop_are_received_or_still_there_on_a_worker) {
    worker on;
    races_on(on);
}
TEST(unix_descriptors, beside_a_stop_are_received_or_still_there_on_a_pool) {
    pool on{2};
    races_on(on);
}

/// Those that lose a choice lose nothing else.
coflux::task<void, worker> chooses(coflux::environment&) {
    const endpoint at = an_abstract_name();
    unix_listener listener(at);
    auto [near, far] = unix_stream::pair();
    auto pipe = coflux::make_pipe();
    std::byte a{};
    std::byte b{};
    std::array<owned_descriptor, 1> came;
    const std::array one{0};
    co_await pipe.writer.write_all("x");
    const auto first = co_await coflux::when_any(listener.accept(), far.receive_descriptors(std::span(&a, 1), came),
                                                 pipe.reader.read_some(std::span(&b, 1)));
    EXPECT_EQ(first.index(), 2U);
    co_await near.send_descriptors(one, std::span(&one_byte, 1));
    auto second = co_await coflux::select(listener.accept(), far.receive_descriptors(std::span(&a, 1), came),
                                          pipe.reader.read_some(std::span(&b, 1)));
    EXPECT_EQ(second.index(), 1U);
    EXPECT_TRUE(came[0].is_open());
    const unix_stream client = co_await unix_stream::connect(at);
    EXPECT_EQ((co_await coflux::when_any(listener.accept(), pipe.reader.wait_readable())).index(), 0U);
}
TEST(unix_descriptors, take_part_in_choices) {
    on_a_worker(chooses);
}

/// A connection goes to the peer, which serves it.
coflux::task<void, worker> passes_a_connection(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto [near, far] = unix_stream::pair();
    auto p = co_await coflux_test::connected(here);
    const std::array one{p.far.native_handle()};
    co_await near.send_descriptors(one, std::span(&one_byte, 1));
    p.far.close();
    std::byte into{};
    std::array<owned_descriptor, 1> came;
    (void)co_await far.receive_descriptors(std::span(&into, 1), came);
    auto served = coflux::tcp_stream::adopt(std::move(came[0]));
    EXPECT_EQ(served.peer_endpoint(), p.near.local_endpoint());
    co_await served.write_all("served");
    std::string got(6, ' ');
    co_await p.near.read_exactly(bytes_of(got));
    EXPECT_EQ(got, "served");
    auto local = unix_stream::pair();
    const int number = dup(local.first.native_handle());
    auto again = unix_stream::adopt(owned_descriptor(number));
    co_await again.write_all("x");
    EXPECT_EQ(co_await local.second.read_some(std::span(&into, 1)), 1U);
    const std::size_t before = open_descriptors();
    EXPECT_THROW((void)coflux::tcp_stream::adopt(owned_descriptor(dup(0))), std::system_error);
    EXPECT_LE(open_descriptors(), before);
}
TEST(unix_descriptors, may_be_connections_that_the_peer_serves) {
    on_a_worker(passes_a_connection);
}

coflux::task<void, worker> sends_without_a_byte(coflux::environment&) {
    auto [near, far] = unix_stream::pair();
    const std::array one{0};
    co_await near.send_descriptors(one, {});
}
TEST(unix_descriptors_death, without_a_byte_are_refused) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(on_a_worker(sends_without_a_byte), "descriptors are sent without a byte that they could come with");
}

}  // namespace

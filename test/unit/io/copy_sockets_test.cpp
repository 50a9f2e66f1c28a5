// From socket to socket the system moves the bytes, once there are many.
#include <coflux/io/copy.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <cerrno>

#include <sys/syscall.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/chooser.hpp>
#include <coflux/testing/sim_network.hpp>
#include <coflux/testing/simulation.hpp>

#include "connected.hpp"
#include "few_descriptors.hpp"
#include "signal_count.hpp"
#include "support/forbidden_calls.hpp"

namespace {

using namespace std::chrono_literals;
using coflux_test::bytes_of;
using coflux_test::connected;
using coflux_test::on_a_worker;
using coflux_test::open_descriptors;
using coflux_test::stream_pair;
using worker = coflux::worker_executor;

/// Bytes that show where one is lost, or comes twice.
std::string numbered(std::size_t size) {
    std::string s(size, '\0');
    unsigned x = 7;
    for (char& c : s) c = static_cast<char>((x = x * 1'664'525U + 1'013'904'223U) >> 24);
    return s;
}

template <typename E>
coflux::fork<void, E> sends(coflux::environment&, coflux::tcp_stream* to, std::string bytes) {
    co_await to->write_all(bytes);
    to->shutdown_send();
}
template <typename E>
coflux::fork<std::string, E> receives(coflux::environment&, coflux::tcp_stream* from) {
    auto&& here = co_await coflux::context();
    std::string got;
    co_await coflux::read_to_end(here, *from, got, std::size_t{1} << 30);
    co_return got;
}
template <typename E>
coflux::fork<std::uint64_t, E> copies(coflux::environment&, stream_pair* in, stream_pair* out,
                                      coflux::copy_options options) {
    auto&& here = co_await coflux::context();
    const std::uint64_t n = co_await coflux::copy(here, in->far, out->near, options);
    out->near.shutdown_send();
    co_return n;
}

/// All bytes of a source to a sink, and whether a pipe was there meanwhile: the sink does not read before one is, or
/// so much is in the sockets that there will be none.
template <typename E>
coflux::call<bool> carries(coflux::environment&, std::size_t size, coflux::copy_options options = {}) {
    auto&& here = co_await coflux::context();
    stream_pair in = co_await connected(here);
    stream_pair out = co_await connected(here);
    const std::size_t before = open_descriptors();
    const std::string bytes = numbered(size);
    auto sender = sends<E>(here, &in.near, bytes);
    auto copier = copies<E>(here, &in, &out, options);
    std::size_t most = 0;
    for (int i = 0; i != 200 && most < before + 2; ++i) {
        co_await 1ms;
        most = std::max(most, open_descriptors());
    }
    const std::string got = co_await receives<E>(here, &out.far);
    const std::uint64_t count = co_await std::move(copier);
    co_await std::move(sender);
    EXPECT_TRUE(got == bytes);
    EXPECT_EQ(count, size);
    EXPECT_LE(open_descriptors(), before);
    co_return most == before + 2;
}

constexpr std::size_t much = 16'000'000;  // more than the sockets have room for

coflux::task<void, worker> moves_much_by_a_pipe(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const bool by_pipe = co_await carries<worker>(here, much);
    EXPECT_TRUE(by_pipe);
}
TEST(copy_sockets, moves_many_bytes_by_a_pipe_of_the_system) {
    on_a_worker(moves_much_by_a_pipe);
}

coflux::task<void, coflux::thread_pool_executor> moves_much_on_a_pool(coflux::environment&) {
    auto&& here = co_await coflux::context();
    (void)co_await carries<coflux::thread_pool_executor>(here, much);
}
TEST(copy_sockets, moves_them_on_a_pool_too) {
    coflux::thread_pool_executor on{2};
    auto env = coflux::make_environment(on);
    moves_much_on_a_pool(env).get();
}

coflux::task<void, worker> needs_no_pipe(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const bool for_few = co_await carries<worker>(here, 1000);
    EXPECT_FALSE(for_few);
    const bool for_a_small_buffer = co_await carries<worker>(here, much, {.buffer_size = 4096});
    EXPECT_FALSE(for_a_small_buffer);
}
TEST(copy_sockets, takes_no_pipe_for_few_bytes_or_a_small_buffer) {
    on_a_worker(needs_no_pipe);
}

coflux::task<void, worker> leaves_descriptors(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const bool at_first = co_await carries<worker>(here, much);  // also opens what is opened once
    EXPECT_TRUE(at_first);
    const coflux_test::few_descriptors tight(11);
    const bool by_pipe = co_await carries<worker>(here, much);
    EXPECT_FALSE(by_pipe);
}
TEST(copy_sockets, takes_no_pipe_where_half_of_the_descriptors_are_open) {
    if constexpr (coflux_test::checks_need_descriptors) GTEST_SKIP() << "UBSan takes descriptors";
    on_a_worker(leaves_descriptors);
}

coflux::task<void, worker> moves_much(coflux::environment&) {
    auto&& here = co_await coflux::context();
    (void)co_await carries<worker>(here, much);
}
TEST(copy_sockets, goes_on_with_the_buffer_where_the_system_refuses_to_move_bytes) {
    for (const int error : {EPERM, ENOSYS, EINVAL}) {
        std::thread([error] {
            coflux_test::forbid({.number = SYS_splice, .error = error});
            on_a_worker(moves_much);
        }).join();
    }
}

/// A stop while the sink is full: what lies between is told, and no other byte is missing.
coflux::task<void, worker> tells_what_it_lost(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const std::string bytes = numbered(much);
    for (int round = 0; round != 5; ++round) {
        stream_pair in = co_await connected(here);
        stream_pair out = co_await connected(here);
        auto sender = sends<worker>(here, &in.near, bytes);
        coflux::copy_count count;
        // Until nothing moves any more.
        const auto all = co_await coflux::timeout(coflux::copy(here, in.far, out.near, {.count = &count}),
                                                  round == 4 ? 300ms : round * 2ms);
        EXPECT_TRUE(all.timed_out());
        EXPECT_LE(count.read - count.written, 64U * 1024);
        out.near.shutdown_send();
        const std::string sent = co_await receives<worker>(here, &out.far);
        EXPECT_TRUE(sent == bytes.substr(0, count.written));
        const std::string rest = co_await receives<worker>(here, &in.far);
        EXPECT_TRUE(rest == bytes.substr(count.read));
        co_await std::move(sender);
    }
}
TEST(copy_sockets, tells_what_a_stop_has_lost) {
    on_a_worker(tells_what_it_lost);
}

/// A stop while the source is idle, because all has come: nothing is lost, and the next copy goes on.
coflux::task<void, worker> goes_on(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const std::string bytes = numbered(1'000'000);
    stream_pair in = co_await connected(here);
    stream_pair out = co_await connected(here);
    for (int round = 0; round != 3; ++round) {
        auto writer = [](coflux::environment&, coflux::tcp_stream& to, const std::string& all) -> coflux::call<void> {
            co_await to.write_all(all);
        };
        auto copier = [](coflux::environment&, stream_pair& from, stream_pair& to,
                         std::size_t size) -> coflux::call<void> {
            auto&& self = co_await coflux::context();
            coflux::copy_count count;
            std::string got(size, ' ');
            const auto first = co_await coflux::when_any(coflux::copy(self, from.far, to.near, {.count = &count}),
                                                         to.far.read_exactly(bytes_of(got)));
            EXPECT_EQ(first.index(), 1U);
            EXPECT_EQ(count.read, size);
            EXPECT_EQ(count.written, size);
            EXPECT_TRUE(got == numbered(size));
        };
        co_await coflux::when_all(writer(here, in.near, bytes), copier(here, in, out, bytes.size()));
    }
}
TEST(copy_sockets, loses_nothing_to_a_stop_while_the_source_is_idle) {
    on_a_worker(goes_on);
}

coflux::task<void, worker> fails_where_the_sink_is_gone(coflux::environment&, bool reset) {
    auto&& here = co_await coflux::context();
    const coflux_test::signal_count none;
    stream_pair in = co_await connected(here);
    stream_pair out = co_await connected(here);
    const std::size_t before = open_descriptors();
    auto sender = sends<worker>(here, &in.near, numbered(much));
    auto copier = copies<worker>(here, &in, &out, {});
    for (int i = 0; i != 200 && open_descriptors() < before + 2; ++i) co_await 1ms;
    co_await 20ms;  // it waits for the sink by then, mostly
    if (reset) {
        out.far.reset();
    } else {
        out.near.shutdown_send();  // what would raise SIGPIPE
    }
    std::error_code error;
    try {
        (void)co_await std::move(copier);
    } catch (const std::system_error& e) {
        error = e.code();
        EXPECT_NE(std::string(e.what()).find("coflux: write to 127."), std::string::npos) << e.what();
    }
    EXPECT_TRUE(error == std::errc::broken_pipe || (reset && error == std::errc::connection_reset)) << error.message();
    EXPECT_EQ(coflux_test::signals, 0);
    EXPECT_LE(open_descriptors(), before - (reset ? 1 : 0));
    in.far.close();
    (void)co_await coflux::as_outcome(std::move(sender));
}
TEST(copy_sockets, fails_without_a_signal_where_the_sink_is_gone) {
    on_a_worker(fails_where_the_sink_is_gone, true);
    on_a_worker(fails_where_the_sink_is_gone, false);
}

coflux::task<void, worker> fails_where_the_source_is_cut(coflux::environment&) {
    auto&& here = co_await coflux::context();
    stream_pair in = co_await connected(here);
    stream_pair out = co_await connected(here);
    auto receiver = receives<worker>(here, &out.far);
    auto copier = copies<worker>(here, &in, &out, {});
    const std::string bytes = numbered(1'000'000);
    co_await in.near.write_all(bytes);
    co_await 20ms;
    in.near.reset();
    std::string told;
    try {
        (void)co_await std::move(copier);
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::connection_reset);
        told = e.what();
    }
    EXPECT_NE(told.find("coflux: read from 127."), std::string::npos) << told;
    out.near.close();
    (void)co_await std::move(receiver);
}
TEST(copy_sockets, tells_a_source_that_is_cut_from_one_that_ends) {
    on_a_worker(fails_where_the_source_is_cut);
}

coflux::task<void, coflux::testing::sim_executor> simulated(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const bool by_pipe = co_await carries<coflux::testing::sim_executor>(here, 400'000);
    EXPECT_FALSE(by_pipe);
}
TEST(copy_sockets, takes_no_pipe_between_sockets_that_are_simulated) {
    coflux::testing::fifo_chooser decides;
    coflux::testing::simulation world(decides);
    const coflux::testing::sim_network net(world);
    coflux::testing::sim_executor on(world);
    auto env = coflux::make_environment(on);
    simulated(env).get();
}

}  // namespace

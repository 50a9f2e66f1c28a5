// The system's answers to operations that wait already: as a request of a ring, or at the call after an event.
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "system_rules.hpp"
#include "unit/io/connected.hpp"
#include "until_called.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::as_result;
using coflux::environment;
using coflux::tcp_listener;
using coflux::tcp_stream;
using coflux_test::always;
using coflux_test::bytes_of;
using coflux_test::connected;
using coflux_test::on_a_worker;
using coflux_test::system_call;
using coflux_test::system_rules;
using coflux_test::until_called;
using worker = coflux::worker_executor;

constexpr std::string_view text = "a text of thirty bytes, or so.";

coflux::fork<std::error_code, worker> reads(environment&, tcp_stream* from, std::string* into) {
    const auto got = co_await as_result(from->read_exactly(bytes_of(*into)));
    co_return got.has_value() ? std::error_code() : got.error();
}
coflux::fork<std::error_code, worker> accepts(environment&, tcp_listener* at, tcp_stream* into) {
    auto got = co_await as_result(at->accept());
    if (!got.has_value()) co_return got.error();
    *into = std::move(got).value();
    co_return std::error_code();
}
std::error_code of_system(int error) {
    return {error, std::system_category()};
}

coflux::task<void, worker> a_read_fails(environment&, int error) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    std::string got(text.size(), ' ');
    {
        const system_rules rules{{.on = system_call::receive, .from = 2, .error = error}};  // the first finds nothing
        auto reader = reads(here, &p.far, &got);
        co_await until_called(here, &rules, system_call::receive);
        co_await p.near.write_all(text);
        EXPECT_EQ(co_await std::move(reader), of_system(error));
        EXPECT_EQ(rules.followed(), 1U);
    }
    co_await p.far.read_exactly(bytes_of(got));  // it comes once, and what was sent is there
    EXPECT_EQ(got, text);
}
TEST(waiting_rules, gives_an_error_to_a_read_that_waits) {
    for (const int error : {ECONNRESET, ETIMEDOUT, ENOBUFS, ENOMEM}) on_a_worker(a_read_fails, error);
}

/// A ring's own accept says so before it looks for a connection, and is not believed.
std::size_t calls_without_a_number(int error) {
    return system_rules::are_on_a_ring() && (error == EMFILE || error == ENFILE) ? 2 : 1;
}
coflux::task<void, worker> an_accept_fails(environment&, int error) {
    auto&& here = co_await coflux::context();
    tcp_listener listener(coflux_test::own_loopback());
    tcp_stream far;
    tcp_stream near;
    {
        const std::size_t times = calls_without_a_number(error);
        const system_rules rules{{.on = system_call::accept, .from = 2, .times = times, .error = error}};
        auto accepting = accepts(here, &listener, &far);
        // A client that comes before the ring's own accept does so in its place, and there is one call less.
        co_await until_called(here, &rules, system_call::accept, times);
        near = co_await tcp_stream::connect(listener.local_endpoint());
        EXPECT_EQ(co_await std::move(accepting), of_system(error));
        EXPECT_EQ(rules.followed(), times);
    }
    far = co_await listener.accept();  // it stayed in the backlog
    co_await near.write_all(text);
    std::string got(text.size(), ' ');
    co_await far.read_exactly(bytes_of(got));
    EXPECT_EQ(got, text);
}
TEST(waiting_rules, keeps_a_connection_where_an_accept_that_waits_has_no_descriptor_for_it) {
    for (const int error : {EMFILE, ENFILE, ENOBUFS, ENOMEM}) on_a_worker(an_accept_fails, error);
}

coflux::task<void, worker> an_accept_waits_on(environment&, int error) {
    auto&& here = co_await coflux::context();
    tcp_listener listener(coflux_test::own_loopback());
    tcp_stream far;
    const std::size_t times = calls_without_a_number(error);
    const system_rules rules{{.on = system_call::accept, .times = times, .error = error}};
    auto accepting = accepts(here, &listener, &far);
    co_await until_called(here, &rules, system_call::accept, times);
    co_await coflux::sleep_for(1ms);
    const tcp_stream near = co_await tcp_stream::connect(listener.local_endpoint());
    EXPECT_EQ(co_await std::move(accepting), std::error_code());
    EXPECT_TRUE(far.is_open());
    EXPECT_EQ(rules.followed(), times);
}
TEST(waiting_rules, an_accept_waits_on_where_there_is_neither_a_descriptor_nor_a_connection) {
    for (const int error : {EMFILE, ENFILE}) on_a_worker(an_accept_waits_on, error);
}

coflux::task<void, worker> goes_on(environment&, int error, std::size_t times) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    for (std::size_t n = 2; n <= 4; ++n) {
        std::string got(text.size(), ' ');
        const system_rules rules{{.on = system_call::receive, .from = n, .times = times, .error = error},
                                 {.on = system_call::receive, .times = always, .moves = 7}};
        auto reader = reads(here, &p.far, &got);
        co_await coflux::sleep_for(1ms);  // not until a call: a ring that was told EAGAIN polls before it
        co_await p.near.write_all(text.substr(0, 11));
        co_await coflux::sleep_for(1ms);
        co_await p.near.write_all(text.substr(11));
        EXPECT_EQ(co_await std::move(reader), std::error_code());
        EXPECT_EQ(got, text);
        EXPECT_GE(rules.followed(), times);
    }
}
TEST(waiting_rules, reads_on_where_a_read_that_waits_is_interrupted_or_finds_nothing) {
    for (const int error : {EINTR, EAGAIN}) {
        for (const std::size_t times : {1, 2, 50}) on_a_worker(goes_on, error, times);
    }
}

/// Reads its messages, and waits for the next one each time.
coflux::fork<void, worker> reads_messages(environment&, tcp_stream* from, std::size_t n) {
    std::string got(2 * text.size(), ' ');
    for (; n != 0; --n) EXPECT_EQ(co_await from->read_some(bytes_of(got)), text.size());
}
coflux::task<void, worker> calls_of_reads(environment&) {
    constexpr std::size_t streams = 300;  // two reads of each are more calls than a round makes
    auto&& here = co_await coflux::context();
    std::vector<coflux_test::stream_pair> pairs;
    for (std::size_t i = 0; i < streams; ++i) pairs.push_back(co_await connected(here));
    for (auto& p : pairs) co_await p.near.write_all(text);
    co_await coflux::sleep_for(2ms);
    const system_rules none{};
    std::vector<coflux::fork<void, worker>> readers;
    for (auto& p : pairs) readers.push_back(reads_messages(here, &p.far, 2));
    co_await until_called(here, &none, system_call::receive, streams);
    co_await coflux::sleep_for(2ms);
    EXPECT_EQ(none.calls(system_call::receive), streams);
    for (auto& p : pairs) co_await p.near.write_all(text);
    for (auto& reader : readers) co_await std::move(reader);
    EXPECT_EQ(none.calls(system_call::receive), 2 * streams);
}
TEST(waiting_rules, no_call_finds_nothing_after_a_short_read) {
    if (system_rules::are_on_a_ring()) GTEST_SKIP() << "a ring is asked before";
    on_a_worker(calls_of_reads);
}

/// The call that submits and sleeps fails so often.
coflux::task<void, worker> enters(environment&, int error, std::size_t times) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    std::string got(text.size(), ' ');
    const system_rules rules{{.on = system_call::enter, .times = times, .error = error}};
    auto reader = reads(here, &p.far, &got);
    co_await until_called(here, &rules, system_call::enter);
    co_await p.near.write_all(text);
    EXPECT_EQ(co_await std::move(reader), std::error_code());
    EXPECT_EQ(got, text);
    EXPECT_GE(rules.followed(), 1U);
}
TEST(waiting_rules, loses_no_request_where_the_ring_cannot_be_entered) {
    if (!system_rules::are_on_a_ring()) GTEST_SKIP() << "there is no ring";
    for (const int error : {EINTR, EAGAIN, EBUSY, ENOMEM, ETIME}) {
        for (const std::size_t times : {1, 2, 5}) on_a_worker(enters, error, times);
    }
}

}  // namespace

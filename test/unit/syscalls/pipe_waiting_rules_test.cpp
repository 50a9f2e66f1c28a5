// The system's answers to operations of a pipe that wait already: as a request of a ring, or at the call after an
// event.
#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <sys/ioctl.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "system_rules.hpp"
#include "unit/io/connected.hpp"
#include "until_called.hpp"

namespace {

using coflux::as_result;
using coflux::environment;
using coflux::make_pipe;
using coflux::pipe_ends;
using coflux::pipe_reader;
using coflux::pipe_writer;
using coflux_test::always;
using coflux_test::bytes_of;
using coflux_test::on_a_worker;
using coflux_test::system_call;
using coflux_test::system_rules;
using coflux_test::until_called;
using worker = coflux::worker_executor;

constexpr std::string_view text = "a text of thirty bytes, or so.";

std::error_code of_system(int error) {
    return {error, std::system_category()};
}

// --- reads that wait -------------------------------------------------------------------------------------------------

coflux::fork<std::error_code, worker> reads(environment&, pipe_reader* from, std::string* into) {
    const auto got = co_await as_result(from->read_exactly(bytes_of(*into)));
    co_return got.has_value() ? std::error_code() : got.error();
}
bool is_empty(const pipe_reader& end) {
    int bytes = 0;
    EXPECT_EQ(ioctl(end.native_handle(), FIONREAD, &bytes), 0);
    return bytes == 0;
}
coflux::call<void> until_empty(environment&, const pipe_reader* end) {
    while (!is_empty(*end)) co_await coflux::this_coroutine::yield();
}
coflux::call<void> until_read_from(environment&, const system_rules* rules, std::size_t times = 1) {
    while (rules->calls(system_call::pipe_read) < times) co_await coflux::this_coroutine::yield();
}
/// The last read of the pipe has waited: a ring is asked for the next one at once.
coflux::call<void> waits_once(environment&, pipe_ends* p) {
    auto&& here = co_await coflux::context();
    std::string got(1, ' ');
    const system_rules none{};
    auto reader = reads(here, &p->reader, &got);
    co_await until_read_from(here, &none, system_rules::are_on_a_ring() ? 2 : 1);  // it was asked, too
    co_await p->writer.write_all("x");
    EXPECT_EQ(co_await std::move(reader), std::error_code());
}

/// The reader waits before the first bytes come, and again before the rest.
coflux::task<void, worker> waits_for_two_writes(environment&, coflux_test::system_rule rule, bool has_waited) {
    auto&& here = co_await coflux::context();
    auto p = make_pipe();
    if (has_waited) co_await waits_once(here, &p);
    std::string got(text.size(), ' ');
    const system_rules rules{rule, {.on = system_call::pipe_read, .times = always, .moves = 7}};
    auto reader = reads(here, &p.reader, &got);
    co_await until_read_from(here, &rules);
    co_await p.writer.write_all(text.substr(0, 11));
    co_await until_empty(here, &p.reader);
    co_await p.writer.write_all(text.substr(11));
    EXPECT_EQ(co_await std::move(reader), std::error_code());
    EXPECT_EQ(got, text);
    EXPECT_GE(rules.followed(), rule.times);
}
TEST(pipe_rules_waiting, reads_on_where_a_read_that_waits_is_interrupted_or_finds_nothing) {
    for (const int error : {EINTR, EAGAIN}) {
        for (const std::size_t times : {1, 2, 50}) {
            for (std::size_t n = 1; n <= 4; ++n) {
                for (const bool has_waited : {false, true}) {
                    on_a_worker(waits_for_two_writes,
                                coflux_test::system_rule{
                                    .on = system_call::pipe_read, .from = n, .times = times, .error = error},
                                has_waited);
                }
            }
        }
    }
}
TEST(pipe_rules_waiting, reads_all_of_what_comes_in_parts_to_a_read_that_waits) {
    for (std::size_t k = 1; k <= text.size(); ++k) {
        for (const bool has_waited : {false, true}) {
            on_a_worker(waits_for_two_writes,
                        coflux_test::system_rule{.on = system_call::pipe_read, .from = 2, .moves = k}, has_waited);
        }
    }
}

/// The system says EAGAIN to a request of a ring in place of waiting.
coflux::task<void, worker> is_polled(environment&) {
    auto&& here = co_await coflux::context();
    auto p = make_pipe();
    std::string got(text.size(), ' ');
    const system_rules rules{{.on = system_call::pipe_read, .times = 100, .error = EAGAIN, .requested = true}};
    auto reader = reads(here, &p.reader, &got);
    co_await until_read_from(here, &rules);
    co_await p.writer.write_all(text.substr(0, 11));
    co_await until_empty(here, &p.reader);
    co_await p.writer.write_all(text.substr(11));
    EXPECT_EQ(co_await std::move(reader), std::error_code());
    EXPECT_EQ(got, text);
    EXPECT_EQ(rules.followed(), system_rules::are_on_a_ring() ? 1U : 0U);
}
TEST(pipe_rules_waiting, an_end_for_which_the_ring_does_not_wait_is_polled_from_then_on) {
    on_a_worker(is_polled);
}

coflux::task<void, worker> a_read_that_waits_fails(environment&, int error, bool has_waited) {
    auto&& here = co_await coflux::context();
    auto p = make_pipe();
    if (has_waited) co_await waits_once(here, &p);
    std::string got(text.size(), ' ');
    const bool is_request = has_waited && system_rules::are_on_a_ring();
    {
        // Elsewhere the first call finds nothing.
        const system_rules rules{
            {.on = system_call::pipe_read, .from = is_request ? 1U : 2U, .error = error, .requested = is_request}};
        auto reader = reads(here, &p.reader, &got);
        co_await until_read_from(here, &rules);
        if (!is_request) co_await p.writer.write_all(text);
        EXPECT_EQ(co_await std::move(reader), of_system(error));
        EXPECT_EQ(rules.followed(), 1U);
        if (is_request) co_await p.writer.write_all(text);
    }
    co_await p.reader.read_exactly(bytes_of(got));  // it comes once, and what was written is there
    EXPECT_EQ(got, text);
}
TEST(pipe_rules_waiting, gives_an_error_to_a_read_that_waits) {
    for (const int error : {EIO, ENOMEM, EBADF}) {
        for (const bool has_waited : {false, true}) on_a_worker(a_read_that_waits_fails, error, has_waited);
    }
}

/// Reads all of the text into two buffers.
coflux::fork<std::string, worker> gathers(environment&, pipe_reader* from) {
    std::string first(7, ' ');
    std::string second(text.size() - 7, ' ');
    std::string got;
    while (got.size() < text.size()) {
        const std::array<std::span<std::byte>, 2> into{bytes_of(first), bytes_of(second)};
        const std::size_t n = co_await from->read_some(into);
        if (n == 0) break;
        got += (first + second).substr(0, n);
    }
    co_return got;
}
coflux::task<void, worker> buffers_wait(environment&, int error, std::size_t times) {
    auto&& here = co_await coflux::context();
    auto p = make_pipe();
    const system_rules rules{{.on = system_call::pipe_read, .from = 2, .times = times, .error = error},
                             {.on = system_call::pipe_read, .times = always, .moves = 9}};
    auto reader = gathers(here, &p.reader);
    co_await until_read_from(here, &rules);
    co_await p.writer.write_all(text.substr(0, 11));
    co_await until_empty(here, &p.reader);
    co_await p.writer.write_all(text.substr(11));
    EXPECT_EQ(co_await std::move(reader), text);
    EXPECT_GE(rules.followed(), times);
}
TEST(pipe_rules_waiting, fills_several_buffers_where_a_read_that_waits_is_interrupted_or_finds_nothing) {
    for (const int error : {EINTR, EAGAIN}) {
        for (const std::size_t times : {1, 2, 50}) on_a_worker(buffers_wait, error, times);
    }
}

// --- writes that wait ------------------------------------------------------------------------------------------------

coflux::fork<std::error_code, worker> fills(environment&, pipe_writer* to, const std::string* all) {
    const auto sent = co_await as_result(to->write_all(*all));
    co_return sent.has_value() ? std::error_code() : sent.error();
}
/// More than a pipe holds: the write has waited for room when the call comes that a rule is for.
coflux::task<void, worker> waits_for_room(environment&, int error, std::size_t times, bool is_error) {
    auto&& here = co_await coflux::context();
    auto p = make_pipe();
    std::string all;
    while (all.size() < 100'000) all += text;
    std::string got(all.size(), ' ');
    std::size_t read = 0;
    {
        const system_rules rules{{.on = system_call::pipe_write, .from = 3, .times = times, .error = error}};
        auto writer = fills(here, &p.writer, &all);
        co_await until_called(here, &rules, system_call::pipe_write, 2);  // the second finds no room
        EXPECT_FALSE(writer.done());
        do {
            read += co_await p.reader.read_some(bytes_of(got).subspan(read));
        } while (!is_error && read < got.size());
        EXPECT_EQ(co_await std::move(writer), is_error ? of_system(error) : std::error_code());
        EXPECT_EQ(rules.followed(), times);
    }
    p.writer.close();
    while (const std::size_t n = co_await p.reader.read_some(bytes_of(got).subspan(read))) read += n;
    EXPECT_EQ(read == all.size(), !is_error);
    EXPECT_TRUE(got.substr(0, read) == all.substr(0, read));
}
TEST(pipe_rules_waiting, writes_on_where_a_write_that_waits_is_interrupted_or_finds_no_room) {
    for (const int error : {EINTR, EAGAIN}) {
        for (const std::size_t times : {1, 2, 50}) on_a_worker(waits_for_room, error, times, false);
    }
}
TEST(pipe_rules_waiting, gives_an_error_to_a_write_that_waits) {
    for (const int error : {EIO, EPIPE, ENOMEM}) on_a_worker(waits_for_room, error, std::size_t{1}, true);
}

}  // namespace

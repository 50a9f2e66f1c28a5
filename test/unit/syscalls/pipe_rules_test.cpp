// Rare answers of the system to each call of a pipe, and the results of operations.
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "system_rules.hpp"
#include "unit/io/connected.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::as_result;
using coflux::environment;
using coflux::make_pipe;
using coflux::pipe_reader;
using coflux::pipe_writer;
using coflux_test::always;
using coflux_test::bytes_of;
using coflux_test::on_a_worker;
using coflux_test::system_call;
using coflux_test::system_rules;
using pool = coflux::thread_pool_executor;
using worker = coflux::worker_executor;

constexpr std::string_view text = "a text of thirty bytes, or so.";
static_assert(text.size() == 30);

std::error_code of_system(int error) {
    return {error, std::system_category()};
}
std::size_t calls_for_all(std::size_t k) {
    return (text.size() + k - 1) / k;
}

// --- bytes -----------------------------------------------------------------------------------------------------------

coflux::task<void, worker> moves_all(environment&) {
    auto p = make_pipe();
    for (std::size_t k = 1; k <= text.size(); ++k) {
        std::string got(text.size(), ' ');
        {
            const system_rules once{{.on = system_call::pipe_write, .moves = k},
                                    {.on = system_call::pipe_read, .moves = k}};
            co_await p.writer.write_all(text);
            co_await p.reader.read_exactly(bytes_of(got));
            EXPECT_EQ(got, text) << k;
            EXPECT_EQ(once.followed(), 2U);
        }
        got.assign(text.size(), ' ');
        const system_rules each{{.on = system_call::pipe_write, .times = always, .moves = k},
                                {.on = system_call::pipe_read, .times = always, .moves = k}};
        co_await p.writer.write_all(text);
        co_await p.reader.read_exactly(bytes_of(got));
        EXPECT_EQ(got, text) << k;
        EXPECT_EQ(each.calls(system_call::pipe_write), calls_for_all(k));
        EXPECT_EQ(each.calls(system_call::pipe_read), calls_for_all(k));
    }
}
TEST(pipe_rules, moves_all_of_a_short_write_and_a_short_read) {
    on_a_worker(moves_all);
}

coflux::task<void, worker> tells_how_many(environment&) {
    auto p = make_pipe();
    std::string got(text.size(), ' ');
    for (std::size_t k = 1; k < text.size(); ++k) {
        const system_rules rules{{.on = system_call::pipe_write, .moves = k},
                                 {.on = system_call::pipe_read, .moves = 1}};
        EXPECT_EQ(co_await p.writer.write_some(text), k);
        EXPECT_EQ(co_await p.reader.read_some(bytes_of(got)), 1U);
        if (k > 1) {
            EXPECT_EQ(co_await p.reader.read_some(bytes_of(got).subspan(1)), k - 1);
        }
        EXPECT_EQ(got.substr(0, k), text.substr(0, k));
    }
}
TEST(pipe_rules, tells_how_many_bytes_a_short_call_has_moved) {
    on_a_worker(tells_how_many);
}

// --- several buffers -------------------------------------------------------------------------------------------------

/// Reads all of the text into two buffers.
coflux::call<std::string> gathers(environment&, pipe_reader* from) {
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
constexpr std::array<std::string_view, 3> three{text.substr(0, 4), text.substr(4, 11), text.substr(15)};
std::array<std::span<const std::byte>, 3> parts() {
    return {std::as_bytes(std::span(three[0])), std::as_bytes(std::span(three[1])), std::as_bytes(std::span(three[2]))};
}

coflux::task<void, worker> buffers_move(environment&) {
    auto&& here = co_await coflux::context();
    auto p = make_pipe();
    for (std::size_t k = 1; k <= text.size(); ++k) {
        const system_rules rules{{.on = system_call::pipe_write, .times = always, .moves = k},
                                 {.on = system_call::pipe_read, .times = always, .moves = k}};
        co_await p.writer.write_all(parts());
        EXPECT_EQ(co_await gathers(here, &p.reader), text) << k;
        EXPECT_EQ(rules.calls(system_call::pipe_write), calls_for_all(k));
        EXPECT_EQ(rules.calls(system_call::pipe_read), calls_for_all(k));
        EXPECT_EQ(co_await p.writer.write_some(parts()), k);
        std::string some(k, ' ');
        co_await p.reader.read_exactly(bytes_of(some));
        EXPECT_EQ(some, text.substr(0, k));
    }
}
TEST(pipe_rules, moves_all_buffers_by_calls_that_move_fewer_bytes) {
    on_a_worker(buffers_move);
}

// --- again -----------------------------------------------------------------------------------------------------------

/// The n-th call fails so often with what says: again.
coflux::task<void, worker> goes_through(environment&, int error, std::size_t times) {
    auto&& here = co_await coflux::context();
    for (const system_call on : {system_call::pipe_read, system_call::pipe_write}) {
        for (std::size_t n = 1; n <= 4; ++n) {
            auto p = make_pipe();
            std::string got(text.size(), ' ');
            {
                const system_rules rules{{.on = on, .from = n, .times = times, .error = error},
                                         {.on = on, .times = always, .moves = 7}};
                co_await p.writer.write_all(text);
                co_await p.reader.read_exactly(bytes_of(got));
                EXPECT_EQ(got, text);
                EXPECT_GE(rules.calls(on), times + 5);
            }
            const system_rules rules{{.on = on, .from = n, .times = times, .error = error},
                                     {.on = on, .times = always, .moves = 7}};
            co_await p.writer.write_all(parts());
            EXPECT_EQ(co_await gathers(here, &p.reader), text);
            EXPECT_GE(rules.calls(on), times + 5);
        }
    }
}
TEST(pipe_rules, goes_on_where_a_signal_interrupts_any_call) {
    for (const std::size_t times : {1, 2, 50}) on_a_worker(goes_through, EINTR, times);
}
TEST(pipe_rules, lives_through_storms_of_would_block) {
    for (const std::size_t times : {1, 2, 50}) on_a_worker(goes_through, EAGAIN, times);
}

template <typename E>
coflux::fork<void, E> writes(environment&, pipe_writer* to, int times) {
    for (; times != 0; --times) co_await to->write_all(text);
}
coflux::task<void, pool> carries_on_a_pool(environment&) {
    constexpr int times = 20;
    auto&& here = co_await coflux::context();
    auto p = make_pipe();
    const system_rules rules{{.on = system_call::pipe_read, .times = 50, .error = EAGAIN},
                             {.on = system_call::pipe_write, .times = 50, .error = EAGAIN},
                             {.on = system_call::pipe_read, .from = 60, .times = 50, .error = EINTR},
                             {.on = system_call::pipe_write, .from = 60, .times = 50, .error = EINTR},
                             {.on = system_call::pipe_read, .times = always, .moves = 3},
                             {.on = system_call::pipe_write, .times = always, .moves = 7}};
    auto writer = writes<pool>(here, &p.writer, times);
    std::string got(text.size(), ' ');
    for (int i = 0; i < times; ++i) {
        co_await p.reader.read_exactly(bytes_of(got));
        EXPECT_EQ(got, text);
    }
    co_await std::move(writer);
    EXPECT_GE(rules.followed(), 200U);
}
TEST(pipe_rules, lives_through_them_on_a_pool) {
    pool on(2);
    auto env = coflux::make_environment(on);
    carries_on_a_pool(env).get();
}

coflux::task<void, worker> is_stopped_in_a_storm(environment&) {
    auto p = make_pipe();
    co_await p.writer.write_all(text);
    std::string got(text.size(), ' ');
    {
        const system_rules rules{{.on = system_call::pipe_read, .times = always, .error = EAGAIN},
                                 {.on = system_call::pipe_write, .times = always, .error = EAGAIN}};
        EXPECT_FALSE((co_await coflux::timeout(p.reader.read_some(bytes_of(got)), 2ms)).has_value());
        EXPECT_FALSE((co_await coflux::timeout(p.writer.write_some("lost"), 2ms)).has_value());
        EXPECT_GE(rules.calls(system_call::pipe_read), 1U);
        EXPECT_GE(rules.calls(system_call::pipe_write), 1U);
    }
    co_await p.reader.read_exactly(bytes_of(got));  // and loses nothing
    EXPECT_EQ(got, text);
    p.writer.close();
    EXPECT_EQ(co_await p.reader.read_some(bytes_of(got)), 0U);
}
TEST(pipe_rules, can_be_stopped_in_a_storm) {
    on_a_worker(is_stopped_in_a_storm);
}

// --- errors ----------------------------------------------------------------------------------------------------------

/// An error at the n-th call comes out, and what was moved before is where it should be.
coflux::task<void, worker> fails_at(environment&, std::size_t n, int error) {
    const std::size_t moved = 5 * (n - 1);
    auto p = make_pipe();
    {
        const system_rules rules{{.on = system_call::pipe_write, .from = n, .error = error},
                                 {.on = system_call::pipe_write, .times = always, .moves = 5}};
        const auto sent = co_await as_result(p.writer.write_all(text));
        EXPECT_EQ(sent.error(), of_system(error));
        EXPECT_EQ(rules.calls(system_call::pipe_write), n);
    }
    co_await p.writer.write_all(text.substr(moved));
    std::string got(text.size(), ' ');
    {
        const system_rules rules{{.on = system_call::pipe_read, .from = n, .error = error},
                                 {.on = system_call::pipe_read, .times = always, .moves = 5}};
        const auto read = co_await as_result(p.reader.read_exactly(bytes_of(got)));
        EXPECT_EQ(read.error(), of_system(error));
        EXPECT_EQ(rules.calls(system_call::pipe_read), n);
        EXPECT_EQ(got.substr(0, moved), text.substr(0, moved));
    }
    co_await p.reader.read_exactly(bytes_of(got).subspan(moved));
    EXPECT_EQ(got, text);
}
TEST(pipe_rules, gives_the_error_of_any_call_once) {
    for (const int error : {EIO, ENOMEM, EBADF}) {
        for (std::size_t n = 1; n <= 6; ++n) on_a_worker(fails_at, n, error);
    }
}

coflux::task<void, worker> buffers_fail(environment&) {
    auto&& here = co_await coflux::context();
    auto p = make_pipe();
    {
        const system_rules rules{{.on = system_call::pipe_write, .from = 2, .error = EIO},
                                 {.on = system_call::pipe_write, .moves = 15}};
        const auto sent = co_await as_result(p.writer.write_all(parts()));
        EXPECT_EQ(sent.error(), of_system(EIO));
    }
    co_await p.writer.write_all(three[2]);
    {
        const system_rules rules{{.on = system_call::pipe_read, .error = EIO}};
        std::string one(1, ' ');
        const std::array<std::span<std::byte>, 2> into{bytes_of(one), std::span<std::byte>()};
        EXPECT_EQ((co_await as_result(p.reader.read_some(into))).error(), of_system(EIO));
    }
    EXPECT_EQ(co_await gathers(here, &p.reader), text);
}
TEST(pipe_rules, gives_the_error_of_a_call_with_several_buffers_once) {
    on_a_worker(buffers_fail);
}

// --- a system that does not know RWF_NOSIGNAL ------------------------------------------------------------------------

coflux::task<bool, worker> writes_without_the_flag(environment&, int refusal) {
    auto&& here = co_await coflux::context();
    auto p = make_pipe();
    {
        const system_rules rules{{.on = system_call::pipe_write, .error = refusal}};
        co_await p.writer.write_all(parts());
        EXPECT_EQ(co_await gathers(here, &p.reader), text);
        EXPECT_EQ(rules.calls(system_call::pipe_write), 2U);
    }
    {
        // It does not ask again: this is the call without the flag, and there is no other.
        const system_rules rules{{.on = system_call::pipe_write, .error = refusal}};
        EXPECT_EQ((co_await as_result(p.writer.write_all(text))).error(), of_system(refusal));
    }
    for (std::size_t k = 1; k <= text.size(); ++k) {
        const system_rules rules{{.on = system_call::pipe_write, .times = 2, .error = EINTR},
                                 {.on = system_call::pipe_write, .from = 3, .error = EAGAIN},
                                 {.on = system_call::pipe_write, .times = always, .moves = k}};
        co_await p.writer.write_all(parts());
        EXPECT_EQ(co_await gathers(here, &p.reader), text);
        EXPECT_EQ(rules.calls(system_call::pipe_write), 3 + calls_for_all(k));
    }
    p.reader.close();
    const auto gone = co_await as_result(p.writer.write_all(text));  // a signal would end the process
    EXPECT_EQ(gone.error(), std::errc::broken_pipe);
    co_return !testing::Test::HasFailure();
}
TEST(pipe_rules_death, a_system_that_refuses_to_leave_out_the_signal_is_asked_once) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    for (const int refusal : {EOPNOTSUPP, EINVAL, ENOSYS}) {
        EXPECT_EXIT(std::_Exit(on_a_worker(writes_without_the_flag, refusal) ? 7 : 1), testing::ExitedWithCode(7), "");
    }
}

}  // namespace

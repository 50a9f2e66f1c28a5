#include <coflux/io/buffered_reader.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/alloc_guard.hpp>
#include <coflux/testing/failing_resource.hpp>
#include <coflux/testing/gtest.hpp>

#include "connected.hpp"
#include "memory_streams.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::buffered_reader;
using coflux_test::as_text;
using coflux_test::bytes_of;
using coflux_test::connected;
using coflux_test::in_few_schedules;
using coflux_test::memory_source;
using lines = std::vector<std::string>;
using reader = buffered_reader<memory_source>;

const std::string text = "one\r\n\ntwo \rthree\n\r\nlonger line\nlast";
const lines expected{"one", "", "two \rthree", "", "longer line", "last"};

coflux::call<lines> all_lines(coflux::environment&, reader& in) {
    auto&& here = co_await coflux::context();
    lines all;
    while (const auto line = co_await in.read_line(here, {.unterminated = true})) all.emplace_back(*line);
    co_return all;
}

coflux::task<void, coflux::testing::sim_executor> gives_lines_however_the_stream_cuts_them(coflux::environment&) {
    auto&& here = co_await coflux::context();
    for (std::size_t size = 1; size != 40; ++size) {
        for (std::size_t piece = 1; piece != text.size(); ++piece) {
            memory_source source{.text = text, .piece = piece};
            reader in(source, size);
            const lines all = co_await all_lines(here, in);
            CO_ASSERT_EQ(all, expected) << size << ' ' << piece;
        }
    }
}
TEST(buffered_reader, gives_lines_however_the_stream_cuts_them) {
    in_few_schedules(&gives_lines_however_the_stream_cuts_them);
}

coflux::task<void, coflux::testing::sim_executor>
keeps_what_it_read_where_a_line_is_stopped_at_any_byte(coflux::environment&) {
    auto&& here = co_await coflux::context();
    for (std::size_t size = 3; size < 40; size += 4) {
        for (const auto limit : {500us, 1500us, 2500us, 4500us, 9500us}) {
            memory_source source{.text = text, .piece = 1, .pause = 1ms};
            reader in(source, size);
            lines all;
            int stops = 0;
            for (;;) {
                // Shorter than a read: now and then the reader gets the time for one.
                const auto time = stops % 2 == 0 ? limit : limit + 1ms;
                auto line = co_await coflux::timeout(in.read_line(here, {.unterminated = true}), time);
                if (!line.has_value()) {
                    ++stops;
                    continue;
                }
                if (!line->has_value()) break;
                all.emplace_back(**line);
            }
            CO_ASSERT_EQ(all, expected) << size;
            EXPECT_GT(stops, 1);
        }
    }
}
TEST(buffered_reader, keeps_what_it_read_where_a_line_is_stopped_at_any_byte) {
    in_few_schedules(&keeps_what_it_read_where_a_line_is_stopped_at_any_byte);
}

coflux::task<void, coflux::testing::sim_executor>
finds_a_delimiter_that_the_stream_cuts_and_gives_it_with_what_is_before(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const std::string message = "a\r\n\rb\r\n\r\r\n\r\nrest";
    for (std::size_t piece = 1; piece != message.size(); ++piece) {
        memory_source source{.text = message, .piece = piece};
        reader in(source, 16);
        const auto head = co_await in.read_until(here, "\r\n\r\n");
        CO_ASSERT_TRUE(head.has_value());
        EXPECT_EQ(*head, "a\r\n\rb\r\n\r\r\n\r\n");
        std::optional<std::string> left;
        try {
            (void)co_await in.read_until(here, "\r\n\r\n");
        } catch (const coflux::end_of_stream& e) {
            left = e.bytes();
        }
        EXPECT_EQ(left, "rest");
        EXPECT_EQ(as_text(in.buffered()), "rest");
        const auto rest = co_await in.read_line(here, {.unterminated = true});
        EXPECT_EQ(rest, "rest");
        const auto none = co_await in.read_until(here, "x");
        EXPECT_FALSE(none.has_value());
    }
}
TEST(buffered_reader, finds_a_delimiter_that_the_stream_cuts_and_gives_it_with_what_is_before) {
    in_few_schedules(&finds_a_delimiter_that_the_stream_cuts_and_gives_it_with_what_is_before);
}

CO_TEST(buffered_reader, says_that_a_limit_is_exceeded_and_loses_nothing) {
    auto&& here = co_await coflux::context();
    memory_source source{.text = "0123456789\nab\n", .piece = 3};
    reader in(source, 32);
    for (std::size_t limit = 0; limit != 11; ++limit) {
        std::size_t told = 99;
        try {
            (void)co_await in.read_line(here, {.limit = limit});
        } catch (const coflux::limit_exceeded& e) {
            told = e.limit();
            EXPECT_EQ(e.seen(), in.buffered().size());
            EXPECT_EQ(std::string(e.what()), "coflux: no delimiter within the limit of " + std::to_string(limit) +
                                                 " bytes, of " + std::to_string(e.seen()) + " that have come");
        }
        EXPECT_EQ(told, limit);
        EXPECT_LE(in.buffered().size(), limit + 2);  // it reads no more than it needs
    }
    const auto all = co_await in.read_line(here, {.limit = 11});
    EXPECT_EQ(all, "0123456789");
    const auto next = co_await in.read_line(here);
    EXPECT_EQ(next, "ab");
}

CO_TEST(buffered_reader, counts_the_end_of_a_line_in_its_limit_and_asks_a_last_line_for_room_for_one) {
    auto&& here = co_await coflux::context();
    const std::string letters(80, 'x');
    for (const std::size_t limit : {81U, 82U}) {
        memory_source source{.text = letters + "\r\n" + letters};
        reader in(source, 200);
        bool exceeded = false;
        try {
            EXPECT_EQ(co_await in.read_line(here, {.limit = limit}), letters);
            EXPECT_EQ(co_await in.read_line(here, {.limit = 81, .unterminated = true}), letters);
        } catch (const coflux::limit_exceeded&) {
            exceeded = true;
        }
        EXPECT_EQ(exceeded, limit == 81);
        if (!exceeded) continue;
        in.consume(limit);
        EXPECT_EQ(co_await in.read_line(here, {.limit = limit}), "");  // the rest of the line is another one
        bool exceeded_by_the_last = false;
        try {
            (void)co_await in.read_line(here, {.limit = 80, .unterminated = true});
        } catch (const coflux::limit_exceeded&) {
            exceeded_by_the_last = true;
        }
        EXPECT_TRUE(exceeded_by_the_last);
        EXPECT_EQ(in.buffered().size(), 80U);
    }
}
coflux::task<void, coflux::testing::sim_executor> gives_half_a_line_only_where_it_is_asked_for(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const std::string half("ha\0lf", 5);
    for (std::size_t piece = 1; piece != 8; ++piece) {
        memory_source source{.text = "whole\n" + half, .piece = piece};
        reader in(source, 4);
        EXPECT_EQ(co_await in.peek_line(here), "whole");
        EXPECT_EQ(co_await in.read_line(here), "whole");
        for (int i = 0; i < 4; ++i) {  // the same call fails again
            std::string told;
            std::string text;
            try {
                if (i % 2 == 0) {
                    (void)co_await in.read_line(here);
                } else {
                    (void)co_await in.peek_line(here);
                }
            } catch (const coflux::end_of_stream& e) {
                EXPECT_EQ(e.count(), half.size());
                told = e.bytes();
                text = e.what();
            }
            CO_ASSERT_EQ(told, half) << piece;
            EXPECT_EQ(text, "coflux: the stream ended after 5 bytes without a delimiter");
            EXPECT_EQ(as_text(in.buffered()), half);
        }
        EXPECT_EQ(co_await in.peek_line(here, {.unterminated = true}), half);
        EXPECT_EQ(co_await in.read_line(here, {.unterminated = true}), half);
        EXPECT_FALSE(co_await in.read_line(here));
        EXPECT_FALSE(co_await in.read_line(here, {.unterminated = true}));
    }
}
TEST(buffered_reader, gives_half_a_line_only_where_it_is_asked_for) {
    in_few_schedules(&gives_half_a_line_only_where_it_is_asked_for);
}

coflux::task<void, coflux::testing::sim_executor> grows_for_a_line_up_to_its_limit(coflux::environment&) {
    auto&& here = co_await coflux::context();
    for (const std::size_t length : {0U, 6U, 7U, 8U, 9U, 15U, 16U, 31U, 99U}) {
        for (const std::size_t piece : {1U, 3U, 200U}) {
            const std::string line(length, 'x');
            memory_source source{.text = "abcde\n" + line + "\nrest\n", .piece = piece};
            reader in(source, 8);
            EXPECT_EQ(co_await in.read_line(here, {.limit = 100}), "abcde");
            EXPECT_EQ(co_await in.read_line(here, {.limit = 100}), line) << piece;
            EXPECT_LE(in.size(), 100U);
            EXPECT_EQ(co_await in.read_until(here, "\n"), "rest\n");
        }
    }
}
TEST(buffered_reader, grows_for_a_line_up_to_its_limit) {
    in_few_schedules(&grows_for_a_line_up_to_its_limit);
}
CO_TEST(buffered_reader, takes_a_line_of_64_kib_and_none_that_is_longer_unless_it_is_told_to) {
    auto&& here = co_await coflux::context();
    const std::string line(65'535, 'x');
    memory_source source{.text = line + '\n' + line + "x\n"};
    reader in(source);
    EXPECT_TRUE(co_await in.read_line(here) == line);
    bool exceeded = false;
    try {
        (void)co_await in.read_line(here);
    } catch (const coflux::limit_exceeded& e) {
        exceeded = e.limit() == 65'536;
    }
    EXPECT_TRUE(exceeded);
    EXPECT_EQ(in.size(), 65'536U);
    EXPECT_TRUE(co_await in.read_line(here, {.limit = reader::no_limit}) == line + 'x');
}
CO_TEST(buffered_reader, that_cannot_grow_has_all_bytes) {
    auto&& here = co_await coflux::context();
    coflux::testing::failing_resource memory;
    memory_source source{.text = "0123456789\n", .piece = 3};
    reader in(source, 4, &memory);
    memory.fail_at(1);
    bool failed = false;
    try {
        (void)co_await in.read_line(here);
    } catch (const std::bad_alloc&) {
        failed = true;
    }
    EXPECT_TRUE(failed);
    EXPECT_EQ(as_text(in.buffered()), "0123");
    EXPECT_EQ(co_await in.read_line(here), "0123456789");
}

std::string numbered(std::size_t size) {
    std::string s(size, ' ');
    for (std::size_t i = 0; i != size; ++i) s[i] = static_cast<char>('!' + i % 90);
    return s;
}

coflux::task<void, coflux::testing::sim_executor>
reads_exactly_however_the_stream_cuts_it_and_wherever_it_is_stopped(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const std::string all = numbered(40);
    for (const std::size_t wanted : {1, 7, 8, 9, 16, 25, 33}) {
        for (std::size_t piece = 1; piece < 12; ++piece) {
            for (const auto limit : {500us, 1500us, 3500us}) {
                memory_source source{.text = all, .piece = piece, .pause = 1ms};
                reader in(source, 8);
                std::string got(wanted, ' ');
                std::size_t done = 0;
                for (int turn = 0;; ++turn) {
                    const std::span<std::byte> into = bytes_of(got).subspan(done);
                    const bool ended =
                        co_await coflux::timeout(in.read_exactly(here, into), turn % 2 == 0 ? limit : limit + 1ms);
                    if (into.size() <= in.size()) {
                        EXPECT_EQ(in.taken(), ended ? into.size() : 0);
                    }
                    done += in.taken();
                    if (ended) break;
                }
                CO_ASSERT_EQ(done, wanted);
                CO_ASSERT_EQ(got, all.substr(0, wanted));
                std::string rest(all.size() - wanted, ' ');
                co_await in.read_exactly(here, bytes_of(rest));
                CO_ASSERT_EQ(rest, all.substr(wanted));
            }
        }
    }
}
TEST(buffered_reader, reads_exactly_however_the_stream_cuts_it_and_wherever_it_is_stopped) {
    in_few_schedules(&reads_exactly_however_the_stream_cuts_it_and_wherever_it_is_stopped);
}

CO_TEST(buffered_reader, has_taken_nothing_where_a_stop_comes_before_the_call_has_begun) {
    auto&& here = co_await coflux::context();
    memory_source source{.text = numbered(20)};
    reader in(source, 8);
    std::string got(10, ' ');
    co_await in.read_exactly(here, bytes_of(got));
    EXPECT_EQ(in.taken(), 10U);
    EXPECT_FALSE(co_await coflux::timeout(in.read_exactly(here, bytes_of(got)), 0ns));
    EXPECT_EQ(in.taken(), 0U);
}

CO_TEST(buffered_reader, tells_how_much_there_was_where_the_stream_ends_too_early) {
    auto&& here = co_await coflux::context();
    for (const std::size_t there : {0, 1, 7, 8, 9, 15, 20}) {
        memory_source source{.text = numbered(there), .piece = 3};
        reader in(source, 8);
        std::string got(21, ' ');
        std::size_t told = 99;
        try {
            co_await in.read_exactly(here, bytes_of(got));
        } catch (const coflux::end_of_stream& e) {
            told = e.count();
        }
        EXPECT_EQ(told, there);
        // Nothing is lost: bytes in their place, and bytes that are buffered.
        EXPECT_EQ(got.substr(0, in.taken()) + as_text(in.buffered()), source.text);
    }
}

coflux::task<void, coflux::testing::sim_executor> keeps_what_came_before_an_error_of_the_stream(coflux::environment&) {
    auto&& here = co_await coflux::context();
    for (std::size_t at = 0; at <= text.size(); ++at) {
        for (const std::size_t piece : {1, 5, 99}) {
            memory_source source{.text = text, .piece = piece, .fails_at = at};
            reader in(source, 16);
            lines all;
            int errors = 0;
            for (bool ended = false; !ended;) {
                try {
                    const auto line = co_await in.read_line(here, {.unterminated = true});
                    if (line.has_value()) all.emplace_back(*line);
                    ended = !line.has_value();
                } catch (const std::system_error&) {
                    ++errors;
                }
            }
            EXPECT_EQ(errors, 1);
            CO_ASSERT_EQ(all, expected) << at;
        }
    }
}
TEST(buffered_reader, keeps_what_came_before_an_error_of_the_stream) {
    in_few_schedules(&keeps_what_came_before_an_error_of_the_stream);
}

CO_TEST(buffered_reader, shows_bytes_and_leaves_them) {
    auto&& here = co_await coflux::context();
    memory_source source{.text = "abcdef", .piece = 2, .pause = 1ms};
    reader in(source, 8);
    const bool in_time = (co_await coflux::timeout(in.peek(here, 5), 2500us)).has_value();
    EXPECT_FALSE(in_time);
    EXPECT_EQ(as_text(in.buffered()), "abcd");
    const auto five = co_await in.peek(here, 5);
    EXPECT_EQ(as_text(five), "abcdef");
    in.consume(2);
    const auto rest = co_await in.peek(here, 8);  // the stream ends
    EXPECT_EQ(as_text(rest), "cdef");
    std::array<std::byte, 3> three{};
    const std::size_t n = co_await in.read_some(here, three);
    EXPECT_EQ(as_text(std::span(three).first(n)), "cde");
    in.consume(1);
    const auto none = co_await in.peek(here);
    EXPECT_TRUE(none.empty());
}

CO_TEST(buffered_reader, says_whether_it_has_a_line) {
    auto&& here = co_await coflux::context();
    memory_source source{.text = "ab\nc\nd", .piece = 4};
    reader in(source, 8);
    EXPECT_FALSE(in.has_line());
    (void)co_await in.read_line(here);
    EXPECT_FALSE(in.has_line());  // a part of one
    (void)co_await in.peek(here, 2);
    EXPECT_TRUE(in.has_line());
}

CO_TEST(buffered_reader, shows_a_line_and_leaves_it) {
    auto&& here = co_await coflux::context();
    memory_source source{.text = "ab\r\nc", .piece = 1, .pause = 1ms};
    reader in(source, 8);
    EXPECT_FALSE((co_await coflux::timeout(in.peek_line(here), 2500us)).has_value());
    for (int i = 0; i < 2; ++i) {
        const auto shown = co_await in.peek_line(here);
        EXPECT_EQ(shown, "ab");
    }
    EXPECT_TRUE(in.has_line());
    const auto line = co_await in.read_line(here);
    EXPECT_EQ(line, "ab");
    const auto last = co_await in.peek_line(here, {.unterminated = true});
    EXPECT_EQ(last, "c");
    EXPECT_EQ(as_text(in.buffered()), "c");
    (void)co_await in.read_line(here, {.unterminated = true});
    const auto none = co_await in.peek_line(here);
    EXPECT_FALSE(none.has_value());
}

coflux::fork<void, coflux::testing::sim_executor> sends_numbers(coflux::environment&, coflux::channel<int[4]>* to) {
    for (int i = 0; i < 6; ++i) {
        co_await 2ms;
        (void)co_await to->send(i);
    }
    to->close();
}
/// Lines and numbers come at the same times: in a select of read_line() the line of a loser would be gone.
CO_TEST(buffered_reader, loses_no_line_that_is_peeked_in_a_select) {
    auto&& here = co_await coflux::context();
    memory_source source{.text = "a\nb\nc\nd\ne\nf\n", .piece = 1, .pause = 1ms};
    reader in(source, 8);
    coflux::channel<int[4]> numbers;
    auto sender = sends_numbers(here, &numbers);
    std::string lines_got;
    int numbers_got = 0;
    for (bool ended = false; !ended;) {
        auto next = co_await coflux::select(in.peek_line(here), numbers.receive());
        if (next.index() == 1) {
            if (const auto n = next.get<1>(); n.has_value()) {
                ++numbers_got;
                continue;
            }
        }
        const auto line = co_await in.read_line(here);
        if (line.has_value()) lines_got += *line;
        ended = !line.has_value();
    }
    EXPECT_EQ(lines_got, "abcdef");
    EXPECT_EQ(numbers_got, 6);
    co_await std::move(sender);
}

CO_TEST(buffered_reader, reads_some_bytes_past_its_buffer_where_that_is_smaller) {
    auto&& here = co_await coflux::context();
    memory_source source{.text = numbered(30), .pause = 1ms};
    reader in(source, 8);
    std::array<std::byte, 3> three{};
    EXPECT_FALSE((co_await coflux::timeout(in.read_some(here, three), 500us)).has_value());
    std::size_t n = co_await in.read_some(here, three);
    EXPECT_EQ(n, 3U);
    EXPECT_EQ(in.buffered().size(), 5U);
    std::array<std::byte, 20> twenty{};
    n = co_await in.read_some(here, twenty);
    EXPECT_EQ(n, 5U);  // what is there
    n = co_await in.read_some(here, twenty);
    EXPECT_EQ(n, 20U);
    EXPECT_EQ(source.reads, 2U);
    n = co_await in.read_some(here, std::span<std::byte>());
    EXPECT_EQ(n, 0U);
    n = co_await in.read_some(here, twenty);
    EXPECT_EQ(as_text(std::span(twenty).first(n)), source.text.substr(28));
    n = co_await in.read_some(here, twenty);
    EXPECT_EQ(n, 0U);
}

CO_TEST(buffered_reader, is_a_source_of_another) {
    auto&& here = co_await coflux::context();
    memory_source source{.text = text, .piece = 4};
    reader inner(source, 13);
    buffered_reader<reader> outer(inner, 12);
    lines all;
    while (const auto line = co_await outer.read_line(here, {.unterminated = true})) all.emplace_back(*line);
    EXPECT_EQ(all, expected);
}

CO_TEST(buffered_reader, takes_one_block_and_its_frames) {
    auto&& here = co_await coflux::context();
    coflux::counting_resource memory;
    memory_source source{.text = text, .piece = 3};
    {
        reader in(source, 16, &memory);
        const coflux::testing::alloc_guard none(memory);
        const lines all = co_await all_lines(here, in);
        EXPECT_EQ(all, expected);
    }
    EXPECT_EQ(memory.allocations(), 1U);
    EXPECT_EQ(memory.live(), 0U);
}

CO_TEST(buffered_reader, refuses_what_cannot_be) {
    auto&& here = co_await coflux::context();
    memory_source source{.text = "ab"};
    EXPECT_THROW(reader(source, 0), std::invalid_argument);
    reader in(source, 8);
    int refused = 0;
    try {
        (void)co_await in.read_until(here, "");
    } catch (const std::invalid_argument&) {
        ++refused;
    }
    try {
        (void)co_await in.peek(here, 9);
    } catch (const std::invalid_argument&) {
        ++refused;
    }
    EXPECT_EQ(refused, 2);
    EXPECT_EQ(in.source().reads, 0U);
}

/// Threads of other tests may be there.
class buffered_reader_death : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(buffered_reader_death, of_bytes_that_are_not_there) {
    memory_source source{.text = "ab"};
    reader in(source, 8);
    EXPECT_DEATH(in.consume(1), "consume\\(\\) of 1 bytes where 0 are buffered");
}

struct lying_source {
    coflux::call<std::size_t> read_some(coflux::environment&, std::span<std::byte> into) { co_return into.size() + 1; }
};
coflux::task<void, coflux::testing::manual_executor> reads_lies(coflux::environment&) {
    auto&& here = co_await coflux::context();
    lying_source source;
    buffered_reader in(source, 8);
    (void)co_await in.read_line(here);
}
TEST_F(buffered_reader_death, of_a_source_that_gives_more_than_there_is_room_for) {
    coflux::testing::manual_executor on;
    auto env = coflux::make_environment(on);
    EXPECT_DEATH(on.run(reads_lies(env)), "a byte_source gave 9 bytes for a room of 8");
}

/// Never gives a byte.
struct silent_source {
    coflux::manual_reset_event never;
    coflux::call<std::size_t> read_some(coflux::environment&, std::span<std::byte>) {
        co_await never.wait();
        co_return 0;
    }
};
using silent_reader = buffered_reader<silent_source>;
coflux::fork<void, coflux::testing::manual_executor> reads_for_ever(coflux::environment&, silent_reader* in) {
    auto&& here = co_await coflux::context();
    (void)co_await in->read_line(here);
}
enum class misuse { dies, reads, consumes };
coflux::task<void, coflux::testing::manual_executor> is_misused(coflux::environment&, misuse how) {
    auto&& here = co_await coflux::context();
    silent_source source;
    std::optional<silent_reader> in;
    in.emplace(source, 8U);
    auto reading = reads_for_ever(here, &*in);
    co_await coflux::this_coroutine::yield();
    if (how == misuse::reads) (void)co_await in->peek(here);
    if (how == misuse::consumes) in->consume(0);
    in.reset();
}
TEST_F(buffered_reader_death, while_an_operation_waits) {
    coflux::testing::manual_executor on;
    auto env = coflux::make_environment(on);
    EXPECT_DEATH(on.run(is_misused(env, misuse::dies)), "a buffered_reader dies while an operation of it waits");
    const char* const is_used = "a buffered_reader is used while an operation of it waits";
    EXPECT_DEATH(on.run(is_misused(env, misuse::reads)), is_used);
    EXPECT_DEATH(on.run(is_misused(env, misuse::consumes)), is_used);
}

coflux::fork<void, coflux::worker_executor> sends_slowly(coflux::environment&, coflux::tcp_stream* to) {
    for (const char c : text) {
        co_await to->write_all(std::string_view(&c, 1));
        co_await coflux::this_coroutine::yield();
    }
    to->shutdown_send();
}
coflux::task<void, coflux::worker_executor> reads_lines_of_a_connection(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto pair = co_await connected(here);
    auto sender = sends_slowly(here, &pair.far);
    buffered_reader in(pair.near, 16);
    lines all;
    for (;;) {
        const auto line = co_await coflux::timeout(in.read_line(here, {.unterminated = true}), 20us);
        if (!line.has_value()) continue;
        if (!line->has_value()) break;
        all.emplace_back(**line);
    }
    EXPECT_EQ(all, expected);
    co_await std::move(sender);
}
TEST(buffered_reader, reads_the_lines_of_a_connection_whatever_stops_it) {
    coflux::worker_executor worker;
    auto env = coflux::make_environment(worker);
    reads_lines_of_a_connection(env).get();
}

}  // namespace

#include <coflux/io/pipe.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "../../../src/os/fs/pipe.hpp"
#include "connected.hpp"
#include "signal_count.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::make_pipe;
using coflux_test::bytes_of;
using coflux_test::on_a_worker;
using coflux_test::open_descriptors;
using coflux_test::signal_count;
using coflux_test::signals;
using pool = coflux::thread_pool_executor;
using worker = coflux::worker_executor;

/// Event sources and alarms that executors may make at a later wait than the first.
constexpr std::size_t of_executors = 9;

template <typename E>
coflux::fork<void, E> writes(coflux::environment&, coflux::pipe_writer to, std::string text) {
    co_await to.write_all(text);
    to.close();  // a parameter dies when the result is taken
}
template <typename E>
coflux::fork<std::string, E> reads_all(coflux::environment&, coflux::pipe_reader from) {
    std::string all;
    std::string some(5000, ' ');
    while (const std::size_t n = co_await from.read_some(bytes_of(some))) all.append(some, 0, n);
    co_return all;
}
template <typename A, typename B>
coflux::task<void, pool> carries(coflux::environment&, std::size_t size) {
    auto&& here = co_await coflux::context();
    std::string text(size, ' ');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i * 31 % 26);
    auto p = make_pipe();
    auto reader = reads_all<A>(here, std::move(p.reader));
    auto writer = writes<B>(here, std::move(p.writer), text);
    EXPECT_TRUE(co_await std::move(reader) == text);  // and ends with the writer
    co_await std::move(writer);
}

TEST(pipe, carries_more_than_it_holds_between_executors) {
    worker one;
    coflux::shard_group shards{1};
    pool threads{2};
    auto env = coflux::make_environment(threads, one, shards[0]);
    const std::size_t before = open_descriptors();
    for (int i = 0; i < 5; ++i) {
        carries<pool, pool>(env, 1'000'000).get();
        carries<worker, coflux::shard>(env, 1'000'000).get();
        carries<pool, worker>(env, 1'000'000).get();
        carries<worker, worker>(env, 1'000'000).get();
    }
    EXPECT_LE(open_descriptors(), before + of_executors);
}

coflux::task<void, worker> reads_and_writes(coflux::environment&) {
    auto p = make_pipe();
    EXPECT_EQ(co_await p.writer.write_some("abcdef"), 6U);
    std::string two(2, ' ');
    co_await p.reader.read_exactly(bytes_of(two));
    EXPECT_EQ(two, "ab");
    std::string more(10, ' ');
    EXPECT_EQ(co_await p.reader.read_some(bytes_of(more)), 4U);
    const std::array<std::string, 2> words{"xy", "z"};
    const std::array parts{std::as_bytes(std::span(words[0])), std::as_bytes(std::span(words[1]))};
    co_await p.writer.write_all(parts);
    co_await p.reader.wait_readable();
    const std::array into{bytes_of(two), bytes_of(more)};
    EXPECT_EQ(co_await p.reader.read_some(into), 3U);
    EXPECT_EQ(two + more.substr(0, 1), "xyz");

    co_await p.writer.write_all("a");
    p.writer.close();
    try {
        co_await p.reader.read_exactly(bytes_of(two));
        ADD_FAILURE();
    } catch (const coflux::end_of_stream& e) {
        EXPECT_EQ(e.count(), 1U);
    }
    const auto end = co_await coflux::as_result(p.reader.read_exactly(bytes_of(two)));
    EXPECT_EQ(end.error(), std::errc::no_message_available);
    EXPECT_EQ(co_await p.reader.read_some(bytes_of(two)), 0U);
}
TEST(pipe, reads_and_writes_as_a_stream) {
    on_a_worker(reads_and_writes);
}

// --- no reader -------------------------------------------------------------------------------------------------------

coflux::fork<std::error_code, worker> writes_until_error(coflux::environment&, coflux::pipe_writer* to) {
    const std::string much(200'000, 'x');
    const auto sent = co_await coflux::as_result(to->write_all(much));
    co_return sent.error();
}
coflux::task<void, worker> loses_its_reader(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = make_pipe();
    auto waits = writes_until_error(here, &p.writer);
    co_await coflux::this_coroutine::yield();
    p.reader.close();
    EXPECT_EQ(co_await std::move(waits), std::errc::broken_pipe);
    try {
        (void)co_await p.writer.write_some("x");
        ADD_FAILURE();
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::broken_pipe);
        EXPECT_NE(std::string_view(e.what()).find("write to a pipe"), std::string_view::npos);
    }
    const std::string ab = "ab";
    const std::array parts{std::as_bytes(std::span(ab))};
    const auto sent = co_await coflux::as_result(p.writer.write_all(parts));
    EXPECT_EQ(sent.error(), std::errc::broken_pipe);
}
TEST(pipe_without_a_reader, is_an_error_and_never_a_signal) {
    const signal_count counted;
    on_a_worker(loses_its_reader);
    EXPECT_EQ(signals, 0);
}

/// As where the system does not know RWF_NOSIGNAL.
std::ptrdiff_t writes_one_byte(int to) {
    char x = 'x';
    const coflux::detail::os::buffer one{&x, 1};
    return coflux::detail::os::write_with_signal_blocked(to, &one, 1);
}
bool waits_for_delivery() {
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGPIPE) == 1;
}
TEST(pipe_without_a_reader, is_no_signal_for_an_older_system_either) {
    const signal_count counted;
    auto p = make_pipe();
    EXPECT_EQ(writes_one_byte(p.writer.native_handle()), 1);
    p.reader.close();
    EXPECT_EQ(writes_one_byte(p.writer.native_handle()), -EPIPE);
    EXPECT_EQ(signals, 0);

    // The user's own block stays, and so does a signal that waits there.
    sigset_t blocked;
    sigset_t before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    EXPECT_EQ(writes_one_byte(p.writer.native_handle()), -EPIPE);
    EXPECT_FALSE(waits_for_delivery());
    pthread_kill(pthread_self(), SIGPIPE);
    EXPECT_EQ(writes_one_byte(p.writer.native_handle()), -EPIPE);
    EXPECT_TRUE(waits_for_delivery());
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    EXPECT_EQ(signals, 1);
    EXPECT_EQ(writes_one_byte(p.writer.native_handle()), -EPIPE);
    EXPECT_EQ(signals, 1);
}

// --- no descriptors --------------------------------------------------------------------------------------------------

/// Each asks for two where there is one.
bool opens_without_room() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const int next = dup(0);
    close(next);
    rlimit tight = limit;
    tight.rlim_cur = static_cast<rlim_t>(next) + 1;
    setrlimit(RLIMIT_NOFILE, &tight);
    int refused = 0;
    const auto opens = [&](auto open) {
        try {
            open();
        } catch (const std::system_error& e) {
            refused += e.code() == std::errc::too_many_files_open ? 1 : 0;
        }
    };
    opens([] { (void)make_pipe(); });
    opens([] { (void)coflux::unix_stream::pair(); });
    opens([] { (void)coflux::unix_datagram::pair(); });
    opens([] {
        const coflux::udp_socket one(coflux::endpoint::loopback(0));
        const coflux::udp_socket two(coflux::endpoint::loopback(0));
    });
    setrlimit(RLIMIT_NOFILE, &limit);  // UBSan needs descriptors for its checks
    const int after = dup(0);
    close(after);
    return refused == 4 && after == next;
}
TEST(pipe_death, and_sockets_leave_no_descriptor_where_there_is_no_room_for_both_ends) {
    if (coflux_test::checks_need_descriptors) GTEST_SKIP() << "a check of UBSan opens a pipe";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(std::_Exit(opens_without_room() ? 7 : 1), testing::ExitedWithCode(7), "");
}

// --- ends of others --------------------------------------------------------------------------------------------------

coflux::task<void, worker> adopts(coflux::environment&) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    auto reader = coflux::pipe_reader::adopt(coflux::owned_descriptor(ends[0]));
    auto writer = coflux::pipe_writer::adopt(coflux::owned_descriptor(ends[1]));
    std::string two(2, ' ');
    EXPECT_FALSE((co_await coflux::timeout(reader.read_some(bytes_of(two)), 1ms)).has_value());  // it does not block
    co_await writer.write_all("ab");
    co_await reader.read_exactly(bytes_of(two));
    EXPECT_EQ(two, "ab");
    EXPECT_THROW((void)coflux::pipe_reader::adopt(coflux::owned_descriptor(-1)), std::system_error);
}
TEST(pipe, adopts_the_ends_of_others) {
    on_a_worker(adopts);
}
TEST(pipe, adopts_no_end_of_the_other_direction) {
    const std::size_t before = open_descriptors();
    const auto adopts_the_other = [](auto adopt, int end) {
        std::array<int, 2> ends{};
        EXPECT_EQ(pipe(ends.data()), 0);
        coflux::owned_descriptor both[] = {coflux::owned_descriptor(ends[0]), coflux::owned_descriptor(ends[1])};
        try {
            (void)adopt(std::move(both[end]));
            ADD_FAILURE();
        } catch (const std::system_error& e) {
            EXPECT_EQ(e.code(), std::errc::bad_file_descriptor) << e.what();
        }
    };
    adopts_the_other(&coflux::pipe_reader::adopt, 1);
    adopts_the_other(&coflux::pipe_writer::adopt, 0);
    EXPECT_LE(open_descriptors(), before);
}
TEST(pipe, adopts_no_file) {
    const std::size_t before = open_descriptors();
    for (const char* const path : {"/proc/self/exe", "/dev/null"}) {
        try {
            (void)coflux::pipe_reader::adopt(coflux::owned_descriptor(open(path, O_RDONLY | O_CLOEXEC)));
            ADD_FAILURE();
        } catch (const std::system_error& e) {
            EXPECT_EQ(e.code(), std::errc::invalid_argument);
            EXPECT_NE(std::string(e.what()).find("open it as a coflux::file"), std::string::npos) << e.what();
        }
    }
    EXPECT_LE(open_descriptors(), before);
}

TEST(pipe, is_not_inherited) {
    const auto p = make_pipe();
    EXPECT_NE(fcntl(p.reader.native_handle(), F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_NE(fcntl(p.writer.native_handle(), F_GETFD) & FD_CLOEXEC, 0);
}

// --- reads that wait -------------------------------------------------------------------------------------------------

using result = coflux::io_result<std::size_t>;

template <typename E>
coflux::fork<result, E> fills(coflux::environment&, coflux::pipe_reader* from, std::string* into) {
    co_return co_await coflux::as_result(from->read_exactly(bytes_of(*into)));
}
template <typename E>
coflux::fork<result, E> gets(coflux::environment&, coflux::pipe_reader* from, std::string* into) {
    co_return co_await coflux::as_result(from->read_some(bytes_of(*into)));
}

/// The second read of each kind is one that the event source may make itself.
template <typename E>
coflux::task<void, E> waits_for_parts(coflux::environment&, bool adopted) {
    auto&& here = co_await coflux::context();
    auto p = make_pipe();
    if (adopted) {
        coflux::owned_descriptor other(dup(p.reader.native_handle()));
        p.reader = coflux::pipe_reader::adopt(std::move(other));
    }
    constexpr std::array parts{"a", "bcd", "efgh"};
    for (int i = 0; i < 3; ++i) {
        std::string six(6, ' ');
        auto whole = fills<E>(here, &p.reader, &six);
        for (const char* const part : parts) {
            co_await coflux::sleep_for(200us);
            co_await p.writer.write_all(part);
        }
        result got = co_await std::move(whole);
        EXPECT_EQ(got.value(), 6U);
        EXPECT_EQ(six, "abcdef");
        got = co_await gets<E>(here, &p.reader, &six);
        EXPECT_EQ(got.value(), 2U);
        EXPECT_EQ(six.substr(0, 2), "gh");
        auto some = gets<E>(here, &p.reader, &six);
        co_await coflux::sleep_for(200us);
        co_await p.writer.write_all("ijklmnop");
        got = co_await std::move(some);
        EXPECT_EQ(got.value(), 6U);
        EXPECT_EQ(six, "ijklmn");
        EXPECT_EQ(co_await p.reader.read_some(bytes_of(six)), 2U);
    }
    std::string two(2, ' ');
    auto cut = fills<E>(here, &p.reader, &two);
    co_await coflux::sleep_for(200us);
    co_await p.writer.write_all("a");
    co_await coflux::sleep_for(200us);
    p.writer.close();
    result last = co_await std::move(cut);
    EXPECT_EQ(last.error(), std::errc::no_message_available);
    last = co_await gets<E>(here, &p.reader, &two);
    EXPECT_EQ(last.value(), 0U);
}
TEST(pipe_wait, gives_parts_and_the_end_on_a_worker) {
    for (const bool adopted : {false, true}) on_a_worker(waits_for_parts<worker>, adopted);
}
TEST(pipe_wait, gives_parts_and_the_end_on_a_pool) {
    pool on{2};
    auto env = coflux::make_environment(on);
    for (const bool adopted : {false, true}) waits_for_parts<pool>(env, adopted).get();
}

coflux::fork<void, worker> reads_on_the_worker(coflux::environment&, coflux::pipe_ends* p) {
    std::string two(2, ' ');
    for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE((co_await coflux::timeout(p->reader.read_some(bytes_of(two)), 200us)).has_value());
        co_await p->writer.write_all("ab");
        EXPECT_EQ(co_await p->reader.read_some(bytes_of(two)), 2U);
    }
    co_await p->writer.write_all("abc");
}
coflux::task<void, pool> moves_between_executors(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = make_pipe();
    std::string two(2, ' ');
    for (int i = 0; i < 3; ++i) {
        co_await reads_on_the_worker(here, &p);
        EXPECT_EQ(co_await p.reader.read_some(bytes_of(two)), 2U);
        EXPECT_EQ(co_await p.reader.read_some(bytes_of(two)), 1U);
        EXPECT_FALSE((co_await coflux::timeout(p.reader.read_some(bytes_of(two)), 200us)).has_value());
        const std::array into{bytes_of(two)};
        EXPECT_FALSE((co_await coflux::timeout(p.reader.read_some(into), 200us)).has_value());
        EXPECT_FALSE(co_await coflux::timeout(p.reader.read_exactly(bytes_of(two)), 200us));
    }
}
TEST(pipe_wait, goes_on_where_the_reads_move_to_another_executor) {
    worker one;
    pool threads{1};
    auto env = coflux::make_environment(threads, one);
    moves_between_executors(env).get();
}

/// A ring gives up to poll for a request that others have left nothing for 128 times.
coflux::task<void, worker> shares_its_end(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = make_pipe();
    std::string two(2, ' ');
    for (int i = 0; i < 2; ++i) {
        auto some = gets<worker>(here, &p.reader, &two);
        co_await coflux::this_coroutine::yield();
        char taken = ' ';
        bool others_have_it = true;  // a plain ring reads when the write returns
        for (int k = 0; k < 300 && others_have_it; ++k) {
            EXPECT_EQ(write(p.writer.native_handle(), "x", 1), 1);
            others_have_it = read(p.reader.native_handle(), &taken, 1) == 1;
            co_await coflux::sleep_for(1us);  // until a look
        }
        if (others_have_it) co_await p.writer.write_all("ab");
        const result got = co_await std::move(some);
        EXPECT_EQ(two.substr(0, got.value()), others_have_it ? "ab" : "x");
    }
}
TEST(pipe_wait, goes_on_where_others_read_the_same_end) {
    on_a_worker(shares_its_end);
}

// --- stop ------------------------------------------------------------------------------------------------------------

template <typename E>
coflux::task<void, E> stops(coflux::environment&) {
    auto p = make_pipe();
    std::string two(2, ' ');
    for (int i = 0; i < 20; ++i) {
        const auto nothing = co_await coflux::timeout(p.reader.read_some(bytes_of(two)), 200us);
        EXPECT_FALSE(nothing.has_value());
        EXPECT_FALSE(co_await coflux::timeout(p.reader.wait_readable(), 200us));
        co_await p.writer.write_all("ab");
        EXPECT_EQ(co_await p.reader.read_some(bytes_of(two)), 2U);
        EXPECT_EQ(two, "ab");
    }
    for (bool has_room = true; has_room;) {
        const auto written = co_await coflux::timeout(p.writer.write_some("0123456789abcdef"), 1ms);
        has_room = written.has_value();
    }
    std::string all(100'000, ' ');
    const std::size_t n = co_await p.reader.read_some(bytes_of(all));
    EXPECT_EQ(n % 16, 0U);  // the write that was stopped has written nothing
    EXPECT_EQ(co_await p.writer.write_some("0123456789abcdef"), 16U);
}
TEST(pipe_stop, loses_nothing_of_some_on_a_worker) {
    on_a_worker(stops<worker>);
}
TEST(pipe_stop, loses_nothing_of_some_on_a_pool) {
    pool on{2};
    auto env = coflux::make_environment(on);
    stops<pool>(env).get();
}

}  // namespace

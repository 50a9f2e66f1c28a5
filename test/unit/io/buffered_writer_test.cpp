#include <coflux/io/buffered_writer.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/alloc_guard.hpp>
#include <coflux/testing/gtest.hpp>

#include "connected.hpp"
#include "memory_streams.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::buffered_writer;
using coflux_test::as_bytes;
using coflux_test::as_text;
using coflux_test::bytes_of;
using coflux_test::connected;
using coflux_test::in_few_schedules;
using coflux_test::memory_sink;
using writer = buffered_writer<memory_sink>;

const std::string words[] = {"a", "bc", "def", "", "0123456789abcdefghijklmnopqrstuvwxyz", "ghij", "klmnopqr", "s"};
std::string all_words() {
    std::string all;
    for (const std::string& w : words) all += w;
    return all;
}

coflux::task<void, coflux::testing::sim_executor>
sends_all_in_order_however_little_the_stream_takes(coflux::environment&) {
    auto&& here = co_await coflux::context();
    for (std::size_t size = 1; size != 20; ++size) {
        for (std::size_t piece = 1; piece != 20; ++piece) {
            memory_sink sink{.piece = piece};
            writer out(sink, size);
            for (const std::string& w : words) co_await out.write_all(here, w);
            EXPECT_LE(out.unflushed().size(), size);
            co_await out.flush(here);
            CO_ASSERT_EQ(sink.got, all_words());
            EXPECT_TRUE(out.unflushed().empty());
        }
    }
}
TEST(buffered_writer, sends_all_in_order_however_little_the_stream_takes) {
    in_few_schedules(&sends_all_in_order_however_little_the_stream_takes);
}

CO_TEST(buffered_writer, sends_when_its_buffer_is_full_and_not_before) {
    auto&& here = co_await coflux::context();
    memory_sink sink;
    writer out(sink, 8);
    co_await out.write_all(here, "12345");
    co_await out.write_all(here, "678");
    EXPECT_EQ(sink.writes, 0U);
    EXPECT_EQ(out.write("9"), 0U);
    co_await out.write_all(here, "9");
    EXPECT_EQ(sink.writes, 1U);
    EXPECT_EQ(sink.got, "12345678");
    EXPECT_EQ(out.write("abcdefghi"), 7U);
    const std::size_t n = co_await out.write_some(here, as_bytes("hi"));
    EXPECT_EQ(n, 2U);
    EXPECT_EQ(as_text(out.unflushed()), "hi");
    co_await out.flush(here);
    co_await out.flush(here);
    EXPECT_EQ(sink.got, "123456789abcdefghi");
    EXPECT_EQ(sink.writes, 3U);
}

CO_TEST(buffered_writer, does_not_copy_what_its_buffer_cannot_hold) {
    auto&& here = co_await coflux::context();
    memory_sink sink;
    writer out(sink, 8);
    co_await out.write_all(here, "123");
    co_await out.write_all(here, std::string(1000, 'x'));
    EXPECT_EQ(sink.writes, 2U);  // the full buffer, and the rest
    EXPECT_EQ(sink.got.size(), 1003U);
    EXPECT_TRUE(out.unflushed().empty());
}

coflux::task<void, coflux::testing::sim_executor> goes_on_where_it_was_stopped(coflux::environment&) {
    auto&& here = co_await coflux::context();
    for (const std::size_t size : {1, 5, 8, 13}) {
        for (std::size_t piece = 1; piece != 10; ++piece) {
            for (const auto limit : {500us, 1500us, 3500us}) {
                memory_sink sink{.piece = piece, .pause = 1ms};
                writer out(sink, size);
                int turn = 0;
                const auto next = [&] { return turn++ % 2 == 0 ? limit : limit + 1ms; };
                for (const std::string& w : words) {
                    std::size_t done = 0;
                    for (bool ended = false; !ended;) {
                        ended = co_await coflux::timeout(out.write_all(here, as_bytes(w).subspan(done)), next());
                        done += out.taken();
                    }
                    CO_ASSERT_EQ(done, w.size());
                }
                while (!co_await coflux::timeout(out.flush(here), next())) {
                    EXPECT_EQ(sink.got + as_text(out.unflushed()), all_words());
                }
                CO_ASSERT_EQ(sink.got, all_words());
            }
        }
    }
}
TEST(buffered_writer, goes_on_where_it_was_stopped) {
    in_few_schedules(&goes_on_where_it_was_stopped);
}

CO_TEST(buffered_writer, has_taken_nothing_where_a_stop_comes_before_the_call_has_begun) {
    auto&& here = co_await coflux::context();
    memory_sink sink;
    writer out(sink, 8);
    co_await out.write_all(here, "12345");
    EXPECT_EQ(out.taken(), 5U);
    EXPECT_FALSE(co_await coflux::timeout(out.write_all(here, "678"), 0ns));
    EXPECT_EQ(out.taken(), 0U);
    co_await out.flush(here);
    EXPECT_EQ(sink.got, "12345");
}

coflux::task<void, coflux::testing::sim_executor> goes_on_where_a_send_failed(coflux::environment&) {
    auto&& here = co_await coflux::context();
    for (const std::size_t size : {1, 5, 8}) {
        for (std::size_t at = 0; at != all_words().size(); ++at) {
            memory_sink sink{.piece = 3, .fails_at = at};
            writer out(sink, size);
            int errors = 0;
            for (const std::string& w : words) {
                std::size_t done = 0;
                do {
                    try {
                        co_await out.write_all(here, as_bytes(w).subspan(done));
                    } catch (const std::system_error&) {
                        ++errors;
                    }
                    done += out.taken();
                } while (done != w.size());
            }
            for (bool ended = false; !ended;) {
                try {
                    co_await out.flush(here);
                    ended = true;
                } catch (const std::system_error&) {
                    ++errors;
                }
            }
            EXPECT_EQ(errors, 1);
            CO_ASSERT_EQ(sink.got, all_words());
        }
    }
}
TEST(buffered_writer, goes_on_where_a_send_failed) {
    in_few_schedules(&goes_on_where_a_send_failed);
}

// --- its death -------------------------------------------------------------------------------------------------------

/// Threads of other tests may be there.
class buffered_writer_death : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};
/// Without NDEBUG `run` ends the process with `text`, else it prints that.
template <typename F>
void expect_forgotten(const F& run, const char* text) {
#ifdef NDEBUG
    testing::internal::CaptureStderr();
    run();
    const std::string printed = testing::internal::GetCapturedStderr();
    EXPECT_NE(printed.find(text), std::string::npos) << printed;
#else
    EXPECT_DEATH(run(), text);
#endif
}

coflux::call<void> leaves_bytes(coflux::environment&, memory_sink& sink) {
    auto&& here = co_await coflux::context();
    writer out(sink, 8);
    co_await out.write_all(here, "12345");
}
coflux::task<void, coflux::testing::manual_executor> forgets(coflux::environment&) {
    auto&& here = co_await coflux::context();
    memory_sink sink;
    co_await leaves_bytes(here, sink);
}
TEST_F(buffered_writer_death, with_bytes_that_were_not_sent_is_refused) {
    coflux::testing::manual_executor on;
    auto env = coflux::make_environment(on);
    expect_forgotten([&] { on.run(forgets(env)); }, "with 5 bytes that were not sent");
}
TEST_F(buffered_writer_death, names_the_place_where_it_was_made) {
    coflux::testing::manual_executor on;
    auto env = coflux::make_environment(on);
    expect_forgotten([&] { on.run(forgets(env)); }, "a buffered_writer made at ");
    expect_forgotten([&] { on.run(forgets(env)); }, "buffered_writer_test.cpp:");
}

enum class later { written, sent };
coflux::task<void, coflux::testing::manual_executor> forgets_after_an_error(coflux::environment&, later what) {
    auto&& here = co_await coflux::context();
    memory_sink sink{.fails_at = 0};
    writer out(sink, 8);
    EXPECT_EQ(out.write("12345"), 5U);
    const auto failed = co_await coflux::as_outcome(out.flush(here));
    EXPECT_TRUE(failed.has_error());
    if (what == later::sent) {
        co_await out.write_all(here, "6789");
        EXPECT_EQ(sink.got, "12345678");
    } else {
        EXPECT_EQ(out.write("6"), 1U);
    }
}
TEST_F(buffered_writer_death, is_refused_where_bytes_came_after_a_send_that_failed) {
    coflux::testing::manual_executor on;
    auto env = coflux::make_environment(on);
    expect_forgotten([&] { on.run(forgets_after_an_error(env, later::sent)); }, "with 1 bytes that were not sent");
    expect_forgotten([&] { on.run(forgets_after_an_error(env, later::written)); }, "with 6 bytes that were not sent");
}

/// A stop of one coroutine destroys another one's writer on the same thread, in the usual way.
struct forgetful {
    memory_sink sink;
    ~forgetful() {
        coflux::testing::manual_executor on;
        auto env = coflux::make_environment(on);
        on.run(forgets(env));
    }
};
coflux::call<void> stops_with_a_forgetful(coflux::environment&) {
    const forgetful local;
    co_await coflux::this_coroutine::stop();
}
coflux::task<void, coflux::testing::manual_executor> stops_around(coflux::environment&) {
    auto&& here = co_await coflux::context();
    (void)co_await coflux::as_outcome(stops_with_a_forgetful(here));
}
TEST_F(buffered_writer_death, is_refused_though_another_coroutine_is_stopped) {
    coflux::testing::manual_executor on;
    auto env = coflux::make_environment(on);
    expect_forgotten([&] { on.run(stops_around(env)); }, "with 5 bytes that were not sent");
}

/// Never takes a byte.
struct stuck_sink {
    coflux::manual_reset_event never;
    coflux::call<std::size_t> write_some(coflux::environment&, std::span<const std::byte> from) {
        co_await never.wait();
        co_return from.size();
    }
};
using stuck_writer = coflux::buffered_writer<stuck_sink>;
coflux::fork<void, coflux::testing::manual_executor> flushes_for_ever(coflux::environment&, stuck_writer* out) {
    auto&& here = co_await coflux::context();
    co_await out->flush(here);
}
enum class misuse { dies, writes };
coflux::task<void, coflux::testing::manual_executor> is_misused(coflux::environment&, misuse how) {
    auto&& here = co_await coflux::context();
    stuck_sink sink;
    std::optional<stuck_writer> out;
    out.emplace(sink, 8U);
    EXPECT_EQ(out->write("12345"), 5U);
    auto flushing = flushes_for_ever(here, &*out);
    co_await coflux::this_coroutine::yield();
    if (how == misuse::writes) (void)out->write("6");
    out.reset();
}
TEST_F(buffered_writer_death, while_an_operation_waits) {
    coflux::testing::manual_executor on;
    auto env = coflux::make_environment(on);
    EXPECT_DEATH(on.run(is_misused(env, misuse::dies)), "a buffered_writer dies while an operation of it waits");
    EXPECT_DEATH(on.run(is_misused(env, misuse::writes)), "a buffered_writer is used while an operation of it waits");
}

coflux::call<void> waits_with_bytes(coflux::environment&, memory_sink& sink) {
    writer out(sink, 8);
    EXPECT_EQ(out.write("12345"), 5U);
    co_await 1h;
}
coflux::call<void> fails_with_bytes(coflux::environment&, memory_sink& sink) {
    writer out(sink, 8);
    EXPECT_EQ(out.write("12345"), 5U);
    throw std::runtime_error("another");
    co_return;
}
CO_TEST(buffered_writer, may_die_with_bytes_of_a_stop_or_an_exception) {
    auto&& here = co_await coflux::context();
    memory_sink sink;
    EXPECT_FALSE(co_await coflux::timeout(waits_with_bytes(here, sink), 1ms));
    const auto failed = co_await coflux::as_outcome(fails_with_bytes(here, sink));
    EXPECT_TRUE(failed.has_error());
    EXPECT_EQ(sink.writes, 0U);
}
CO_TEST(buffered_writer, may_die_with_bytes_that_could_not_be_sent_or_were_discarded) {
    auto&& here = co_await coflux::context();
    memory_sink broken{.fails_at = 0};
    {
        writer out(broken, 8);
        EXPECT_EQ(out.write("12345"), 5U);
        const auto failed = co_await coflux::as_outcome(out.flush(here));
        EXPECT_TRUE(failed.has_error());
        EXPECT_EQ(out.unflushed().size(), 5U);
    }
    memory_sink slow{.pause = 1h};
    {
        writer out(slow, 8);
        EXPECT_EQ(out.write("12345"), 5U);
        EXPECT_FALSE(co_await coflux::timeout(out.flush(here), 1ms));
    }
    {
        writer out(slow, 8);
        EXPECT_EQ(out.write("12345"), 5U);
        out.discard();
    }
    EXPECT_EQ(slow.got, "");
}

struct lazy_sink {
    coflux::call<std::size_t> write_some(coflux::environment&, std::span<const std::byte>) { co_return 0; }
};
coflux::task<void, coflux::testing::manual_executor> writes_lies(coflux::environment&) {
    auto&& here = co_await coflux::context();
    lazy_sink sink;
    buffered_writer out(sink, 8);
    co_await out.write_all(here, "123456789");
}
TEST_F(buffered_writer_death, of_a_sink_that_takes_nothing) {
    coflux::testing::manual_executor on;
    auto env = coflux::make_environment(on);
    EXPECT_DEATH(on.run(writes_lies(env)), "a byte_sink took 0 of 8 bytes");
}

CO_TEST(buffered_writer, takes_one_block_and_its_frames) {
    auto&& here = co_await coflux::context();
    coflux::counting_resource memory;
    memory_sink sink{.piece = 3};
    EXPECT_THROW(writer(sink, 0), std::invalid_argument);
    {
        writer out(sink, 8, &memory);
        const coflux::testing::alloc_guard none(memory);
        for (const std::string& w : words) co_await out.write_all(here, w);
        co_await out.flush(here);
    }
    EXPECT_EQ(memory.allocations(), 1U);
    EXPECT_EQ(memory.live(), 0U);
}

coflux::fork<std::string, coflux::worker_executor> reads_all(coflux::environment&, coflux::tcp_stream* from) {
    std::string all;
    std::string part(1000, ' ');
    while (const std::size_t n = co_await from->read_some(bytes_of(part))) all.append(part, 0, n);
    co_return all;
}
coflux::task<void, coflux::worker_executor> writes_to_a_connection(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto pair = co_await connected(here);
    std::string sent;
    {
        buffered_writer out(pair.near, 1024);
        // The peer does not read: the socket is full at some time, and each wait is stopped.
        const std::string block(700, 'x');
        for (int stops = 0; stops < 20;) {
            std::size_t done = 0;
            while (done != block.size() && stops < 20) {
                const auto rest = as_bytes(block).subspan(done);
                if (!co_await coflux::timeout(out.write_all(here, rest), 100us)) ++stops;
                done += out.taken();
            }
            sent += block.substr(0, done);
        }
        auto reader = reads_all(here, &pair.far);
        co_await out.flush(here);
        pair.near.shutdown_send();
        const std::string got = co_await std::move(reader);
        EXPECT_EQ(got.size(), sent.size());
        EXPECT_TRUE(got == sent);
    }
}
TEST(buffered_writer, loses_and_repeats_nothing_of_a_connection_that_is_full) {
    coflux::worker_executor worker;
    auto env = coflux::make_environment(worker);
    writes_to_a_connection(env).get();
}

}  // namespace

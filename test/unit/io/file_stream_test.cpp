// Files as streams: what is copied to and from them.
#include <coflux/io/file_stream.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"
#include "support/temporary_folder.hpp"

namespace {

using coflux::environment;
using coflux::file;
using coflux::file_reader;
using coflux::file_writer;
using coflux_test::bytes_of;
using coflux_test::connected;
using coflux_test::temporary_folder;
using worker = coflux::worker_executor;

template <typename... Args>
void on_a_worker(coflux::task<void, worker> (*program)(environment&, std::string, Args...), Args... args) {
    const temporary_folder folder;
    worker on;
    auto env = coflux::make_environment(on);
    program(env, folder.path("file"), args...).get();
}
std::string some_text(std::size_t size) {
    std::string text(size, ' ');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i * i % 26);
    return text;
}
constexpr coflux::file_options anew{.write = true, .create = true, .truncate = true};

coflux::fork<void, worker> sends(environment&, file* from, coflux::tcp_stream* to) {
    auto&& here = co_await coflux::context();
    file_reader reader(*from);
    co_await coflux::copy(here, reader, *to);
    EXPECT_EQ(reader.offset(), co_await from->size());
    to->shutdown_send();
}
coflux::task<void, worker> is_copied_over_a_connection(environment&, std::string path, std::size_t size) {
    auto&& here = co_await coflux::context();
    const std::string text = some_text(size);
    file first = co_await file::open(path, anew);
    co_await first.write_at(0, text);
    file second = co_await file::open(path + "2", anew);
    auto p = co_await connected(here);
    auto sender = sends(here, &first, &p.near);
    file_writer writer(second, 10);
    EXPECT_EQ(co_await coflux::copy(here, p.far, writer), size);
    co_await std::move(sender);
    EXPECT_EQ(writer.offset(), size + 10);
    std::string got(size + 1, ' ');
    EXPECT_EQ(co_await second.read_at(10, bytes_of(got)), size);
    EXPECT_TRUE(got.substr(0, size) == text);
}
TEST(file_stream, is_copied_to_and_from_connections) {
    on_a_worker<std::size_t>(is_copied_over_a_connection, 0);
    on_a_worker<std::size_t>(is_copied_over_a_connection, 1);
    on_a_worker<std::size_t>(is_copied_over_a_connection, 3'000'001);
}

coflux::task<void, worker> is_read_line_by_line(environment&, std::string path) {
    auto&& here = co_await coflux::context();
    file f = co_await file::open(path, anew);
    co_await f.write_at(0, "no line\nfirst\nsecond\nla");
    file_reader from(f, 8);
    coflux::buffered_reader in(from, 7);
    EXPECT_EQ(co_await in.read_line(here), "first");
    EXPECT_EQ(co_await in.read_line(here), "second");
    EXPECT_EQ(co_await in.peek_line(here, {.unterminated = true}), "la");
    EXPECT_TRUE((co_await coflux::as_outcome(in.read_line(here))).has_error());  // end_of_stream
    co_await f.write_at(23, "st\n");                                             // it grows: there is more
    EXPECT_EQ(co_await in.read_line(here), "last");
    EXPECT_FALSE(co_await in.read_line(here));
}
TEST(file_stream, is_read_line_by_line_and_further_when_it_has_grown) {
    on_a_worker<>(is_read_line_by_line);
}

coflux::task<void, worker> is_written_through_a_buffer(environment&, std::string path) {
    auto&& here = co_await coflux::context();
    file f = co_await file::open(path, anew);
    file_writer to(f);
    coflux::buffered_writer out(to, 4096);
    std::string all;
    for (int i = 0; i < 3000; ++i) {
        const std::string line = std::to_string(i) + "\n";
        co_await out.write_all(here, line);
        all += line;
    }
    co_await out.flush(here);
    std::string got(all.size() + 1, ' ');
    EXPECT_EQ(co_await f.read_at(0, bytes_of(got)), all.size());
    got.pop_back();
    EXPECT_TRUE(got == all);
}
TEST(file_stream, is_written_through_a_buffer) {
    on_a_worker<>(is_written_through_a_buffer);
}

coflux::fork<void, worker> reads_all(environment&, file_reader* from) {
    auto&& here = co_await coflux::context();
    std::array<std::byte, 16> part{};
    while (co_await from->read_some(here, part) != 0) continue;
    co_await coflux::sleep_for(std::chrono::hours(1));
}
/// Bytes that were given count, and those that a stop found undone were not taken.
coflux::task<void, worker> goes_on_after_a_stop(environment&, std::string path) {
    auto&& here = co_await coflux::context();
    file f = co_await file::open(path, anew);
    co_await f.write_at(0, some_text(40));
    file_reader from(f);
    {
        auto inside = coflux::make_environment(here);
        auto reader = reads_all(inside, &from);
        inside.request_stop();
        EXPECT_TRUE((co_await coflux::as_outcome(std::move(reader))).is_stopped());
        co_await inside.join();
    }
    const std::size_t read = from.offset();
    std::string rest(64, ' ');
    EXPECT_EQ(co_await from.read_some(here, bytes_of(rest)), 40 - read);
    EXPECT_TRUE(rest.substr(0, 40 - read) == some_text(40).substr(read));
}
TEST(file_stream, goes_on_after_a_stop_where_it_was) {
    on_a_worker<>(goes_on_after_a_stop);
}

coflux::task<void, worker> tells_errors(environment&, std::string path) {
    auto&& here = co_await coflux::context();
    file f = co_await file::open(path, anew);
    co_await f.close();
    f = co_await file::open(path);  // for reading
    file_writer to(f);
    auto outcome = co_await coflux::as_outcome(to.write_some(here, std::as_bytes(std::span("x", 1))));
    EXPECT_THROW((void)outcome.value(), std::system_error);
    EXPECT_EQ(to.offset(), 0U);
}
TEST(file_stream, tells_errors_of_the_file) {
    on_a_worker<>(tells_errors);
}

}  // namespace

// copy() from file to file: holes, what the other file had, offsets, stops, errors, and files that have no size.
#include <coflux/io/file_stream.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <sys/stat.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/sim_disk.hpp>
#include <coflux/testing/simulation.hpp>

#include "connected.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::copy_count;
using coflux::environment;
using coflux::file;
using coflux::file_reader;
using coflux::file_writer;
using coflux_test::on_a_worker;
using coflux_test::temporary_folder;
using coflux_test::text_of;
template <typename E>
using task = coflux::task<void, E>;
using worker = coflux::worker_executor;

constexpr std::size_t part = 256 * 1024;

/// Three parts: a hole, and two with 64 KiB of data before another.
std::string sparse(const temporary_folder& folder, const std::string& name) {
    std::string path = folder.file(name, "");
    std::filesystem::resize_file(path, 3 * part);
    std::fstream f(path, std::ios::in | std::ios::out | std::ios::binary);
    f.seekp(part);
    f << std::string(64 * 1024, 'a');
    f.seekp(2 * part);
    f << std::string(64 * 1024, 'b');
    return path;
}
std::size_t bytes_on_the_drive(const std::string& path) {
    struct stat is{};
    EXPECT_EQ(::stat(path.c_str(), &is), 0);
    return static_cast<std::size_t>(is.st_blocks) * 512;
}

template <typename E>
coflux::task<copy_count, E> copies(environment&, std::string from, std::string to, std::uint64_t from_at,
                                   std::uint64_t to_at) {
    auto&& here = co_await coflux::context();
    file source = co_await file::open(std::move(from));
    file sink = co_await file::open(std::move(to), {.write = true, .create = true});
    file_reader reader(source, from_at);
    file_writer writer(sink, to_at);
    copy_count count;
    const std::uint64_t n = co_await coflux::copy(here, reader, writer, {.count = &count});
    EXPECT_EQ(n, count.written);
    EXPECT_EQ(reader.offset(), from_at + n);
    EXPECT_EQ(writer.offset(), to_at + n);
    co_return count;
}

TEST(copy_of_a_file, keeps_holes) {
    const temporary_folder folder;
    const std::string from = sparse(folder, "from");
    const std::string to = folder.path("to");
    if (bytes_on_the_drive(from) > 3 * part / 2) GTEST_SKIP() << "the file system here has no holes";
    const copy_count n = on_a_worker(copies<worker>, from, to, std::uint64_t{0}, std::uint64_t{0});
    EXPECT_EQ(n.read, 3 * part);
    EXPECT_EQ(n.written, 3 * part);
    EXPECT_EQ(text_of(to), text_of(from));
    EXPECT_LT(bytes_on_the_drive(to), 3 * part / 2);
}

TEST(copy_of_a_file, reads_as_zeros_where_the_other_one_had_bytes) {
    const temporary_folder folder;
    const std::string from = sparse(folder, "from");
    for (const std::size_t had : {part / 2, part + 10, 3 * part - 1, 3 * part, 4 * part}) {
        const std::string to = folder.file("to", std::string(had, 'z'));
        (void)on_a_worker(copies<worker>, from, to, std::uint64_t{0}, std::uint64_t{0});
        const std::string rest(had > 3 * part ? had - 3 * part : 0, 'z');
        EXPECT_TRUE(text_of(to) == text_of(from) + rest) << had;
    }
}

TEST(copy_of_a_file, begins_at_the_offsets_of_both) {
    const temporary_folder folder;
    const std::string from = sparse(folder, "from");
    const std::string to = folder.file("to", "before");
    const std::uint64_t at = part + 100;
    const copy_count n = on_a_worker(copies<worker>, from, to, at, std::uint64_t{6});
    EXPECT_EQ(n.written, 3 * part - at);
    EXPECT_TRUE(text_of(to) == "before" + text_of(from).substr(at));
    const copy_count none = on_a_worker(copies<worker>, from, to, std::uint64_t{4 * part}, std::uint64_t{0});
    EXPECT_EQ(none.written, 0U);
}

TEST(copy_of_a_file, has_all_bytes_whatever_the_sizes_are) {
    const temporary_folder folder;
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{1} << 20, (std::size_t{2} << 20) + 1}) {
        std::string text(size, 'x');
        for (std::size_t i = 0; i < size; i += 100) text[i] = static_cast<char>(i);
        const std::string from = folder.file("from", text);
        const std::string to = folder.path("to");
        std::filesystem::remove(to);
        const copy_count n = on_a_worker(copies<worker>, from, to, std::uint64_t{0}, std::uint64_t{0});
        EXPECT_EQ(n.written, size);
        EXPECT_TRUE(text_of(to) == text) << size;
    }
}

TEST(copy_of_a_file, that_the_kernel_makes_up_has_its_bytes) {
    const temporary_folder folder;
    const std::string to = folder.path("to");
    const copy_count n =
        on_a_worker(copies<worker>, std::string("/proc/version"), to, std::uint64_t{0}, std::uint64_t{0});
    EXPECT_GT(n.written, 0U);
    EXPECT_EQ(text_of(to), text_of("/proc/version"));
}

task<worker> goes_on_after_a_stop(environment&, std::string from, std::string to) {
    auto&& here = co_await coflux::context();
    file source = co_await file::open(from);
    file sink = co_await file::open(to, {.write = true, .create = true});
    file_reader reader(source);
    file_writer writer(sink);
    copy_count count;
    std::uint64_t all = 0;
    // A limit of nothing lets no thread begin; one of a little stops anywhere.
    for (const auto limit : {0us, 1us, 100us, 500us}) {
        (void)co_await coflux::timeout(coflux::copy(here, reader, writer, {.count = &count}), limit);
        EXPECT_EQ(count.read, count.written);
        all += count.written;
        EXPECT_EQ(reader.offset(), all);
        EXPECT_EQ(writer.offset(), all);
    }
    all += co_await coflux::copy(here, reader, writer);
    EXPECT_EQ(all, 3 * part);
}
TEST(copy_of_a_file, loses_nothing_to_a_stop) {
    const temporary_folder folder;
    const std::string from = sparse(folder, "from");
    const std::string to = folder.path("to");
    on_a_worker(goes_on_after_a_stop, from, to);
    EXPECT_TRUE(text_of(to) == text_of(from));
}

coflux::call<std::string> error_of(environment&, file& from, file& to) {
    auto&& here = co_await coflux::context();
    file_reader reader(from);
    file_writer writer(to);
    try {
        (void)co_await coflux::copy(here, reader, writer);
    } catch (const std::system_error& e) {
        co_return e.what();
    }
    co_return "no error";
}
task<worker> says_what_fails(environment&, std::string folder) {
    auto&& here = co_await coflux::context();
    file source = co_await file::open(folder + "/from");
    file sink = co_await file::open(folder + "/to", {.read = false, .write = true, .create = true});
    const std::string of_write = co_await error_of(here, source, source);
    EXPECT_NE(of_write.find("write to " + folder + "/from"), std::string::npos) << of_write;
    const std::string of_read = co_await error_of(here, sink, sink);
    EXPECT_NE(of_read.find("read from " + folder + "/to"), std::string::npos) << of_read;
    file_reader reader(source);
    file_writer writer(sink);
    EXPECT_THROW((void)co_await coflux::copy(here, reader, writer, {.buffer_size = 0}), std::invalid_argument);
    EXPECT_EQ(writer.offset(), 0U);
}
TEST(copy_of_a_file, tells_errors_as_reads_and_writes_do) {
    const temporary_folder folder;
    folder.file("from", "text");
    on_a_worker(says_what_fails, folder.path());
}

using coflux::testing::sim_executor;
task<sim_executor> copies_on_a_disk(environment&, coflux::borrowed<coflux::testing::sim_disk> disk) {
    auto&& here = co_await coflux::context();
    file source = co_await file::open("/from");
    file sink = co_await file::open("/to", {.write = true, .create = true});
    file_reader reader(source);
    file_writer writer(sink);
    const std::uint64_t n = co_await coflux::copy(here, reader, writer);
    EXPECT_EQ(n, 100'000U);
    EXPECT_TRUE(disk->contents("/to") == disk->contents("/from"));
}
TEST(copy_of_a_file, has_all_bytes_on_a_simulated_disk) {
    for (std::uint64_t seed = 0; seed != 10; ++seed) {
        coflux::testing::random_chooser decides(seed);
        coflux::testing::simulation sim(decides);
        sim_executor on;
        coflux::testing::sim_disk disk(on, {.short_moves = true});
        disk.put("/from", std::string(100'000, 'q'));
        auto env = coflux::make_environment(on);
        copies_on_a_disk(env, coflux::borrowed(disk)).get();
    }
}

task<worker> copies_to_what_appends(environment&, std::string path) {
    auto&& here = co_await coflux::context();
    file source = co_await file::open("/proc/self/exe");
    file sink = co_await file::open(path, {.write = true, .append = true});
    file_reader reader(source);
    file_writer writer(sink);
    (void)co_await coflux::copy(here, reader, writer);
}
TEST(copy_of_a_file_death, to_one_that_was_opened_with_append_is_refused) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(on_a_worker(copies_to_what_appends, std::string("/dev/null")),
                 "a copy to a file that was opened with append");
}

}  // namespace

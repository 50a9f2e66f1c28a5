// Files: bytes at offsets, the ends of files, and what the system refuses.
#include <coflux/io/file.hpp>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"
#include "support/temporary_folder.hpp"

namespace {

using coflux::environment;
using coflux::file;
using coflux_test::bytes_of;
using coflux_test::open_descriptors;
using coflux_test::temporary_folder;
using coflux_test::text_of;

template <typename E>
class file_on : public testing::Test {
protected:
    template <typename Program, typename... Args>
    auto run(Program program, Args... args) {
        E executor = make();
        auto env = coflux::make_environment(executor);
        return program(env, args...).get();
    }
    static E make() {
        if constexpr (std::is_same_v<E, coflux::thread_pool_executor>) {
            return E{2};
        } else {
            return E{};
        }
    }
    temporary_folder folder;
};
using executors = testing::Types<coflux::worker_executor, coflux::thread_pool_executor, coflux::noop_executor>;
TYPED_TEST_SUITE(file_on, executors);

template <typename E>
coflux::task<void, E> writes_and_reads(environment&, std::string path) {
    file f = co_await file::open(path, {.write = true, .create = true});
    EXPECT_TRUE(f.is_open());
    EXPECT_EQ(f.path(), path);
    co_await f.write_at(3, "defgh");
    co_await f.write_at(0, "abc");
    EXPECT_EQ(co_await f.size(), 8U);
    std::string got(4, ' ');
    EXPECT_EQ(co_await f.read_at(2, bytes_of(got)), 4U);
    EXPECT_EQ(got, "cdef");
    co_await f.append("ij");
    co_await f.sync();
    co_await f.sync_data();
    std::string all(20, ' ');
    all.resize(co_await f.read_at(0, bytes_of(all)));
    EXPECT_EQ(all, "abcdefghij");
    EXPECT_EQ(co_await f.read_at(10, bytes_of(got)), 0U);
    EXPECT_EQ(co_await f.read_at(1'000'000, bytes_of(got)), 0U);
    EXPECT_EQ(co_await f.read_at(0, {}), 0U);
    co_await f.truncate(5);
    EXPECT_EQ(co_await f.size(), 5U);
    co_await f.close();
    EXPECT_FALSE(f.is_open());
    EXPECT_EQ(f.native_handle(), -1);
}
TYPED_TEST(file_on, has_what_was_written_at_each_offset) {
    const std::size_t before = open_descriptors();
    const std::string path = this->folder.path("a");
    this->run(writes_and_reads<TypeParam>, path);
    EXPECT_EQ(text_of(path), "abcde");
    EXPECT_LE(open_descriptors(), before);
}

template <typename E>
coflux::task<void, E> writes_far_out(environment&, std::string path) {
    constexpr std::uint64_t far = 5ULL << 30;
    file f = co_await file::open(path, {.write = true, .create = true});
    co_await f.write_at(far, "xyz");
    EXPECT_EQ(co_await f.size(), far + 3);
    std::string got(6, ' ');
    EXPECT_EQ(co_await f.read_at(far - 3, bytes_of(got)), 6U);
    EXPECT_EQ(got, std::string("\0\0\0xyz", 6));
    co_await f.truncate(far);
    EXPECT_EQ(co_await f.read_at(far, bytes_of(got)), 0U);
}
TYPED_TEST(file_on, has_offsets_beyond_two_gibibytes) {
    this->run(writes_far_out<TypeParam>, this->folder.path("far"));
}

template <typename E>
coflux::task<void, E> moves_much(environment&, std::string path) {
    std::string much(5'000'000, ' ');
    for (std::size_t i = 0; i != much.size(); ++i) much[i] = static_cast<char>('a' + i % 23);
    file f = co_await file::open(path, {.write = true, .create = true});
    co_await f.write_at(1, much);
    std::string got(much.size() + 10, ' ');
    EXPECT_EQ(co_await f.read_at(1, bytes_of(got)), much.size());
    got.resize(much.size());
    EXPECT_TRUE(got == much);
}
TYPED_TEST(file_on, moves_more_than_is_moved_at_once) {
    this->run(moves_much<TypeParam>, this->folder.path("much"));
}

using task = coflux::task<void, coflux::worker_executor>;
using env_t = environment;
template <typename... Args>
void runs_task(task (*program)(environment&, Args...), std::type_identity_t<Args>... args) {
    coflux::worker_executor worker;
    auto env = coflux::make_environment(worker);
    program(env, args...).get();
}

// --- what the system has of its own ----------------------------------------------------------------------------------

task reads_a_text(env_t&, std::string path, std::string begins) {
    file f = co_await file::open(path);
    std::string got(begins.size(), ' ');
    got.resize(co_await f.read_at(0, bytes_of(got)));
    EXPECT_EQ(got, begins);
    // Again, now that it is known that it answers no read at once.
    EXPECT_EQ(co_await f.read_at(0, bytes_of(got)), begins.size());
}
TEST(file, of_a_file_system_that_answers_no_read_at_once_is_read_all_the_same) {
    runs_task(reads_a_text, "/proc/self/status", "Name:");
}

// --- what is refused -------------------------------------------------------------------------------------------------

std::error_code code_of(const auto& result) {
    return result.error();
}
task is_refused(env_t&, std::string path, coflux::file_options how, std::errc why) {
    const auto as_value = co_await coflux::as_result(file::open(path, how));
    EXPECT_EQ(code_of(as_value), why);
    try {
        (void)co_await file::open(path, how);
        ADD_FAILURE() << "it was opened";
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), why);
        EXPECT_NE(std::string(e.what()).find("open " + path), std::string::npos) << e.what();
    }
}
TEST(file, that_cannot_be_opened_is_an_error_with_its_path) {
    const temporary_folder folder;
    runs_task(is_refused, folder.path("none"), {}, std::errc::no_such_file_or_directory);
    runs_task(is_refused, folder.path("none/below"), {.write = true, .create = true},
              std::errc::no_such_file_or_directory);
    runs_task(is_refused, folder.path(""), {}, std::errc::is_a_directory);
    runs_task(is_refused, folder.path("."), {.write = true}, std::errc::is_a_directory);
    runs_task(is_refused, folder.file("there", "x"), {.write = true, .create = true, .exclusive = true},
              std::errc::file_exists);
    runs_task(is_refused, "/proc/self/mem/x", {}, std::errc::not_a_directory);
    if (::geteuid() != 0) {
        ::chmod(folder.file("secret", "x").c_str(), 0);
        runs_task(is_refused, folder.path("secret"), {}, std::errc::permission_denied);
    }
}
TEST(file, is_no_pipe_whose_open_would_wait_for_a_peer) {
    const temporary_folder folder;
    ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);
    runs_task(is_refused, folder.path("pipe"), {}, std::errc::invalid_seek);
    runs_task(is_refused, folder.path("pipe"), {.read = false, .write = true}, std::errc::invalid_seek);
    runs_task(is_refused, folder.path("pipe"), {.write = true}, std::errc::invalid_seek);
}

task contradicts(env_t&, std::string path, coflux::file_options how) {
    try {
        (void)co_await file::open(path, how);
        ADD_FAILURE() << "it was opened";
    } catch (const std::invalid_argument& e) {
        EXPECT_NE(std::string(e.what()).find("open"), std::string::npos) << e.what();
        if (path.find('\0') != std::string::npos) {
            EXPECT_STREQ(e.what(), "coflux: open: the path has a zero byte after a");
        }
    }
}
TEST(file, has_options_that_agree) {
    runs_task(contradicts, "x", {.read = false});
    runs_task(contradicts, "x", {.create = true});
    runs_task(contradicts, "x", {.truncate = true});
    runs_task(contradicts, "x", {.append = true});
    runs_task(contradicts, "x", {.write = true, .exclusive = true});
    runs_task(contradicts, std::string("a\0b", 3), {});
}

task writes_what_it_may_not(env_t&, std::string path) {
    file f = co_await file::open(path);
    const auto result = co_await coflux::as_result(f.write_at(0, "x"));
    EXPECT_EQ(result.error(), std::errc::bad_file_descriptor);
    try {
        co_await f.write_at(7, "x");
        ADD_FAILURE() << "it was written";
    } catch (const std::system_error& e) {
        EXPECT_NE(std::string(e.what()).find("write to " + path + " at 7"), std::string::npos) << e.what();
    }
    file w = co_await file::open(path, {.read = false, .write = true});
    std::string got(1, ' ');
    EXPECT_EQ((co_await coflux::as_result(w.read_at(0, bytes_of(got)))).error(), std::errc::bad_file_descriptor);
    EXPECT_EQ((co_await coflux::as_result(f.read_at(~0ULL, bytes_of(got)))).error(), std::errc::invalid_argument);
}
TEST(file, that_was_opened_to_read_is_not_written) {
    const temporary_folder folder;
    runs_task(writes_what_it_may_not, folder.file("a", "abc"));
    EXPECT_EQ(text_of(folder.path("a")), "abc");
}

task fills_the_drive(env_t&) {
    file full = co_await file::open("/dev/full", {.write = true});
    EXPECT_EQ((co_await coflux::as_result(full.write_at(0, "x"))).error(), std::errc::no_space_on_device);
    try {
        file log = co_await file::open("/dev/full", {.write = true, .append = true});
        co_await log.append("x");
        ADD_FAILURE() << "it was written";
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::no_space_on_device);
        EXPECT_NE(std::string(e.what()).find("append to /dev/full"), std::string::npos) << e.what();
    }
}
TEST(file, on_a_drive_that_is_full_says_so) {
    runs_task(fills_the_drive);
}

task writes_beyond_the_limit(env_t&, std::string path) {
    file f = co_await file::open(path, {.write = true, .create = true});
    try {
        co_await f.write_at(0, std::string(9000, 'x'));
        ADD_FAILURE() << "it was written";
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::file_too_large);
        EXPECT_NE(std::string(e.what()).find("at 0, after 5000 bytes"), std::string::npos) << e.what();
    }
}
TEST(file, that_was_written_in_part_says_how_much) {
    const temporary_folder folder;
    rlimit was{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &was), 0);
    const rlimit low{5000, was.rlim_max};
    auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
    runs_task(writes_beyond_the_limit, folder.path("limited"));
    ::setrlimit(RLIMIT_FSIZE, &was);
    std::signal(SIGXFSZ, handler);
    EXPECT_EQ(text_of(folder.path("limited")), std::string(5000, 'x'));
}

// --- how it is opened ------------------------------------------------------------------------------------------------

task opens_in_each_way(env_t&, const temporary_folder* folder) {
    const std::string path = folder->path("a");
    {
        file f = co_await file::open(
            path, {.read = false, .write = true, .create = true, .exclusive = true, .permissions = 0600});
        co_await f.write_at(0, "first");
    }
    struct ::stat is{};
    EXPECT_EQ(::stat(path.c_str(), &is), 0);
    EXPECT_EQ(is.st_mode & 0777, 0600U);
    {
        file f = co_await file::open(path, {.write = true, .append = true});
        file other = co_await file::open(path, {.write = true, .append = true});
        co_await f.append("+1");
        co_await other.append("+2");
        co_await f.append("+3");
        EXPECT_EQ(::fcntl(f.native_handle(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    }
    EXPECT_EQ(text_of(path), "first+1+2+3");
    { const file f = co_await file::open(path, {.write = true, .truncate = true}); }
    EXPECT_EQ(text_of(path), "");
}
TEST(file, is_made_emptied_and_appended_to_as_its_options_say) {
    const temporary_folder folder;
    runs_task(opens_in_each_way, &folder);
}

task outlives_its_moves(env_t&, std::string path) {
    file a = co_await file::open(path);
    file b = std::move(a);
    EXPECT_FALSE(a.is_open());
    std::string got(3, ' ');
    auto read = b.read_at(0, bytes_of(got));
    EXPECT_EQ(co_await std::move(read), 3U);
    a = std::move(b);
    EXPECT_EQ(co_await a.read_at(0, bytes_of(got)), 3U);
    a = file();
    EXPECT_FALSE(a.is_open());
}
TEST(file, can_be_moved) {
    const temporary_folder folder;
    const std::size_t before = open_descriptors();
    runs_task(outlives_its_moves, folder.file("a", "abc"));
    EXPECT_LE(open_descriptors(), before);
}

task finds_no_descriptor(env_t&, std::string path) {
    EXPECT_EQ((co_await coflux::as_result(file::open(path))).error(), std::errc::too_many_files_open);
}
TEST(file, that_finds_no_descriptor_left_says_so) {
    if (coflux_test::checks_need_descriptors) GTEST_SKIP() << "a check of UBSan opens a pipe";
    const temporary_folder folder;
    const std::string path = folder.file("a", "abc");
    rlimit was{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &was), 0);
    const rlimit low{0, was.rlim_max};
    coflux::worker_executor worker;
    auto env = coflux::make_environment(worker);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
    finds_no_descriptor(env, path).get();
    ::setrlimit(RLIMIT_NOFILE, &was);
}

// --- wrong programs --------------------------------------------------------------------------------------------------

task reads_what_is_closed(env_t&, std::string path) {
    file f = co_await file::open(path);
    co_await f.close();
    std::string got(1, ' ');
    (void)co_await f.read_at(0, bytes_of(got));
}
task writes_at_an_offset_of_a_log(env_t&, std::string path) {
    file f = co_await file::open(path, {.write = true, .append = true});
    co_await f.write_at(0, "x");
}
TEST(file_death, of_what_is_closed_or_has_no_offsets_names_it) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const std::string path = "/dev/null";  // a process that dies removes no folder of its own
    EXPECT_DEATH(runs_task(reads_what_is_closed, path), "a file that is closed, was moved from");
    EXPECT_DEATH(runs_task(writes_at_an_offset_of_a_log, path), "opened with append, which has no offsets");
}

}  // namespace

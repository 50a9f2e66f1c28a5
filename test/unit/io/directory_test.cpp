// Directories: names and types, batches, errors, stops, and those of a simulated disk.
#include <coflux/io/directory.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <semaphore>
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

using coflux::directory;
using coflux::directory_entry;
using coflux::entry_type;
using coflux::environment;
using coflux_test::on_a_worker;
using coflux_test::open_descriptors;
using coflux_test::temporary_folder;
using worker = coflux::worker_executor;
using names = std::map<std::string, entry_type>;
template <typename E>
using task = coflux::task<void, E>;

coflux::call<names> all_in(environment&, std::string path, std::size_t& batches) {
    directory d = co_await directory::open(std::move(path));
    names all;
    batches = 0;
    for (auto batch = co_await d.next(); !batch.empty(); batch = co_await d.next()) {
        ++batches;
        for (const directory_entry& e : batch) {
            EXPECT_TRUE(all.emplace(e.name, e.type).second) << e.name << " comes twice";
        }
    }
    EXPECT_TRUE((co_await d.next()).empty()) << "the end does not last";
    co_return all;
}

task<worker> lists_names_and_types(environment&, std::string path) {
    auto&& here = co_await coflux::context();
    std::size_t batches = 0;
    const names all = co_await all_in(here, path, batches);
    EXPECT_EQ(all, (names{{"a file", entry_type::regular},
                          {"below", entry_type::directory},
                          {"link", entry_type::symlink},
                          {"pipe", entry_type::fifo},
                          {".hidden", entry_type::regular}}));
    EXPECT_EQ(batches, 1U);
    EXPECT_EQ(co_await all_in(here, path + "/below", batches), names());
    EXPECT_EQ(batches, 0U);
}
TEST(directory, gives_names_and_types_without_the_directory_itself) {
    const temporary_folder folder;
    folder.file("a file", "");
    folder.file(".hidden", "");
    std::filesystem::create_directory(folder.path("below"));
    std::filesystem::create_symlink("nowhere", folder.path("link"));
    ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);
    const std::size_t before = open_descriptors();
    on_a_worker(lists_names_and_types, folder.path());
    EXPECT_LE(open_descriptors(), before);
}

/// More than a call of the system gives.
constexpr int many = 1500;
void fill(const temporary_folder& folder) {
    for (int i = 0; i != many; ++i) folder.file("a name of some length " + std::to_string(i), "");
}

template <typename E>
task<E> lists_many(environment&, std::string path) {
    auto&& here = co_await coflux::context();
    std::size_t batches = 0;
    const names all = co_await all_in(here, path, batches);
    EXPECT_EQ(all.size(), std::size_t{many});
    EXPECT_GT(batches, 1U);
    for (int i = 0; i != many; ++i) EXPECT_TRUE(all.contains("a name of some length " + std::to_string(i))) << i;
}
TEST(directory, gives_many_entries_in_batches_each_once_on_each_executor) {
    const temporary_folder folder;
    fill(folder);
    on_a_worker(lists_many<worker>, folder.path());
    coflux::thread_pool_executor pool{2};
    auto in_a_pool = coflux::make_environment(pool);
    lists_many<coflux::thread_pool_executor>(in_a_pool, folder.path()).get();
    auto nowhere = coflux::make_environment(coflux::noop_executor());
    lists_many<coflux::noop_executor>(nowhere, folder.path()).get();
}

task<worker> changes_names(environment&, std::string path) {
    directory d = co_await directory::open(path);
    co_await d.rename("one", "two");
    co_await d.sync();
    EXPECT_EQ(coflux_test::text_of(path + "/two"), "1");
    EXPECT_FALSE(std::filesystem::exists(path + "/one"));
    co_await d.remove("two");
    EXPECT_FALSE(std::filesystem::exists(path + "/two"));
    EXPECT_EQ((co_await coflux::as_result(d.rename("one", "two"))).error(), std::errc::no_such_file_or_directory);
    EXPECT_EQ((co_await coflux::as_result(d.remove("below"))).error(), std::errc::is_a_directory);
    const std::string why = ": " + std::make_error_code(std::errc::no_such_file_or_directory).message();
    for (const char* const slash : {"", "/"}) {
        directory named = co_await directory::open(path + slash);
        try {
            co_await named.remove("none");
            ADD_FAILURE() << "no error";
        } catch (const std::system_error& e) {
            EXPECT_EQ(e.what(), "coflux: remove " + path + "/none" + why);
        }
        try {
            co_await named.rename("none", "other");
            ADD_FAILURE() << "no error";
        } catch (const std::system_error& e) {
            EXPECT_EQ(e.what(), "coflux: rename " + path + "/none to other" + why);
        }
    }
    for (const std::string& wrong : {std::string(), std::string("a/b"), std::string("a\0b", 3)}) {
        EXPECT_THROW(co_await d.remove(wrong), std::invalid_argument);
    }
    EXPECT_THROW(co_await d.rename("a/b", "c"), std::invalid_argument);
    EXPECT_THROW(co_await d.rename("c", "a/b"), std::invalid_argument);
}
TEST(directory, renames_and_removes_its_entries) {
    const temporary_folder folder;
    folder.file("one", "1");
    folder.file("two", "2");
    std::filesystem::create_directory(folder.path("below"));
    on_a_worker(changes_names, folder.path());
}

task<worker> says_what_is_wrong(environment&, std::string path) {
    try {
        (void)co_await directory::open(path + "/none");
        ADD_FAILURE() << "no error";
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::no_such_file_or_directory);
        EXPECT_NE(std::string(e.what()).find("open the directory " + path + "/none"), std::string::npos) << e.what();
    }
    const auto file = co_await coflux::as_result(directory::open(path + "/file"));
    EXPECT_EQ(file.error(), std::errc::not_a_directory);
    EXPECT_THROW((void)co_await directory::open(std::string("a\0b", 3)), std::invalid_argument);
    EXPECT_THROW((void)co_await directory::open(""), std::system_error);

    directory d = co_await directory::open(path);
    EXPECT_EQ(d.path(), path);
    EXPECT_TRUE(d.is_open());
    EXPECT_GE(d.native_handle(), 0);
    EXPECT_EQ((co_await coflux::as_result(d.next()))->size(), 1U);
    d.close();
    EXPECT_FALSE(d.is_open());
    EXPECT_EQ(d.native_handle(), -1);
}
TEST(directory, that_cannot_be_opened_is_named) {
    const temporary_folder folder;
    folder.file("file", "");
    on_a_worker(says_what_is_wrong, folder.path());
}

task<worker> may_move_between_batches(environment&, std::string path) {
    directory d = co_await directory::open(path);
    const auto first = co_await d.next();
    const std::string name(first.front().name);
    directory moved = std::move(d);
    EXPECT_FALSE(d.is_open());  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(first.front().name, name);
    std::size_t count = first.size();
    for (auto batch = co_await moved.next(); !batch.empty(); batch = co_await moved.next()) count += batch.size();
    EXPECT_EQ(count, std::size_t{many});
}
TEST(directory, may_be_moved_with_the_entries_that_it_has_given) {
    const temporary_folder folder;
    fill(folder);
    on_a_worker(may_move_between_batches, folder.path());
}

// --- stops -----------------------------------------------------------------------------------------------------------

/// A pool whose only thread is busy until it is told.
struct busy_pool {
    std::atomic<bool> begun{false};
    std::binary_semaphore ends{0};
    coflux::blocking_pool pool{{.max_threads = 1}};
};
coflux::fork<void, worker> holds(environment&, coflux::borrowed<busy_pool> busy) {
    const auto waits = [&busy] {
        busy->begun = true;
        busy->ends.acquire();
    };
    co_await busy->pool.run(waits);
}
coflux::call<void> until_held(environment&, busy_pool& busy) {
    while (!busy.begun) co_await coflux::this_coroutine::yield();
}
coflux::call<void> until_one_waits(environment&, busy_pool& busy) {
    while (busy.pool.counters().queued == 0) co_await coflux::this_coroutine::yield();
}
coflux::fork<std::size_t, worker> counts(environment&, coflux::borrowed<directory> d) {
    std::size_t count = 0;
    for (auto batch = co_await d->next(); !batch.empty(); batch = co_await d->next()) count += batch.size();
    co_return count;
}
task<worker> is_stopped_between_batches(environment&, std::string path) {
    auto&& here = co_await coflux::context();
    busy_pool busy;
    directory d = co_await directory::open(path, {.pool = &busy.pool});
    std::size_t count = (co_await d.next()).size();
    EXPECT_LT(count, std::size_t{many});
    const auto block = [&](coflux::task_scope& scope) -> coflux::call<bool> {
        auto&& inside = co_await coflux::context();
        auto holding = holds(scope, coflux::borrowed(busy));
        co_await until_held(inside, busy);
        auto counting = counts(scope, coflux::borrowed(d));
        co_await until_one_waits(inside, busy);
        counting.request_stop();
        const auto end = co_await coflux::as_outcome(std::move(counting));
        busy.ends.release();
        co_await std::move(holding);
        co_return end.is_stopped();
    };
    EXPECT_TRUE(co_await coflux::with_scope(here, block));
    count += co_await counts(here, coflux::borrowed(d));
    EXPECT_EQ(count, std::size_t{many});
}
TEST(directory, is_stopped_between_batches_and_loses_no_entry) {
    const temporary_folder folder;
    fill(folder);
    on_a_worker(is_stopped_between_batches, folder.path());
}

task<worker> is_used_while_next_waits(environment&, bool closes) {
    auto&& here = co_await coflux::context();
    busy_pool busy;
    directory d = co_await directory::open("/", {.pool = &busy.pool});
    auto holding = holds(here, coflux::borrowed(busy));
    co_await until_held(here, busy);
    auto counting = counts(here, coflux::borrowed(d));
    co_await until_one_waits(here, busy);
    if (closes) d.close();
    (void)co_await d.next();
}
TEST(directory_death, of_one_that_is_listed_or_asked_by_two_is_refused) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(on_a_worker(is_used_while_next_waits, false), "next\\(\\) of a directory while another one waits");
    EXPECT_DEATH(on_a_worker(is_used_while_next_waits, true), "is closed while an operation of it waits");
}

// --- a simulated disk ------------------------------------------------------------------------------------------------

using coflux::testing::sim_disk;
using coflux::testing::sim_executor;

template <typename Program>
void on_a_disk(coflux::testing::sim_disk_options options, const Program& program) {
    for (std::uint64_t seed = 0; seed != 20; ++seed) {
        coflux::testing::random_chooser decides(seed);
        coflux::testing::simulation sim(decides);
        sim_executor on;
        sim_disk disk(on, options);
        disk.make_directory("/data/below");
        disk.put("/data/a", "");
        disk.put("/data/b", "text");
        disk.put("/data/below/c", "");
        auto env = coflux::make_environment(on);
        program(env, coflux::borrowed(disk)).get();
        EXPECT_EQ(disk.open_files(), 0U);
    }
}

task<sim_executor> lists_a_disk(environment&, coflux::borrowed<sim_disk>) {
    auto&& here = co_await coflux::context();
    std::size_t batches = 0;
    EXPECT_EQ(co_await all_in(here, "data", batches),
              (names{{"a", entry_type::regular}, {"b", entry_type::regular}, {"below", entry_type::directory}}));
    EXPECT_EQ(co_await all_in(here, "/", batches), (names{{"data", entry_type::directory}}));
    const auto file = co_await coflux::as_result(directory::open("/data/a"));
    EXPECT_EQ(file.error(), std::errc::not_a_directory);
    const auto none = co_await coflux::as_result(directory::open("/none"));
    EXPECT_EQ(none.error(), std::errc::no_such_file_or_directory);
}
TEST(directory_simulated, is_one_of_the_simulated_disk) {
    on_a_disk({}, lists_a_disk);
    on_a_disk({.short_moves = true}, lists_a_disk);
}

task<sim_executor> is_lost_in_a_crash(environment&, coflux::borrowed<sim_disk> disk) {
    directory d = co_await directory::open("/data");
    disk->crash();
    EXPECT_EQ((co_await coflux::as_result(d.next())).error(), std::errc::no_such_device);
    EXPECT_EQ((co_await coflux::as_result(directory::open("/data"))).error(), std::errc::no_such_device);
    disk->restart();
    directory again = co_await directory::open("/data");
    EXPECT_FALSE((co_await again.next()).empty());
}
TEST(directory_simulated, is_lost_in_a_crash_of_the_disk) {
    on_a_disk({}, is_lost_in_a_crash);
}

task<sim_executor> fails_by_a_rule(environment&, coflux::borrowed<sim_disk> disk) {
    disk->fail({.on = coflux::testing::disk_call::read, .error = std::errc::io_error});
    directory d = co_await directory::open("/data");
    EXPECT_EQ((co_await coflux::as_result(d.next())).error(), std::errc::io_error);
}
TEST(directory_simulated, fails_where_a_rule_says_so) {
    on_a_disk({}, fails_by_a_rule);
}

}  // namespace

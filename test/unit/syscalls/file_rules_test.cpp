// Rare answers of the system to a call of a file, and the results of operations.
#include <cerrno>
#include <cstddef>
#include <semaphore>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "support/temporary_folder.hpp"
#include "system_rules.hpp"
#include "unit/io/connected.hpp"

namespace {

using coflux::as_result;
using coflux::environment;
using coflux::file;
using coflux_test::always;
using coflux_test::system_call;
using coflux_test::system_rules;
using coflux_test::temporary_folder;
using coflux_test::text_of;
using file_task = coflux::task<void, coflux::worker_executor>;

template <typename... Args>
void on_one_worker(file_task (*program)(environment&, Args...), std::type_identity_t<Args>... args) {
    coflux::worker_executor worker;
    auto env = coflux::make_environment(worker);
    program(env, std::move(args)...).get();
}

constexpr std::string_view ten = "0123456789";

file_task writes_in_parts(environment&, std::string path) {
    file f = co_await file::open(path, {.write = true, .create = true});
    for (std::size_t k = 1; k <= ten.size(); ++k) {
        const system_rules rules{{.on = system_call::write, .times = always, .moves = k}};
        co_await f.write_at((k - 1) * ten.size(), ten);
        EXPECT_GE(rules.calls(system_call::write), (ten.size() + k - 1) / k);
    }
    for (const std::size_t k : {1U, 3U, 9U}) {
        const system_rules rules{{.on = system_call::write, .times = always, .moves = k}};
        co_await f.append(ten);
    }
}
TEST(file_rules, writes_and_appends_all_bytes_whatever_a_call_moves) {
    const temporary_folder folder;
    on_one_worker(writes_in_parts, folder.path("a"));
    std::string all;
    for (int i = 0; i < 13; ++i) all += ten;
    EXPECT_EQ(text_of(folder.path("a")), all);
}

file_task reads_in_parts(environment&, std::string path) {
    file f = co_await file::open(path, {.read = true, .write = true, .create = true});
    co_await f.write_at(0, ten);
    for (std::size_t k = 1; k <= ten.size(); ++k) {
        std::string got(ten.size() + 2, ' ');
        const system_rules rules{{.on = system_call::read, .from = 2, .error = EINTR},
                                 {.on = system_call::read, .times = always, .moves = k}};
        EXPECT_EQ(co_await f.read_at(0, coflux_test::bytes_of(got)), ten.size());
        EXPECT_EQ(got, std::string(ten) + "  ") << k;
        EXPECT_GE(rules.calls(system_call::read), (ten.size() + k - 1) / k);
    }
}
TEST(file_rules, reads_all_bytes_whatever_a_call_moves) {
    const temporary_folder folder;
    on_one_worker(reads_in_parts, folder.path("a"));
}

/// A pool whose only thread is busy while a coroutine appends, and another process appends beside.
struct busy_while_appending {
    std::binary_semaphore begun{0};
    std::binary_semaphore goes_on{0};
};
coflux::fork<void, coflux::worker_executor> keeps_busy(environment&, coflux::blocking_pool* pool,
                                                       busy_while_appending* busy) {
    const auto waits = [busy] {
        busy->begun.release();
        busy->goes_on.acquire();
    };
    co_await pool->run(waits);
}
coflux::fork<void, coflux::worker_executor> appends(environment&, file* f, std::string text) {
    co_await f->append(text);
}
file_task appends_beside_another_process(environment&, std::string path) {
    auto&& here = co_await coflux::context();
    coflux::blocking_pool pool{{.max_threads = 1}};
    busy_while_appending busy;
    file f = co_await file::open(path, {.write = true, .create = true, .append = true, .pool = &pool});
    // Three bytes are what the page cache has room for at once, say.
    const system_rules rules{{.on = system_call::write, .moves = 3, .at_once = true}};
    auto holds = keeps_busy(here, &pool, &busy);
    while (!busy.begun.try_acquire()) co_await coflux::this_coroutine::yield();
    auto appending = appends(here, &f, std::string(ten));
    while (pool.counters().queued == 0 && !appending.done()) co_await coflux::this_coroutine::yield();
    const int other = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    EXPECT_EQ(::write(other, "other", 5), 5);
    ::close(other);
    busy.goes_on.release();
    co_await std::move(appending);
    co_await std::move(holds);
}
TEST(file_rules, appends_do_not_mix_with_those_of_another_process) {
    const temporary_folder folder;
    on_one_worker(appends_beside_another_process, folder.path("log"));
    EXPECT_EQ(text_of(folder.path("log")), "other0123456789");
}

file_task writes_nothing(environment&, std::string path) {
    file f = co_await file::open(path, {.write = true, .create = true});
    {
        const system_rules rules{{.on = system_call::write, .times = always, .moves = 0}};
        EXPECT_EQ((co_await as_result(f.write_at(0, ten))).error(), std::errc::no_space_on_device);
        EXPECT_EQ((co_await as_result(f.append(ten))).error(), std::errc::no_space_on_device);
        EXPECT_LE(rules.calls(system_call::write), 3U);
        co_await f.write_at(0, "");
        co_await f.append("");
    }
    const system_rules rules{{.on = system_call::write, .error = EAGAIN, .at_once = true},
                             {.on = system_call::write, .from = 2, .moves = 4},
                             {.on = system_call::write, .from = 3, .times = always, .moves = 0}};
    std::string text;
    try {
        co_await f.write_at(0, ten);
    } catch (const std::system_error& e) {
        text = e.what();
        EXPECT_EQ(e.code(), std::errc::no_space_on_device);
    }
    EXPECT_NE(text.find("after 4 bytes"), std::string::npos) << text;
}
TEST(file_rules, a_write_that_moves_nothing_is_no_success) {
    const temporary_folder folder;
    on_one_worker(writes_nothing, folder.path("a"));
    EXPECT_EQ(text_of(folder.path("a")), "0123");
}

file_task is_interrupted(environment&, std::string path) {
    file f = co_await file::open(path, {.write = true, .create = true});
    const system_rules rules{{.on = system_call::write, .times = 2, .error = EINTR}};
    co_await f.write_at(0, ten);
    co_await f.append(ten);
    EXPECT_EQ(rules.followed(), 2U);
}
TEST(file_rules, goes_on_after_a_signal) {
    const temporary_folder folder;
    on_one_worker(is_interrupted, folder.path("a"));
    EXPECT_EQ(text_of(folder.path("a")), std::string(ten) + std::string(ten));
}

// --- errors ----------------------------------------------------------------------------------------------------------

coflux_test::system_rule moves_three(system_call on, std::size_t from, std::size_t times, bool at_once) {
    return {.on = on, .from = from, .times = times, .moves = 3, .at_once = at_once};
}
struct failure {
    std::error_code code;
    std::string text;
};
template <typename Awaitable>
coflux::call<failure> failure_of(environment&, Awaitable what) {
    failure f;
    try {
        co_await std::move(what);
    } catch (const std::system_error& e) {
        f = {e.code(), e.what()};
    }
    co_return f;
}
std::error_code of_system(int error) {
    return {error, std::system_category()};
}
std::string after(std::size_t bytes) {
    return ", after " + std::to_string(bytes) + " bytes";
}
void expect_failure(const failure& f, int error, std::size_t moved) {
    EXPECT_EQ(f.code, of_system(error));
    EXPECT_EQ(f.text.find(moved == 0 ? ", after" : after(moved)) == std::string::npos, moved == 0) << f.text;
}

/// A call that is made at once fails, and so does that of the pool, which tells.
file_task writes_fail_at(environment&, std::string path, std::size_t n, int error) {
    auto&& here = co_await coflux::context();
    const std::size_t moved = 3 * (n - 1);
    {
        file f = co_await file::open(path, {.write = true, .create = true, .truncate = true});
        const system_rules rules{moves_three(system_call::write, 1, n - 1, true),
                                 {.on = system_call::write, .from = n, .times = always, .error = error}};
        expect_failure(co_await failure_of(here, f.write_at(0, ten)), error, moved);
        EXPECT_EQ(rules.calls(system_call::write), n + 1);
    }
    EXPECT_EQ(text_of(path), ten.substr(0, moved));
    {
        file f = co_await file::open(path, {.write = true, .truncate = true});
        const system_rules on_the_pool{{.on = system_call::write, .error = EAGAIN, .at_once = true},
                                       moves_three(system_call::write, 2, n - 1, false),
                                       {.on = system_call::write, .from = n + 1, .times = always, .error = error}};
        expect_failure(co_await failure_of(here, f.write_at(0, ten)), error, moved);
        EXPECT_EQ(on_the_pool.calls(system_call::write), n + 1);
    }
    EXPECT_EQ(text_of(path), ten.substr(0, moved));
    for (const bool append : {false, true}) {
        file f = co_await file::open(path, {.write = true, .truncate = true, .append = append});
        const system_rules appending{moves_three(system_call::write, 1, n - 1, false),
                                     {.on = system_call::write, .from = n, .times = always, .error = error}};
        expect_failure(co_await failure_of(here, f.append(ten)), error, moved);
        EXPECT_EQ(appending.calls(system_call::write), n);
        EXPECT_EQ(text_of(path), ten.substr(0, moved));
    }
}
TEST(file_rules, gives_the_error_of_any_write_and_says_how_much_is_written) {
    const temporary_folder folder;
    for (const int error : {ENOSPC, EIO, EDQUOT}) {
        for (std::size_t n = 1; n <= 4; ++n) on_one_worker(writes_fail_at, folder.path("a"), n, error);
    }
}

/// The error of a call at once is not told: the pool's call may find room.
file_task finds_room(environment&, std::string path, int error) {
    for (std::size_t n = 1; n <= 4; ++n) {
        file f = co_await file::open(path, {.write = true, .create = true, .truncate = true});
        const system_rules rules{moves_three(system_call::write, 1, n - 1, true),
                                 {.on = system_call::write, .from = n, .error = error, .at_once = true}};
        co_await f.write_at(0, ten);
        EXPECT_EQ(rules.followed(), n);
        EXPECT_EQ(text_of(path), ten);
    }
}
TEST(file_rules, a_write_that_fails_at_once_is_made_again_where_it_may_wait) {
    const temporary_folder folder;
    for (const int error : {ENOSPC, EIO}) on_one_worker(finds_room, folder.path("a"), error);
}

file_task reads_fail_at(environment&, std::string path, std::size_t n) {
    auto&& here = co_await coflux::context();
    file f = co_await file::open(path, {.read = true, .write = true, .create = true});
    co_await f.write_at(0, ten);
    std::string got(ten.size(), ' ');
    const std::size_t moved = 3 * (n - 1);
    {
        const system_rules at_once{moves_three(system_call::read, 1, n - 1, true),
                                   {.on = system_call::read, .from = n, .times = always, .error = EIO}};
        expect_failure(co_await failure_of(here, f.read_at(0, coflux_test::bytes_of(got))), EIO, moved);
        EXPECT_EQ(at_once.calls(system_call::read), n + 1);
    }
    {
        const system_rules on_the_pool{{.on = system_call::read, .error = EAGAIN, .at_once = true},
                                       moves_three(system_call::read, 2, n - 1, false),
                                       {.on = system_call::read, .from = n + 1, .times = always, .error = EIO}};
        const auto read = co_await as_result(f.read_at(0, coflux_test::bytes_of(got)));
        EXPECT_EQ(read.error(), of_system(EIO));
        EXPECT_EQ(on_the_pool.calls(system_call::read), n + 1);
    }
    const system_rules once{{.on = system_call::read, .from = n, .error = EIO, .at_once = true},
                            {.on = system_call::read, .times = always, .moves = 3}};
    EXPECT_EQ(co_await f.read_at(0, coflux_test::bytes_of(got)), ten.size());
    EXPECT_EQ(got, ten);
}
TEST(file_rules, gives_the_error_of_any_read) {
    const temporary_folder folder;
    for (std::size_t n = 1; n <= 4; ++n) on_one_worker(reads_fail_at, folder.path("a"), n);
}

file_task syncs(environment&, std::string path) {
    auto&& here = co_await coflux::context();
    file f = co_await file::open(path, {.write = true, .create = true});
    co_await f.write_at(0, ten);
    for (const int error : {EIO, ENOSPC}) {
        const system_rules rules{{.on = system_call::sync, .times = 3, .error = error}};
        const failure whole = co_await failure_of(here, f.sync());
        EXPECT_EQ(whole.code, of_system(error));
        EXPECT_NE(whole.text.find("sync " + path), std::string::npos) << whole.text;
        const failure data = co_await failure_of(here, f.sync_data());
        EXPECT_EQ(data.code, of_system(error));
        EXPECT_NE(data.text.find("sync the data of " + path), std::string::npos) << data.text;
        EXPECT_EQ((co_await as_result(f.sync())).error(), of_system(error));
        EXPECT_EQ(rules.calls(system_call::sync), 3U);  // it does not try again: the system forgets the error
    }
    const system_rules interrupted{{.on = system_call::sync, .times = 3, .error = EINTR}};
    co_await f.sync();
    co_await f.sync_data();
    EXPECT_EQ(interrupted.calls(system_call::sync), 5U);
}
TEST(file_rules, gives_the_error_of_a_sync_and_goes_on_after_a_signal) {
    const temporary_folder folder;
    on_one_worker(syncs, folder.path("a"));
}

}  // namespace

// What the system does now and then with a write to a file, and what operations make of it.
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

}  // namespace

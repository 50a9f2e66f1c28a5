// How a stop ends operations of files, and how long they wait.
#include <coflux/io/file.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <optional>
#include <semaphore>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::environment;
using coflux::file;
using coflux_test::bytes_of;
using coflux_test::temporary_folder;
using worker = coflux::worker_executor;

/// A pool whose only thread is busy until free().
struct busy_pool {
    coflux::blocking_pool pool{{.max_threads = 1}};
    std::binary_semaphore begun{0};
    std::binary_semaphore goes_on{0};
    std::thread caller;
    coflux::worker_executor worker;

    void block() {
        caller = std::thread([this] {
            auto env = coflux::make_environment(worker);
            blocks(env, this).get();
        });
        begun.acquire();
    }
    void free() {
        if (!caller.joinable()) return;
        goes_on.release();
        caller.join();
    }
    static coflux::task<void, coflux::worker_executor> blocks(environment&, busy_pool* self) {
        const auto waits = [self] {
            self->begun.release();
            self->goes_on.acquire();
        };
        co_await self->pool.run(waits);
    }
    ~busy_pool() { free(); }
};

void drop_from_the_cache(const file& f) {
    ::fsync(f.native_handle());
    ::posix_fadvise(f.native_handle(), 0, 0, POSIX_FADV_DONTNEED);
}
// --- at once ---------------------------------------------------------------------------------------------------------

coflux::task<void, worker> reads_beside_a_busy_pool(environment&, std::string path, busy_pool* busy) {
    file f = co_await file::open(path, {.pool = &busy->pool});
    busy->block();
    std::string got(3, ' ');
    EXPECT_EQ(co_await f.read_at(0, bytes_of(got)), 3U);
    EXPECT_EQ(got, "abc");
    EXPECT_EQ(co_await f.read_at(3, bytes_of(got)), 0U);
    busy->free();
}
/// tmpfs does not, and then a thread of the pool reads.
bool gives_cached_bytes_at_once(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    char byte = 0;
    const iovec into{&byte, 1};
    const bool gives = ::preadv2(descriptor, &into, 1, 0, RWF_NOWAIT) == 1;
    ::close(descriptor);
    return gives;
}
TEST(file_stop, is_none_of_cached_bytes_which_need_no_thread) {
    const temporary_folder folder;
    const std::string path = folder.file("a", "abc");
    if (!gives_cached_bytes_at_once(path)) GTEST_SKIP() << "the file system here reads nothing without a thread";
    busy_pool busy;
    worker w;
    auto env = coflux::make_environment(w);
    reads_beside_a_busy_pool(env, path, &busy).get();
}

coflux::fork<void, worker> counts(environment&, const bool* ends, int* count) {
    while (!*ends) {
        ++*count;
        co_await coflux::this_coroutine::yield();
    }
}
coflux::task<int, worker> reads_in_a_loop(environment&, std::string path) {
    auto&& here = co_await coflux::context();
    file f = co_await file::open(path);
    bool ends = false;
    int count = 0;
    auto other = counts(here, &ends, &count);
    std::string got(3, ' ');
    for (int i = 0; i < 10'000; ++i) (void)co_await f.read_at(0, bytes_of(got));
    ends = true;
    co_await std::move(other);
    co_return count;
}
TEST(file_stop, reads_of_cached_bytes_let_other_coroutines_run) {
    const temporary_folder folder;
    worker w;
    auto env = coflux::make_environment(w);
    EXPECT_GT(reads_in_a_loop(env, folder.file("a", "abc")).get(), 20);
}

// --- before a thread has begun ---------------------------------------------------------------------------------------

enum class what { read, write, append, sync, size, truncate, close, open };

coflux::fork<void, worker> does(environment&, what w, file* f, busy_pool* busy) {
    std::string got(3, ' ');
    switch (w) {
    case what::read: (void)co_await f->read_at(0, bytes_of(got)); break;
    case what::write: co_await f->write_at(0, std::string(2'000'000, 'x')); break;
    case what::append: co_await f->append(std::string(2'000'000, 'x')); break;
    case what::sync: co_await f->sync(); break;
    case what::size: (void)co_await f->size(); break;
    case what::truncate: co_await f->truncate(0); break;
    case what::close: co_await f->close(); break;
    case what::open: (void)co_await file::open(f->path() + "2", {.write = true, .create = true, .pool = &busy->pool});
    }
}
coflux::task<void, worker> stops_each(environment&, std::string path, busy_pool* busy, bool before) {
    auto&& here = co_await coflux::context();
    file f = co_await file::open(path, {.write = true, .pool = &busy->pool});
    busy->block();
    for (const what w :
         {what::read, what::write, what::append, what::sync, what::size, what::truncate, what::close, what::open}) {
        if (w == what::read) drop_from_the_cache(f);
        auto inside = coflux::make_environment(here);
        if (before) inside.request_stop();
        auto operation = does(inside, w, &f, busy);
        if (!before) {
            while (busy->pool.counters().queued == 0 && !operation.done()) co_await coflux::this_coroutine::yield();
            inside.request_stop();
        }
        const auto end = co_await coflux::as_outcome(std::move(operation));
        // There are file systems that keep all in memory.
        if (w != what::read) {
            EXPECT_TRUE(end.is_stopped()) << static_cast<int>(w);
        }
        co_await inside.join();
        EXPECT_EQ(busy->pool.counters().queued, 0U);
        EXPECT_TRUE(f.is_open());
    }
    busy->free();
    std::string got(4, ' ');
    EXPECT_EQ(co_await f.read_at(0, bytes_of(got)), 3U);
    EXPECT_EQ(got, "abc ");
    EXPECT_EQ(co_await f.size(), 3U);
}
void stops_each_operation(bool before) {
    const temporary_folder folder;
    const std::size_t open = coflux_test::open_descriptors();
    {
        busy_pool busy;
        worker w;
        auto env = coflux::make_environment(w);
        stops_each(env, folder.file("a", "abc"), &busy, before).get();
    }
    EXPECT_LE(coflux_test::open_descriptors(), open);
}
TEST(file_stop, before_a_thread_has_begun_does_nothing_to_the_file) {
    stops_each_operation(false);
}
TEST(file_stop, that_was_requested_before_does_nothing_to_the_file) {
    stops_each_operation(true);
}

// --- while a thread is at it -----------------------------------------------------------------------------------------

/// While it lives, an open() of the file waits.
class lease {
public:
    explicit lease(const std::string& path) : file_(::open(path.c_str(), O_RDWR)) {
        holds_ =
            ::fcntl(file_, F_SETSIG, SIGURG) == 0 && ::fcntl(file_, F_SETLEASE, F_WRLCK) == 0;  // SIGURG is ignored
    }
    lease(const lease&) = delete;
    lease& operator=(const lease&) = delete;
    ~lease() { end(); }
    [[nodiscard]] bool holds() const { return holds_; }
    void end() {
        if (file_ >= 0) ::close(std::exchange(file_, -1));
    }

private:
    int file_;
    bool holds_ = false;
};

coflux::fork<void, worker> opens(environment&, std::string path, coflux::blocking_pool* pool, std::optional<file>* to) {
    *to = co_await file::open(path, {.pool = pool});
    co_await coflux::this_coroutine::yield();
    ADD_FAILURE() << "it went on behind its next stop point";
}
coflux::task<void, worker> stops_what_has_begun(environment&, std::string path, coflux::blocking_pool* pool,
                                                lease* held) {
    auto&& here = co_await coflux::context();
    auto inside = coflux::make_environment(here);
    std::optional<file> got;
    auto operation = opens(inside, path, pool, &got);
    for (;;) {
        const auto now = pool->counters();
        if (now.threads == 1 && now.idle == 0 && now.queued == 0) break;
        co_await coflux::this_coroutine::yield();
    }
    inside.request_stop();
    for (int i = 0; i < 100; ++i) co_await coflux::this_coroutine::yield();
    EXPECT_FALSE(operation.done());
    held->end();
    EXPECT_TRUE((co_await coflux::as_outcome(std::move(operation))).is_stopped());
    EXPECT_TRUE(got.has_value() && got->is_open());
    co_await inside.join();
}
TEST(file_stop, while_a_thread_is_at_it_waits_and_loses_nothing) {
    const temporary_folder folder;
    const std::string path = folder.file("a", "abc");
    lease held(path);
    if (!held.holds()) GTEST_SKIP() << "no leases here";
    coflux::blocking_pool pool;
    worker w;
    auto env = coflux::make_environment(w);
    stops_what_has_begun(env, path, &pool, &held).get();
}

// --- with a limit ----------------------------------------------------------------------------------------------------

coflux::task<void, worker> has_a_limit(environment&, std::string path, busy_pool* busy) {
    file f = co_await file::open(path, {.write = true, .pool = &busy->pool});
    std::string got(3, ' ');
    EXPECT_EQ(co_await coflux::timeout(f.read_at(0, bytes_of(got)), 1h), std::size_t{3});
    busy->block();
    EXPECT_EQ(co_await coflux::timeout(f.size(), 1ms), std::nullopt);
    EXPECT_FALSE(co_await coflux::timeout(f.truncate(0), 1ms));
    EXPECT_FALSE((co_await coflux::timeout(file::open(path, {.pool = &busy->pool}), 1ms)).has_value());
    EXPECT_TRUE((co_await coflux::timeout(coflux::as_result(f.size()), 1ms)).timed_out());
    busy->free();
    EXPECT_EQ(co_await f.size(), 3U);
}
TEST(file_stop, of_a_limit_does_nothing_to_the_file) {
    const temporary_folder folder;
    busy_pool busy;
    worker w;
    auto env = coflux::make_environment(w);
    has_a_limit(env, folder.file("a", "abc"), &busy).get();
}

// --- wrong programs --------------------------------------------------------------------------------------------------

coflux::fork<void, worker> asks(environment&, file* f) {
    (void)co_await f->size();
}
coflux::task<void, worker> drops_what_is_waited_for(environment&, std::string path, bool closes) {
    busy_pool busy;
    auto&& here = co_await coflux::context();
    file f = co_await file::open(path, {.pool = &busy.pool});
    busy.block();
    auto operation = asks(here, &f);
    while (busy.pool.counters().queued == 0) co_await coflux::this_coroutine::yield();
    if (closes) co_await f.close();
    f = file();
}
TEST(file_stop_death, of_a_file_while_an_operation_waits_names_the_file) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const std::string path = "/dev/null";  // a process that dies removes no folder of its own
    const auto dies = [&](bool closes) {
        worker w;
        auto env = coflux::make_environment(w);
        drops_what_is_waited_for(env, path, closes).get();
    };
    EXPECT_DEATH(dies(false), "a file is assigned to while an operation of it waits");
    EXPECT_DEATH(dies(true), "a file is closed while an operation of it waits");
}

}  // namespace

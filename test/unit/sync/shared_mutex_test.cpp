#include <coflux/sync/shared_mutex.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "by_hand.hpp"
#include "support/iterations.hpp"
#include "support/no_hang.hpp"
#include "support/witness.hpp"

namespace {

using coflux::borrowed;
using coflux::manual_reset_event;
using coflux::shared_mutex;
using coflux_test::by_hand;
using coflux_test::hand;
using coflux_test::journal;
using coflux_test::lines;
using coflux_test::pool;

coflux::fork<void, hand> reads(coflux::environment&, borrowed<shared_mutex> m, journal* j, std::string name,
                               borrowed<manual_reset_event> leave) {
    const shared_mutex::shared_guard guard = co_await m->lock_shared();
    j->write(name);
    co_await leave->wait();
}
coflux::fork<void, hand> writes(coflux::environment&, borrowed<shared_mutex> m, journal* j, std::string name,
                                borrowed<manual_reset_event> leave) {
    const shared_mutex::guard guard = co_await m->lock();
    j->write(name);
    co_await leave->wait();
}

struct scene : by_hand {
    shared_mutex m;
    journal j;
    manual_reset_event leave_reader;
    manual_reset_event leave_writer;
    auto reader(std::string name) { return reads(env, borrowed(m), &j, std::move(name), borrowed(leave_reader)); }
    auto writer(std::string name) { return writes(env, borrowed(m), &j, std::move(name), borrowed(leave_writer)); }
};

TEST(shared_mutex, lets_readers_in_together_and_a_writer_alone) {
    scene s;
    {
        const shared_mutex::shared_guard a = s.m.try_lock_shared();
        const shared_mutex::shared_guard b = s.m.try_lock_shared();
        EXPECT_TRUE(a && b);
        EXPECT_FALSE(s.m.try_lock());
    }
    const shared_mutex::guard w = s.m.try_lock();
    EXPECT_TRUE(w.owns_lock_on(s.m));
    EXPECT_FALSE(s.m.try_lock_shared());
    EXPECT_FALSE(s.m.try_lock());
}

TEST(shared_mutex, keeps_later_readers_out_while_a_writer_waits) {
    scene s;
    auto first = s.reader("first");
    auto w = s.writer("writer");
    auto later = s.reader("later");
    s.drive();
    EXPECT_EQ(s.j.lines(), lines{"first"});
    EXPECT_FALSE(s.m.try_lock_shared());
    s.leave_reader.set();
    s.drive();
    EXPECT_EQ(s.j.lines(), (lines{"first", "writer"}));
    s.leave_writer.set();
    s.drive();
    EXPECT_EQ(s.j.lines(), (lines{"first", "writer", "later"}));
    EXPECT_TRUE(s.m.try_lock());
}

TEST(shared_mutex, lets_in_the_readers_before_the_next_writer_when_a_writer_leaves) {
    scene s;
    shared_mutex::guard held = s.m.try_lock();
    auto a = s.reader("a");
    auto b = s.reader("b");
    auto w = s.writer("writer");
    auto c = s.reader("c");
    s.drive();
    held.unlock();
    EXPECT_TRUE(s.j.lines().empty()) << "they are queued, not run";
    s.drive();
    EXPECT_EQ(s.j.lines(), (lines{"a", "b"})) << "both at once, and not the one behind the writer";
    s.leave_reader.set();
    s.drive();
    EXPECT_EQ(s.j.lines(), (lines{"a", "b", "writer"}));
    s.leave_writer.set();
    s.drive();
    EXPECT_EQ(s.j.lines(), (lines{"a", "b", "writer", "c"}));
}

TEST(shared_mutex, lets_a_writer_in_only_when_the_last_reader_leaves) {
    scene s;
    shared_mutex::shared_guard a = s.m.try_lock_shared();
    shared_mutex::shared_guard b = s.m.try_lock_shared();
    auto w = s.writer("writer");
    s.drive();
    a.unlock();
    s.drive();
    EXPECT_TRUE(s.j.lines().empty());
    b.unlock();
    s.drive();
    EXPECT_EQ(s.j.lines(), lines{"writer"});
    s.leave_writer.set();
    s.drive();
}

TEST(shared_mutex_stop, of_a_waiting_writer_lets_the_readers_behind_it_in) {
    scene s;
    shared_mutex::shared_guard inside = s.m.try_lock_shared();
    auto w = s.writer("writer");
    auto a = s.reader("a");
    auto b = s.reader("b");
    s.drive();
    EXPECT_TRUE(s.j.lines().empty());
    w.request_stop();
    EXPECT_TRUE(s.j.lines().empty()) << "they are queued, not run";
    s.drive();
    EXPECT_TRUE(w.done());
    EXPECT_EQ(s.j.lines(), (lines{"a", "b"}));
    s.leave_reader.set();
    s.drive();
    EXPECT_FALSE(s.m.try_lock());
    inside.unlock();
    EXPECT_TRUE(s.m.try_lock());
}

TEST(shared_mutex_stop, of_the_only_waiter_leaves_no_mark) {
    scene s;
    const shared_mutex::shared_guard inside = s.m.try_lock_shared();
    auto w = s.writer("writer");
    s.drive();
    EXPECT_FALSE(s.m.try_lock_shared());
    w.request_stop();
    EXPECT_TRUE(s.m.try_lock_shared());
    s.drive();
    EXPECT_TRUE(s.j.lines().empty());
}

TEST(shared_mutex_stop, before_the_wait_ends_the_coroutine_without_the_lock) {
    scene s;
    shared_mutex::guard held = s.m.try_lock();
    auto r = s.reader("reader");
    auto w = s.writer("writer");
    r.request_stop();
    w.request_stop();
    s.drive();
    EXPECT_TRUE(r.done() && w.done());
    EXPECT_TRUE(s.j.lines().empty());
    held.unlock();
    EXPECT_TRUE(s.m.try_lock());
}

TEST(shared_mutex_stop, after_it_was_let_in_takes_nothing_back) {
    scene s;
    shared_mutex::guard held = s.m.try_lock();
    auto r = s.reader("reader");
    s.drive();
    held.unlock();
    r.request_stop();
    EXPECT_FALSE(s.m.try_lock()) << "it is inside already";
    s.drive();
    EXPECT_EQ(s.j.lines(), lines{"reader"});
    EXPECT_TRUE(r.done()) << "stopped at its next stop point";
    EXPECT_TRUE(s.m.try_lock());
}

struct pair_of {
    std::size_t first = 0;
    std::size_t second = 0;
};

coflux::fork<void, pool> reads_often(coflux::environment&, borrowed<shared_mutex> m, borrowed<const pair_of> data) {
    for (std::size_t i = 0; i < coflux_test::repetitions(80'000); ++i) {
        const shared_mutex::shared_guard guard = co_await m->lock_shared();
        if (data->first != data->second) ADD_FAILURE() << "a reader sees half of a write";
        if (i % 5 == 0) co_await coflux::yield();
    }
}
coflux::fork<void, pool> writes_often(coflux::environment&, borrowed<shared_mutex> m, borrowed<pair_of> data) {
    for (std::size_t i = 0; i < coflux_test::repetitions(80'000); ++i) {
        const shared_mutex::guard guard = co_await m->lock();
        ++data->first;  // not atomic: the lock is all that orders them
        if (i % 7 == 0) co_await coflux::yield();
        ++data->second;
    }
}

TEST(shared_mutex, keeps_readers_and_writers_of_two_threads_apart) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    const auto root = [](coflux::environment&) -> coflux::task<std::size_t, pool> {
        auto&& here = co_await coflux::context();
        shared_mutex m;
        pair_of data;
        std::vector<coflux::fork<void, pool>> all;
        for (int i = 0; i < 2; ++i) {
            all.push_back(reads_often(here, borrowed(m), borrowed<const pair_of>(data)));
            all.push_back(writes_often(here, borrowed(m), borrowed(data)));
        }
        co_await coflux::when_all(std::move(all));
        co_return data.second;
    };
    EXPECT_EQ(root(env).get(), 2 * coflux_test::repetitions(80'000));
}

void dies_locked() {
    std::optional<shared_mutex> m(std::in_place);
    const shared_mutex::shared_guard held = m->try_lock_shared();
    m.reset();
}

TEST(shared_mutex_death, of_one_that_is_locked_is_refused) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(dies_locked(), "a shared_mutex was destroyed while it is locked or coroutines wait for it");
}

}  // namespace

#include <coflux/executor/sharded.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/failing_resource.hpp>

namespace {

using coflux::shard;
using coflux::shard_group;
using coflux::sharded;

/// Notes which thread made it, and is used by that one alone.
class counter {
public:
    explicit counter(int start) : value_(start), home_(std::this_thread::get_id()) {}
    counter(const counter&) = delete;
    counter& operator=(const counter&) = delete;
    ~counter() { EXPECT_EQ(home_, std::this_thread::get_id()); }

    int add(int n) {
        EXPECT_EQ(home_, std::this_thread::get_id());
        return value_ += n;
    }

private:
    int value_;
    std::thread::id home_;
};

coflux::task<int, shard> uses_all(coflux::environment&, shard_group* shards) {
    auto&& here = co_await coflux::context();
    sharded<counter> all(*shards);
    co_await all.start(here, 10);
    co_await all.invoke_on_all(here, [](counter& c) { c.add(1); });
    const int one = co_await all.invoke_on(1, [](counter& c) { return c.add(5); });
    EXPECT_EQ(one, 16);
    EXPECT_EQ(all.local().add(0), 11);
    const int sum =
        co_await all.map_reduce(here, [](counter& c) { return c.add(0); }, 100, [](int a, int b) { return a + b; });
    co_await all.stop(here);
    co_return sum;
}

TEST(sharded, makes_uses_and_destroys_an_object_on_each_shard) {
    shard_group shards(3);
    auto env = coflux::make_environment(shards[0]);
    EXPECT_EQ(uses_all(env, &shards).get(), 100 + 11 + 16 + 11);
}

coflux::task<std::string, coflux::thread_pool_executor> joins_texts(coflux::environment&, shard_group* shards) {
    auto&& here = co_await coflux::context();
    sharded<std::string> all(*shards);
    co_await all.start(here, "x");
    co_await all.invoke_on(1, [](std::string& s) { s = "y"; });
    std::string joined = co_await all.map_reduce(
        here, [](std::string& s) { return s; }, std::string("-"),
        [](std::string a, const std::string& b) { return a + b; });
    co_await all.stop(here);
    co_return joined;
}

TEST(sharded, is_used_by_coroutines_that_run_elsewhere_and_reduces_in_order) {
    shard_group shards(3);
    coflux::thread_pool_executor threads(1);
    auto env = coflux::make_environment(threads);
    EXPECT_EQ(joins_texts(env, &shards).get(), "-xyx");
}

/// Cannot be made on one of the shards.
struct picky {
    explicit picky(shard_group* shards, int* made) : made_(made) {
        if (*shards->here() == 1) throw std::runtime_error("not here");
        ++made[*shards->here()];
        at_ = *shards->here();
    }
    picky(const picky&) = delete;
    picky& operator=(const picky&) = delete;
    ~picky() { --made_[at_]; }

    int* made_;
    std::size_t at_ = 0;
};
coflux::task<std::string, shard> starts_what_throws(coflux::environment&, shard_group* shards, int* made) {
    auto&& here = co_await coflux::context();
    sharded<picky> all(*shards);
    try {
        co_await all.start(here, shards, made);
    } catch (const std::runtime_error& e) {
        co_return e.what();
    }
    co_return "";
}

TEST(sharded, destroys_what_was_made_where_one_shard_cannot) {
    shard_group shards(3);
    auto env = coflux::make_environment(shards[0]);
    int made[3] = {};
    EXPECT_EQ(starts_what_throws(env, &shards, made).get(), "not here");
    EXPECT_EQ(made[0] + made[1] + made[2], 0);
}

/// Counts itself, and notes where it dies on another thread than its own.
class homed {
public:
    explicit homed(std::atomic<int>* alive) : alive_(alive), home_(std::this_thread::get_id()) { alive_->fetch_add(1); }
    homed(const homed&) = delete;
    homed& operator=(const homed&) = delete;
    ~homed() {
        EXPECT_EQ(home_, std::this_thread::get_id());
        alive_->fetch_sub(1);
    }

private:
    std::atomic<int>* alive_;
    std::thread::id home_;
};
coflux::task<void, shard> starts_and_waits(coflux::environment&, shard_group* on, std::atomic<int>* alive,
                                           coflux::manual_reset_event* begun) {
    auto&& here = co_await coflux::context();
    sharded<homed> all(*on);
    co_await all.start(here, alive);
    begun->set();
    co_await std::chrono::hours(1);
}
coflux::task<void, shard> stops_what_waits(coflux::environment&, shard_group* on, std::atomic<int>* alive) {
    auto&& here = co_await coflux::context();
    coflux::manual_reset_event begun;
    auto t = starts_and_waits(here, on, alive, &begun);
    co_await begun.wait();
    EXPECT_EQ(alive->load(), static_cast<int>(on->size()));
    t.request_stop();
    EXPECT_TRUE((co_await coflux::as_outcome(std::move(t))).is_stopped());
}

TEST(sharded, leaves_its_objects_to_their_shards_where_its_coroutine_is_stopped) {
    std::atomic<int> alive{0};
    {
        shard_group shards(3);
        auto env = coflux::make_environment(shards[0]);
        stops_what_waits(env, &shards, &alive).get();
    }
    EXPECT_EQ(alive.load(), 0);
}

coflux::task<void, coflux::thread_pool_executor> starts_and_throws(coflux::environment&, shard_group* on,
                                                                   std::atomic<int>* alive) {
    auto&& here = co_await coflux::context();
    sharded<homed> all(*on);
    co_await all.start(here, alive);
    throw std::runtime_error("between");
}

TEST(sharded, leaves_its_objects_to_their_shards_where_an_exception_passes_it) {
    std::atomic<int> alive{0};
    {
        shard_group shards(3);
        coflux::thread_pool_executor threads(1);
        auto env = coflux::make_environment(threads);
        EXPECT_THROW(starts_and_throws(env, &shards, &alive).get(), std::runtime_error);
    }
    EXPECT_EQ(alive.load(), 0);
}

/// Its memory fails at one of its allocations.
coflux::task<void, shard> starts_uses_and_stops(coflux::environment&, shard_group* on, std::atomic<int>* alive) {
    auto&& here = co_await coflux::context();
    sharded<homed> all(*on);
    co_await all.start(here, alive);
    co_await all.invoke_on_all(here, [](homed&) {});
    co_await all.stop(here);
}

TEST(sharded, leaves_nothing_wherever_memory_is_short) {
    std::size_t failed = 0;
    for (std::size_t n = 1;; ++n) {
        std::atomic<int> alive{0};
        coflux::testing::failing_resource memory;
        bool over = false;
        {
            shard_group shards(2);
            auto env = coflux::make_environment(&memory, shards[0]);
            memory.fail_at(n);
            try {
                starts_uses_and_stops(env, &shards, &alive).get();
                over = memory.failures() == 0;
            } catch (const std::bad_alloc&) {
                ++failed;
            }
        }
        EXPECT_EQ(alive.load(), 0) << "allocation " << n;
        EXPECT_EQ(memory.live(), 0U) << memory.leaks();
        if (over || testing::Test::HasFailure()) break;
    }
    EXPECT_GT(failed, 8U);
}

coflux::task<void, shard> uses_what_is_not_started(coflux::environment&, shard_group* on) {
    sharded<std::string> all(*on);
    co_await all.invoke_on(0, [](std::string&) {});
}

TEST(sharded_death, is_used_before_its_start) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            shard_group shards(1);
            auto env = coflux::make_environment(shards[0]);
            uses_what_is_not_started(env, &shards).get();
        },
        "a sharded is used before its start");
}

/// Their results are kept in vectors like no other.
coflux::task<bool, shard> reduces_bools(coflux::environment&, shard_group* on) {
    auto&& here = co_await coflux::context();
    sharded<int> all(*on);
    co_await all.start(here, 3);
    const auto is_three = [](int& n) { return n == 3; };
    const bool before = co_await all.map_reduce(here, is_three, true, [](bool a, bool b) { return a && b; });
    co_await all.invoke_on(1, [](int& n) { n = 4; });
    const bool after = co_await all.map_reduce(here, is_three, true, [](bool a, bool b) { return a && b; });
    co_await all.stop(here);
    co_return before && !after;
}

TEST(sharded, reduces_bools) {
    shard_group shards(2);
    auto env = coflux::make_environment(shards[0]);
    EXPECT_TRUE(reduces_bools(env, &shards).get());
}

coflux::task<std::size_t, shard> reduces_what_only_moves(coflux::environment&, shard_group* on) {
    auto&& here = co_await coflux::context();
    sharded<int> all(*on);
    co_await all.start(here, 3);
    const auto kept = co_await all.map_reduce(
        here, [](int& n) { return std::make_unique<int>(n); }, std::vector<std::unique_ptr<int>>(),
        [](std::vector<std::unique_ptr<int>> v, std::unique_ptr<int> p) {
            v.push_back(std::move(p));
            return v;
        });
    co_await all.stop(here);
    co_return kept.size();
}

TEST(sharded, reduces_what_only_moves) {
    shard_group shards(2);
    auto env = coflux::make_environment(shards[0]);
    EXPECT_EQ(reduces_what_only_moves(env, &shards).get(), 2U);
}

/// Started again after its stop, with arguments of another type.
coflux::task<std::string, shard> starts_again(coflux::environment&, shard_group* on) {
    auto&& here = co_await coflux::context();
    sharded<std::string> all(*on);
    std::string told;
    co_await all.start(here, "a");
    told += co_await all.invoke_on(1, [](std::string& s) { return s; });
    co_await all.stop(here);
    co_await all.start(here, 2, 'b');
    told += co_await all.invoke_on(1, &std::string::size) == 2 ? "b" : "?";
    co_await all.stop(here);
    co_return told;
}

TEST(sharded, is_started_again) {
    shard_group shards(2);
    auto env = coflux::make_environment(shards[0]);
    EXPECT_EQ(starts_again(env, &shards).get(), "ab");
}

TEST(sharded_death, is_asked_for_the_local_object_of_a_thread_that_is_no_shard) {
    EXPECT_DEATH(
        {
            shard_group shards(1);
            sharded<std::string> all(shards);
            (void)all.local();
        },
        "a thread that is none of its shards");
}

}  // namespace

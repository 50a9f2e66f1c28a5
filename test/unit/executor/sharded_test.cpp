#include <coflux/executor/sharded.hpp>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

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

coflux::task<void, shard> leaves_it_started(coflux::environment&, shard_group* on) {
    auto&& here = co_await coflux::context();
    sharded<std::string> all(*on);
    co_await all.start(here);
}

TEST(sharded_death, dies_before_its_stop) {
    EXPECT_DEATH(
        {
            shard_group shards(1);
            auto env = coflux::make_environment(shards[0]);
            leaves_it_started(env, &shards).get();
        },
        "a sharded dies before its stop");
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

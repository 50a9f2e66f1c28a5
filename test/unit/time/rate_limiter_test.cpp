#include <coflux/time/rate_limiter.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/alloc_guard.hpp>
#include <coflux/testing/inject.hpp>

#include "in_virtual_time.hpp"
#include "support/iterations.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::rate_limiter;
using coflux_test::moments;
using coflux_test::pool;
using coflux_test::sim_executor;
using coflux_test::sim_fork;
using coflux_test::sim_task;
using coflux_test::virtual_time;

sim_fork takes(coflux::environment&, borrowed<rate_limiter> l, borrowed<virtual_time> v, std::string name,
               std::size_t n) {
    co_await l->acquire(n);
    v->write(name);
}

TEST(rate_limiter, lets_a_burst_through_and_then_one_in_each_share_of_the_time) {
    virtual_time v;
    rate_limiter l(100, 1s, 3);
    EXPECT_EQ(l.available(), 3U);
    for (const char* name : {"a", "b", "c", "d", "e"}) takes(v.env, borrowed(l), borrowed(v), name, 1).attach();
    v.sim.run();
    EXPECT_EQ(v.log, (moments{{"a", 0ms}, {"b", 0ms}, {"c", 0ms}, {"d", 10ms}, {"e", 20ms}}));
    EXPECT_EQ(l.available(), 0U);
    v.sim.advance(25ms);
    EXPECT_EQ(l.available(), 2U);
    v.sim.advance(1h);
    EXPECT_EQ(l.available(), 3U) << "no more than the burst is kept";
}

TEST(rate_limiter, keeps_a_rate_that_is_no_whole_number_of_nanoseconds_without_a_drift) {
    virtual_time v;
    rate_limiter l(3, 1s, 2);
    [](coflux::environment&, borrowed<rate_limiter> l, borrowed<virtual_time> v) -> sim_task {
        co_await l->acquire();
        for (int i = 0; i != 7; ++i) {
            co_await l->acquire();
            v->write("");
        }
        for (int i = 0; i != 3 * 3600; ++i) co_await l->acquire();
    }(v.env, borrowed(l), borrowed(v))
                                                                                        .get();
    EXPECT_EQ(v.log, (moments{{"", 0ns},
                              {"", 333'333'334ns},
                              {"", 666'666'667ns},
                              {"", 1s},
                              {"", 1'333'333'334ns},
                              {"", 1'666'666'667ns},
                              {"", 2s}}));
    EXPECT_EQ(v.sim.elapsed(), 1h + 2s);
}

/// With a burst of one the rest of a nanosecond finds the bucket full.
TEST(rate_limiter, whose_burst_is_what_is_asked_for_is_late_by_what_its_waiters_are) {
    virtual_time v;
    rate_limiter l(3, 1s, 1);
    [](coflux::environment&, borrowed<rate_limiter> l) -> sim_task {
        for (int i = 0; i != 4; ++i) co_await l->acquire();
    }(v.env, borrowed(l))
                                                              .get();
    EXPECT_EQ(v.sim.elapsed(), 3 * 333'333'334ns);
}

TEST(rate_limiter, serves_in_order_and_lets_no_waiter_overtake_a_request_for_many) {
    virtual_time v;
    rate_limiter l(1, 1s, 5);
    EXPECT_TRUE(l.try_acquire(4));
    takes(v.env, borrowed(l), borrowed(v), "many", 5).attach();
    takes(v.env, borrowed(l), borrowed(v), "one", 1).attach();
    v.sim.advance(1ms);
    EXPECT_TRUE(v.log.empty());
    EXPECT_FALSE(l.try_acquire()) << "there is one, but a coroutine waits";
    EXPECT_EQ(l.available(), 1U);
    v.sim.run();
    EXPECT_EQ(v.log, (moments{{"many", 4s}, {"one", 5s}}));
}

TEST(rate_limiter, gives_at_most_the_burst_and_the_rate_in_any_span) {
    virtual_time v;
    rate_limiter l(1000, 1s, 20);
    std::vector<std::chrono::nanoseconds> given;
    [](coflux::environment&, borrowed<rate_limiter> l, borrowed<virtual_time> v,
       borrowed<std::vector<std::chrono::nanoseconds>> given) -> sim_task {
        for (std::size_t i = 0; i != 400; ++i) {
            if (i % 7 == 0) co_await coflux::sleep_for(std::chrono::microseconds(i * i % 17'000));
            const std::size_t n = 1 + i % 5;
            if (i % 3 != 0) {
                co_await l->acquire(n);
            } else if (!l->try_acquire(n)) {
                continue;
            }
            given->insert(given->end(), n, v->sim.elapsed());
        }
    }(v.env, borrowed(l), borrowed(v), borrowed(given))
                                                                     .get();
    for (std::size_t i = 0; i != given.size(); ++i) {
        for (std::size_t k = i; k != given.size(); ++k)
            ASSERT_LE(static_cast<std::int64_t>(k - i + 1), 20 + (given[k] - given[i]) / 1ms) << i << " to " << k;
    }
}

TEST(rate_limiter, that_is_asked_for_none_gives_that_without_a_wait_unless_others_stand_in_front) {
    virtual_time v;
    rate_limiter l(1, 1s, 1);
    EXPECT_TRUE(l.try_acquire());
    EXPECT_TRUE(l.try_acquire(0));
    takes(v.env, borrowed(l), borrowed(v), "one", 1).attach();
    takes(v.env, borrowed(l), borrowed(v), "none", 0).attach();
    v.sim.run();
    EXPECT_EQ(v.log, (moments{{"one", 1s}, {"none", 1s}}));
}

TEST(rate_limiter, refuses_what_can_never_be) {
    EXPECT_THROW(rate_limiter(0, 1s, 1), std::invalid_argument);
    EXPECT_THROW(rate_limiter(1, 0s, 1), std::invalid_argument);
    EXPECT_THROW(rate_limiter(1, -1s, 1), std::invalid_argument);
    EXPECT_THROW(rate_limiter(1, 1s, 0), std::invalid_argument);
    EXPECT_THROW(rate_limiter(std::numeric_limits<std::size_t>::max(), 1s, 1), std::invalid_argument);
    rate_limiter l(10, 1s, 4);
    try {
        (void)l.try_acquire(5);
        FAIL() << "it cannot give five";
    } catch (const std::invalid_argument& e) {
        EXPECT_STREQ(e.what(), "coflux: 5 permits of a rate_limiter whose burst is 4: they never come at once");
    }
    EXPECT_THROW((void)l.acquire(5), std::invalid_argument);
    EXPECT_TRUE(l.try_acquire(4)) << "nothing was taken";
}

TEST(rate_limiter, counts_up_to_the_ends_of_its_numbers) {
    virtual_time v;
    constexpr std::size_t most = std::size_t{1} << 62;
    rate_limiter slow(1, std::chrono::hours::max(), most);
    EXPECT_TRUE(slow.try_acquire(most));
    EXPECT_EQ(slow.available(), 0U);
    auto never = takes(v.env, borrowed(slow), borrowed(v), "never", most);
    v.sim.advance(24h);
    EXPECT_FALSE(never.done());
    never.request_stop();
    v.sim.advance(0ns);
    EXPECT_TRUE(never.done());
    rate_limiter fast(most, 1ns, most);
    EXPECT_TRUE(fast.try_acquire(most));
    takes(v.env, borrowed(fast), borrowed(v), "fast", most).attach();
    v.sim.run();
    EXPECT_EQ(v.log, (moments{{"fast", 24h + 1ns}}));
}

TEST(rate_limiter_stop, gives_the_place_back_and_those_behind_move_up) {
    virtual_time v;
    rate_limiter l(1, 1s, 5);
    EXPECT_TRUE(l.try_acquire(4));
    auto many = takes(v.env, borrowed(l), borrowed(v), "many", 5);
    auto one = takes(v.env, borrowed(l), borrowed(v), "one", 1);
    auto two = takes(v.env, borrowed(l), borrowed(v), "two", 2);
    auto late = takes(v.env, borrowed(l), borrowed(v), "late", 1);
    v.sim.advance(500ms);
    late.request_stop();
    many.request_stop();
    EXPECT_TRUE(v.log.empty()) << "they are queued, not run";
    v.sim.run();
    EXPECT_EQ(v.log, (moments{{"one", 500ms}, {"two", 2s}}));
    EXPECT_TRUE(many.done());
}

TEST(rate_limiter_stop, by_a_limit_or_a_select_that_decides_otherwise_takes_nothing) {
    virtual_time v;
    rate_limiter l(1, 1s, 2);
    [](coflux::environment&, borrowed<rate_limiter> l) -> sim_task {
        EXPECT_TRUE(co_await coflux::timeout(l->acquire(2), 1h));
        EXPECT_FALSE(co_await coflux::timeout(l->acquire(2), 1500ms));
        EXPECT_EQ(l->available(), 1U);
        const auto in_time = co_await coflux::select(l->acquire(), coflux::sleep_for(1h));
        EXPECT_EQ(in_time.index(), 0U);
        EXPECT_EQ(l->available(), 0U);
        coflux::manual_reset_event open(true);
        co_await coflux::sleep_for(2s);
        for (int i = 0; i != 20; ++i) {
            const std::size_t before = l->available();
            const auto first = co_await coflux::select(l->acquire(), open.wait());
            EXPECT_EQ(l->available(), before - (first.index() == 0 ? 1 : 0));
            if (l->available() == 0) co_await coflux::sleep_for(2s);
        }
    }(v.env, borrowed(l))
                                                              .get();
}

sim_fork takes_some(coflux::environment&, borrowed<rate_limiter> l, std::size_t n) {
    co_await l->acquire(n);
    co_await coflux::sleep_for(1s);
    co_await l->acquire();
}

TEST(rate_limiter_stop, at_every_point_leaves_the_permits_of_those_that_took_none) {
    const std::size_t points = coflux::testing::inject(coflux::testing::steps, [](coflux::testing::injection& run) {
        coflux::testing::fifo_chooser in_order;
        coflux::testing::simulation sim(in_order);
        sim_executor on;
        auto env = coflux::make_environment(run.memory(), on);
        rate_limiter l(1, 1s, 3);
        sim_task all = [](coflux::environment&, borrowed<rate_limiter> l) -> sim_task {
            auto&& here = co_await coflux::context();
            co_await coflux::when_all(takes_some(here, l, 3), takes_some(here, l, 2), takes_some(here, l, 1));
        }(env, borrowed(l));
        run.at_step([&] { all.request_stop(); });
        sim.on_step([&](std::size_t) { run.step(); });
        std::exception_ptr error;
        try {
            all.get();
        } catch (...) {
            error = std::current_exception();
        }
        run.no_action();
        sim.on_step({});
        sim.advance(10s);
        EXPECT_EQ(l.available(), 3U);
        if (error) std::rethrow_exception(error);
    });
    EXPECT_GT(points, 5U);
}

TEST(rate_limiter, allocates_nothing) {
    virtual_time v;
    rate_limiter l(1, 1h, 100);
    const coflux::testing::alloc_guard none;
    for (int i = 0; i != 100; ++i) EXPECT_TRUE(l.try_acquire());
    EXPECT_FALSE(l.try_acquire());
}

using pool_fork = coflux::fork<void, pool>;

pool_fork takes_often(coflux::environment&, borrowed<rate_limiter> l, borrowed<std::atomic<std::size_t>> taken,
                      std::size_t times) {
    for (std::size_t i = 0; i != times; ++i) {
        co_await l->acquire(1 + i % 3);
        taken->fetch_add(1 + i % 3, std::memory_order_relaxed);
    }
}
pool_fork gives_up_often(coflux::environment&, borrowed<rate_limiter> l, borrowed<std::atomic<std::size_t>> taken,
                         std::size_t times) {
    auto&& here = co_await coflux::context();
    for (std::size_t i = 0; i != times; ++i) {
        auto w = [](coflux::environment&, borrowed<rate_limiter> of) -> coflux::fork<int, pool> {
            co_await of->acquire(2);
            co_return 2;
        }(here, l);
        if (i % 2 == 0) co_await coflux::yield();
        w.request_stop();
        const auto end = co_await coflux::as_outcome(std::move(w));
        if (end.has_value()) taken->fetch_add(2, std::memory_order_relaxed);
    }
}

/// Waiters of two pools, some of which are stopped: none is lost, and no permit is given twice.
TEST(rate_limiter, of_many_threads_gives_each_permit_once) {
    const std::size_t rounds = coflux_test::repetitions(20'000) + 200;
    for (const std::size_t workers : {1U, 3U}) {
        pool first(workers);
        pool second(1);
        rate_limiter l(1'000'000, 1s, 4);
        std::atomic<std::size_t> taken{0};
        auto env = coflux::make_environment(first);
        auto other = coflux::make_environment(second);
        const auto root = [](coflux::environment&, borrowed<rate_limiter> of, borrowed<std::atomic<std::size_t>> taken,
                             std::size_t n) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            co_await coflux::when_all(takes_often(here, of, taken, n), takes_often(here, of, taken, n),
                                      gives_up_often(here, of, taken, n));
        };
        const auto begin = coflux::clock::now();
        auto a = root(env, borrowed(l), borrowed(taken), rounds);
        auto b = root(other, borrowed(l), borrowed(taken), rounds);
        a.get();
        b.get();
        EXPECT_GE(taken.load(), 4 * rounds);
        EXPECT_LE(taken.load(), 4 + static_cast<std::size_t>((coflux::clock::now() - begin) / 1us));
    }
}

}  // namespace

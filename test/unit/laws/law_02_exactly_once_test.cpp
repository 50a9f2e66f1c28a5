// Law 2: every awaited operation completes with one outcome; no wake-up is lost and no task is run twice.
//
// The races are between two pools of one thread: the parent on one, the child on the other. A child that is slower or faster by a
// few pauses in each round makes its end meet each step of the parent's await.
#include <coflux/coflux.hpp>

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/iterations.hpp"
#include "support/witness.hpp"

namespace {

using pool = coflux::thread_pool_executor;
using near = coflux::index<pool, 0>;
using far = coflux::index<pool, 1>;
using coflux_test::race_rounds;

/// Delays of the two sides in round `i`: every pair of 0…30 pauses comes up.
void dawdle(std::size_t steps) {
    for (std::size_t i = 0; i < steps % 31; ++i) coflux::detail::cpu_pause();
}

coflux::fork<std::size_t, far> answer(coflux::environment&, std::size_t round, std::atomic<std::size_t>* ran) {
    dawdle(round / 31);
    ran->fetch_add(1, std::memory_order_relaxed);
    co_return round;
}

coflux::fork<int, far> failing(coflux::environment&, std::size_t round) {
    dawdle(round / 31);
    throw std::runtime_error("on purpose");
    co_return 0;
}

coflux::fork<int, far> stopping(coflux::environment&, std::size_t round) {
    dawdle(round / 31);
    co_await coflux::this_coroutine::stop();
    co_return 0;
}

struct two_pools {
    pool first{coflux::thread_pool_options{.threads = 1, .name = "near"}};
    pool second{coflux::thread_pool_options{.threads = 1, .name = "far"}};
};

TEST(law_02_exactly_once, a_fork_that_ends_while_it_is_awaited_gives_its_value_once) {
    two_pools pools;
    auto env = coflux::make_environment(pools.first, pools.second);
    std::atomic<std::size_t> ran{0};
    [](auto&&, std::atomic<std::size_t>* count) -> coflux::task<void, near> {
        auto&& here = co_await coflux::context();
        for (std::size_t i = 0; i < race_rounds; ++i) {
            auto f = answer(here, i, count);
            dawdle(i);
            const std::size_t got = co_await std::move(f);
            if (got != i) ADD_FAILURE() << "round " << i << " got " << got;
        }
    }(env, &ran)
                                                       .get();
    EXPECT_EQ(ran.load(), race_rounds);
}

TEST(law_02_exactly_once, a_fork_that_fails_while_it_is_awaited_throws_once) {
    two_pools pools;
    auto env = coflux::make_environment(pools.first, pools.second);
    const std::size_t caught = [](auto&&) -> coflux::task<std::size_t, near> {
        auto&& here = co_await coflux::context();
        std::size_t errors = 0;
        for (std::size_t i = 0; i < race_rounds / 10; ++i) {
            auto f = failing(here, i);
            dawdle(i);
            auto o = co_await coflux::as_outcome(std::move(f));
            errors += o.has_error() ? 1 : 0;
        }
        co_return errors;
    }(env)
                                                 .get();
    EXPECT_EQ(caught, race_rounds / 10);
}

TEST(law_02_exactly_once, a_fork_that_stops_while_it_is_awaited_stops_once) {
    two_pools pools;
    auto env = coflux::make_environment(pools.first, pools.second);
    const std::size_t seen = [](auto&&) -> coflux::task<std::size_t, near> {
        auto&& here = co_await coflux::context();
        std::size_t stops = 0;
        for (std::size_t i = 0; i < race_rounds; ++i) {
            auto f = stopping(here, i);
            dawdle(i);
            auto o = co_await coflux::as_outcome(std::move(f));
            stops += o.is_stopped() ? 1 : 0;
        }
        co_return stops;
    }(env)
                                               .get();
    EXPECT_EQ(seen, race_rounds);
}

TEST(law_02_exactly_once, a_stop_request_that_meets_the_end_leaves_one_outcome) {
    two_pools pools;
    auto env = coflux::make_environment(pools.first, pools.second);
    const std::size_t seen = [](auto&&) -> coflux::task<std::size_t, near> {
        auto&& here = co_await coflux::context();
        std::size_t ends = 0;
        for (std::size_t i = 0; i < race_rounds; ++i) {
            auto f = [](coflux::environment&, std::size_t round) -> coflux::fork<std::size_t, far> {
                dawdle(round / 31);
                co_await coflux::yield();
                co_return round;
            }(here, i);
            dawdle(i);
            f.request_stop();
            auto o = co_await coflux::as_outcome(std::move(f));
            ends += o.is_stopped() || std::move(o).value() == i ? 1 : 0;
        }
        co_return ends;
    }(env)
                                               .get();
    EXPECT_EQ(seen, race_rounds);
}

TEST(law_02_exactly_once, a_handle_that_dies_while_its_fork_ends_frees_the_frame_once) {
    coflux::counting_resource frames;
    std::atomic<std::size_t> ran{0};
    {
        two_pools pools;
        auto env = coflux::make_environment(&frames, pools.first, pools.second);
        [](auto&&, std::atomic<std::size_t>* count) -> coflux::task<void, near> {
            auto&& here = co_await coflux::context();
            for (std::size_t i = 0; i < race_rounds; ++i) {
                auto f = answer(here, i, count);
                dawdle(i);
                std::move(f).attach();
            }
        }(env, &ran)
                                                           .get();
    }
    EXPECT_EQ(ran.load(), race_rounds);
    EXPECT_EQ(frames.live(), 0U);
}

TEST(law_02_exactly_once, a_scope_that_ends_while_its_child_does_completes_once) {
    two_pools pools;
    auto env = coflux::make_environment(pools.first, pools.second);
    std::atomic<std::size_t> ran{0};
    [](auto&&, std::atomic<std::size_t>* count) -> coflux::task<void, near> {
        auto&& here = co_await coflux::context();
        for (std::size_t i = 0; i < race_rounds; ++i) {
            co_await
                [](coflux::environment&, std::size_t round, std::atomic<std::size_t>* counter) -> coflux::call<void> {
                    auto&& below = co_await coflux::context();
                    answer(below, round, counter).attach();
                    dawdle(round);
                }(here, i, count);
            if (count->load(std::memory_order_relaxed) != i + 1) ADD_FAILURE() << "round " << i;
        }
    }(env, &ran)
                                                       .get();
}

TEST(law_02_exactly_once, a_join_that_meets_the_last_end_returns_once) {
    two_pools pools;
    auto env = coflux::make_environment(pools.first, pools.second);
    std::atomic<std::size_t> ran{0};
    [](auto&&, std::atomic<std::size_t>* count) -> coflux::task<void, near> {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here);
        for (std::size_t i = 0; i < race_rounds; ++i) {
            answer(sub, i, count).attach();
            dawdle(i);
            co_await sub.join();
            if (count->load(std::memory_order_relaxed) != i + 1) ADD_FAILURE() << "round " << i;
        }
    }(env, &ran)
                                                       .get();
}

TEST(law_02_exactly_once, a_callback_attached_while_the_fork_ends_is_called_once) {
    two_pools pools;
    auto env = coflux::make_environment(pools.first, pools.second);
    std::atomic<std::size_t> ran{0};
    std::atomic<std::size_t> called{0};
    [](auto&&, std::atomic<std::size_t>* count, std::atomic<std::size_t>* calls) -> coflux::task<void, near> {
        auto&& here = co_await coflux::context();
        for (std::size_t i = 0; i < race_rounds; ++i) {
            auto f = answer(here, i, count);
            dawdle(i);
            f.on_value([calls](std::size_t) { calls->fetch_add(1, std::memory_order_relaxed); });
            co_await std::move(f);
        }
    }(env, &ran, &called)
                                                                                        .get();
    EXPECT_EQ(called.load(), race_rounds);
}

TEST(law_02_exactly_once, a_view_awaited_by_several_gives_each_the_value_once) {
    two_pools pools;
    auto env = coflux::make_environment(pools.first, pools.second);
    std::atomic<std::size_t> ran{0};
    std::atomic<std::size_t> seen{0};
    const std::size_t rounds = race_rounds / 4;
    [](auto&&, std::size_t n, std::atomic<std::size_t>* count,
       std::atomic<std::size_t>* sum) -> coflux::task<void, near> {
        auto&& here = co_await coflux::context();
        constexpr auto reader = [](coflux::environment&, coflux::fork_view<std::size_t> v, std::size_t wait,
                                   std::atomic<std::size_t>* total) -> coflux::fork<void, near> {
            dawdle(wait);
            total->fetch_add(co_await v + 1, std::memory_order_relaxed);
        };
        constexpr auto distant = [](coflux::environment&, coflux::fork_view<std::size_t> v,
                                    std::atomic<std::size_t>* total) -> coflux::fork<void, far> {
            total->fetch_add(co_await v + 1, std::memory_order_relaxed);
        };
        std::size_t expected = 0;
        for (std::size_t i = 0; i < n; ++i) {
            auto f = answer(here, i, count);
            auto a = reader(here, f.view(), i, sum);
            auto b = distant(here, f.view(), sum);
            auto c = reader(here, f.view(), i / 7, sum);
            co_await coflux::when_all(std::move(a), std::move(b), std::move(c));
            expected += 3 * (i + 1);
            if (sum->load(std::memory_order_relaxed) != expected) ADD_FAILURE() << "round " << i;
        }
    }(env, rounds, &ran, &seen)
                                             .get();
    EXPECT_EQ(ran.load(), rounds);
}

TEST(law_02_exactly_once, when_all_over_forks_that_end_at_once_goes_on_once) {
    two_pools pools;
    auto env = coflux::make_environment(pools.first, pools.second);
    std::atomic<std::size_t> ran{0};
    [](auto&&, std::atomic<std::size_t>* count) -> coflux::task<void, near> {
        auto&& here = co_await coflux::context();
        for (std::size_t i = 0; i < race_rounds; ++i) {
            auto f = answer(here, i, count);
            auto g = answer(here, i * 31, count);
            dawdle(i);
            auto [x, y] = co_await coflux::when_all(std::move(f), std::move(g));
            if (x != i || y != i * 31) ADD_FAILURE() << "round " << i;
        }
    }(env, &ran)
                                                       .get();
    EXPECT_EQ(ran.load(), 2 * race_rounds);
}

TEST(law_02_exactly_once, a_thread_that_blocks_in_get_while_the_task_ends_gets_its_value) {
    two_pools pools;
    auto env = coflux::make_environment(pools.first, pools.second);
    for (std::size_t i = 0; i < race_rounds / 4; ++i) {
        auto t = [](coflux::environment&, std::size_t round) -> coflux::task<std::size_t, near> {
            dawdle(round / 31);
            co_return round;
        }(env, i);
        dawdle(i);
        ASSERT_EQ(t.get(), i);
    }
}

TEST(law_02_exactly_once, work_that_two_threads_may_take_is_run_once) {
    pool workers(2);
    auto env = coflux::make_environment(workers);
    const std::size_t count = race_rounds;
    std::vector<std::atomic<int>> ran(count);
    [](auto&&, std::vector<std::atomic<int>>* runs) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        for (auto& run : *runs) {
            [](coflux::environment&, std::atomic<int>* counter) -> coflux::fork<void, pool> {
                counter->fetch_add(1, std::memory_order_relaxed);
                co_return;
            }(here, &run)
                                                                       .attach();
        }
    }(env, &ran)
                                                           .get();
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(ran[i].load(), 1) << i;
}

}  // namespace

// Law 2: every awaited operation completes with one outcome; no wake-up is lost and no task is run twice.
//
// The races are between two pools of one thread: the parent on one, the children on the other. A child that is slower
// or faster by a few pauses in each round makes its end meet each step of the parent's await. Children come in batches,
// so that a race costs no wake-up of a thread.
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
using near = coflux::nth<pool, 0>;
using far = coflux::nth<pool, 1>;
using counter = std::atomic<std::size_t>;
using coflux_test::race_rounds;

constexpr std::size_t batch = 50;
static_assert(race_rounds % batch == 0);
/// Rounds in which each side waits for the other, which may cost two wake-ups of a thread each.
constexpr std::size_t slow_rounds = race_rounds / 20;
constexpr std::size_t view_rounds = slow_rounds / batch * batch;

/// Delays of the two sides in round `i`: every pair of 0…30 pauses comes up.
void dawdle(std::size_t steps) {
    for (std::size_t i = 0; i < steps % 31; ++i) coflux::detail::cpu_pause();
}

struct two_pools {
    pool first{coflux::thread_pool_options{.threads = 1, .name = "near"}};
    pool second{coflux::thread_pool_options{.threads = 1, .name = "far"}};
};

coflux::fork<std::size_t, far> answer(coflux::environment&, std::size_t round, counter* ran) {
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

coflux::fork<std::size_t, far> yielding(coflux::environment&, std::size_t round) {
    dawdle(round / 31);
    co_await coflux::yield();
    co_return round;
}

coflux::task<void, near> awaits_values(coflux::environment&, counter* ran) {
    auto&& here = co_await coflux::context();
    std::vector<coflux::fork<std::size_t, far>> forks;
    for (std::size_t base = 0; base < race_rounds; base += batch) {
        forks.clear();
        for (std::size_t i = 0; i < batch; ++i) forks.push_back(answer(here, base + i, ran));
        for (std::size_t i = 0; i < batch; ++i) {
            dawdle(base + i);
            const std::size_t got = co_await std::move(forks[i]);
            if (got != base + i) ADD_FAILURE() << "round " << base + i << " got " << got;
        }
    }
}

TEST(law_02_exactly_once, a_fork_that_ends_while_it_is_awaited_gives_its_value_once) {
    two_pools pools;
    auto env = coflux::make_environment(pools.first, pools.second);
    counter ran{0};
    awaits_values(env, &ran).get();
    EXPECT_EQ(ran.load(), race_rounds);
}

/// Awaits the outcomes of what `make` makes; returns how many of them `is` the one that is looked for.
template <typename Make, typename Is>
coflux::task<std::size_t, near> awaits_outcomes(coflux::environment&, std::size_t rounds, Make make, Is is) {
    auto&& here = co_await coflux::context();
    coflux::environment& env = here;
    std::vector<decltype(make(env, 0))> forks;
    std::size_t found = 0;
    for (std::size_t base = 0; base < rounds; base += batch) {
        forks.clear();
        for (std::size_t i = 0; i < batch; ++i) forks.push_back(make(env, base + i));
        for (std::size_t i = 0; i < batch; ++i) {
            dawdle(base + i);
            auto o = co_await coflux::as_outcome(std::move(forks[i]));
            if (is(o)) ++found;
        }
    }
    co_return found;
}

TEST(law_02_exactly_once, a_fork_that_fails_while_it_is_awaited_throws_once) {
    two_pools pools;
    auto env = coflux::make_environment(pools.first, pools.second);
    auto is_error = [](const coflux::outcome<int>& o) { return o.has_error(); };
    EXPECT_EQ(awaits_outcomes(env, race_rounds, failing, is_error).get(), race_rounds);
}

TEST(law_02_exactly_once, a_fork_that_stops_while_it_is_awaited_stops_once) {
    two_pools pools;
    auto env = coflux::make_environment(pools.first, pools.second);
    auto is_stop = [](const coflux::outcome<int>& o) { return o.is_stopped(); };
    EXPECT_EQ(awaits_outcomes(env, race_rounds, stopping, is_stop).get(), race_rounds);
}

coflux::task<std::size_t, near> stops_and_awaits(coflux::environment&) {
    auto&& here = co_await coflux::context();
    std::vector<coflux::fork<std::size_t, far>> forks;
    std::size_t ends = 0;
    for (std::size_t base = 0; base < race_rounds; base += batch) {
        forks.clear();
        for (std::size_t i = 0; i < batch; ++i) forks.push_back(yielding(here, base + i));
        for (std::size_t i = 0; i < batch; ++i) {
            dawdle(base + i);
            forks[i].request_stop();
            auto o = co_await coflux::as_outcome(std::move(forks[i]));
            if (o.is_stopped() || std::move(o).value() == base + i) ++ends;
        }
    }
    co_return ends;
}

TEST(law_02_exactly_once, a_stop_request_that_meets_the_end_leaves_one_outcome) {
    two_pools pools;
    auto env = coflux::make_environment(pools.first, pools.second);
    EXPECT_EQ(stops_and_awaits(env).get(), race_rounds);
}

coflux::task<void, near> drops_handles(coflux::environment&, counter* ran) {
    auto&& here = co_await coflux::context();
    std::vector<coflux::fork<std::size_t, far>> forks;
    for (std::size_t base = 0; base < race_rounds; base += batch) {
        for (std::size_t i = 0; i < batch; ++i) forks.push_back(answer(here, base + i, ran));
        for (std::size_t i = 0; i < batch; ++i) {
            dawdle(base + i);
            std::move(forks[i]).attach();
        }
        forks.clear();
    }
}

TEST(law_02_exactly_once, a_handle_that_dies_while_its_fork_ends_frees_the_frame_once) {
    coflux::counting_resource frames;
    counter ran{0};
    {
        two_pools pools;
        auto env = coflux::make_environment(&frames, pools.first, pools.second);
        drops_handles(env, &ran).get();
    }
    EXPECT_EQ(ran.load(), race_rounds);
    EXPECT_EQ(frames.live(), 0U);
}

coflux::task<void, near> attaches_callbacks(coflux::environment&, counter* ran, counter* called) {
    auto&& here = co_await coflux::context();
    std::vector<coflux::fork<std::size_t, far>> forks;
    for (std::size_t base = 0; base < race_rounds; base += batch) {
        forks.clear();
        for (std::size_t i = 0; i < batch; ++i) forks.push_back(answer(here, base + i, ran));
        for (std::size_t i = 0; i < batch; ++i) {
            dawdle(base + i);
            forks[i].on_value([called](std::size_t) { called->fetch_add(1, std::memory_order_relaxed); });
            EXPECT_EQ(co_await std::move(forks[i]), base + i);
        }
    }
}

TEST(law_02_exactly_once, a_callback_attached_while_the_fork_ends_is_called_once) {
    two_pools pools;
    auto env = coflux::make_environment(pools.first, pools.second);
    counter ran{0};
    counter called{0};
    attaches_callbacks(env, &ran, &called).get();
    EXPECT_EQ(called.load(), race_rounds);
}

template <typename E>
coflux::fork<void, E> reads(coflux::environment&, coflux::fork_view<std::size_t> view, std::size_t wait, counter* sum) {
    dawdle(wait);
    sum->fetch_add(co_await view + 1, std::memory_order_relaxed);
}

coflux::task<void, near> awaits_views(coflux::environment&, counter* ran, counter* sum) {
    auto&& here = co_await coflux::context();
    std::vector<coflux::fork<std::size_t, far>> forks;
    std::size_t expected = 0;
    for (std::size_t base = 0; base < view_rounds; base += batch) {
        forks.clear();
        for (std::size_t i = 0; i < batch; ++i) forks.push_back(answer(here, base + i, ran));
        for (std::size_t i = 0; i < batch; ++i) {
            auto a = reads<near>(here, forks[i].view(), base + i, sum);
            auto b = reads<far>(here, forks[i].view(), 0, sum);
            auto c = reads<near>(here, forks[i].view(), (base + i) / 7, sum);
            co_await coflux::when_all(std::move(a), std::move(b), std::move(c));
            expected += 3 * (base + i + 1);
            if (sum->load(std::memory_order_relaxed) != expected) ADD_FAILURE() << "round " << base + i;
        }
    }
}

TEST(law_02_exactly_once, a_view_awaited_by_several_gives_each_the_value_once) {
    two_pools pools;
    auto env = coflux::make_environment(pools.first, pools.second);
    counter ran{0};
    counter sum{0};
    awaits_views(env, &ran, &sum).get();
    EXPECT_EQ(ran.load(), view_rounds);
}

coflux::task<void, near> awaits_all(coflux::environment&, counter* ran) {
    auto&& here = co_await coflux::context();
    std::vector<coflux::fork<std::size_t, far>> forks;
    for (std::size_t base = 0; base < race_rounds; base += batch) {
        forks.clear();
        for (std::size_t i = 0; i < batch; ++i) forks.push_back(answer(here, base + i, ran));
        for (std::size_t i = 0; i < batch; i += 2) {
            dawdle(base + i);
            auto [x, y] = co_await coflux::when_all(std::move(forks[i]), std::move(forks[i + 1]));
            if (x != base + i || y != base + i + 1) ADD_FAILURE() << "round " << base + i;
        }
    }
}

TEST(law_02_exactly_once, when_all_over_forks_that_end_meanwhile_goes_on_once) {
    two_pools pools;
    auto env = coflux::make_environment(pools.first, pools.second);
    counter ran{0};
    awaits_all(env, &ran).get();
    EXPECT_EQ(ran.load(), race_rounds);
}

// --- races that happen once a round ----------------------------------------------------------------------------------

coflux::call<void> scope_with_a_late_child(coflux::environment&, std::size_t round, counter* ran) {
    auto&& here = co_await coflux::context();
    answer(here, round, ran).attach();
    answer(here, 31 * round, ran).attach();
    dawdle(round);
}

coflux::task<void, near> ends_scopes(coflux::environment&, counter* ran) {
    auto&& here = co_await coflux::context();
    for (std::size_t i = 0; i < slow_rounds; ++i) {
        co_await scope_with_a_late_child(here, i, ran);
        if (ran->load(std::memory_order_relaxed) != 2 * (i + 1)) ADD_FAILURE() << "round " << i;
    }
}

TEST(law_02_exactly_once, a_scope_that_ends_while_its_children_do_completes_once) {
    two_pools pools;
    auto env = coflux::make_environment(pools.first, pools.second);
    counter ran{0};
    ends_scopes(env, &ran).get();
}

coflux::task<void, near> joins(coflux::environment&, counter* ran) {
    auto&& here = co_await coflux::context();
    auto sub = coflux::make_environment(here);
    for (std::size_t i = 0; i < slow_rounds; ++i) {
        answer(sub, i, ran).attach();
        answer(sub, 31 * i, ran).attach();
        dawdle(i);
        co_await sub.join();
        if (ran->load(std::memory_order_relaxed) != 2 * (i + 1)) ADD_FAILURE() << "round " << i;
    }
}

TEST(law_02_exactly_once, a_join_that_meets_the_last_end_returns_once) {
    two_pools pools;
    auto env = coflux::make_environment(pools.first, pools.second);
    counter ran{0};
    joins(env, &ran).get();
}

coflux::task<std::size_t, near> gives(coflux::environment&, std::size_t round) {
    dawdle(round / 31);
    co_return round;
}

TEST(law_02_exactly_once, a_thread_that_blocks_in_get_while_the_task_ends_gets_its_value) {
    two_pools pools;
    auto env = coflux::make_environment(pools.first, pools.second);
    for (std::size_t i = 0; i < slow_rounds; ++i) {
        auto t = gives(env, i);
        dawdle(i);
        ASSERT_EQ(t.get(), i);
    }
}

coflux::fork<void, pool> counts(coflux::environment&, std::atomic<int>* runs) {
    runs->fetch_add(1, std::memory_order_relaxed);
    co_return;
}

coflux::task<void, pool> forks_all(coflux::environment&, std::vector<std::atomic<int>>* runs) {
    auto&& here = co_await coflux::context();
    for (auto& run : *runs) counts(here, &run).attach();
}

TEST(law_02_exactly_once, work_that_two_threads_may_take_is_run_once) {
    pool workers(2);
    auto env = coflux::make_environment(workers);
    std::vector<std::atomic<int>> runs(race_rounds);
    forks_all(env, &runs).get();
    for (std::size_t i = 0; i < runs.size(); ++i) ASSERT_EQ(runs[i].load(), 1) << i;
}

}  // namespace

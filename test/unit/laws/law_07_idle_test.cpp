// Law 7: a parked runtime is free.
//
// Its tests need the clock: they compare CPU time with wall time over an interval.
#include <coflux/coflux.hpp>

#include <algorithm>
#include <chrono>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/cpu_clock.hpp"

namespace {

using pool = coflux::thread_pool_executor;

/// Each worker has parked since `before`.
void wait_until_all_sleep(const pool& workers, const std::vector<coflux::worker_counters>& before) {
    const auto sleeps = [&] {
        const auto now = workers.counters();
        return std::equal(now.begin(), now.end(), before.begin(), before.end(),
                          [](const auto& n, const auto& b) { return n.sleeps > b.sleeps; });
    };
    while (!sleeps()) std::this_thread::yield();
}

/// Wall time passes in this thread's own sleep: what is measured is an interval.
void expect_idle_second() {
    EXPECT_TRUE(coflux_test::comes_to_rest(0.01, std::chrono::seconds(1)));
}

TEST(law_07_idle_by_the_clock, a_pool_that_never_had_work_uses_less_than_a_hundredth_of_a_core) {
    const pool workers(2);
    wait_until_all_sleep(workers, std::vector<coflux::worker_counters>(workers.size()));
    expect_idle_second();
}

TEST(law_07_idle_by_the_clock, a_pool_that_has_done_its_work_uses_less_than_a_hundredth_of_a_core) {
    pool workers(2);
    std::latch both_work(2);
    std::latch released(1);
    auto env = coflux::make_environment(workers);
    auto root = [](coflux::environment&, std::latch* arrive, std::latch* wait) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        for (int i = 0; i < 1000; ++i) {
            [](coflux::environment&) -> coflux::fork<void, pool> { co_return; }(here).attach();
        }
        for (int i = 0; i < 2; ++i) {
            [](coflux::environment&, std::latch* a, std::latch* w) -> coflux::fork<void, pool> {
                a->count_down();
                w->wait();
                co_return;
            }(here, arrive, wait)
                                                                          .attach();
        }
    }(env, &both_work, &released);
    both_work.wait();
    const auto before = workers.counters();  // of workers that are both awake
    released.count_down();
    root.get();
    wait_until_all_sleep(workers, before);
    expect_idle_second();
}

TEST(law_07_idle_by_the_clock, a_pool_whose_coroutines_wait_for_a_value_uses_less_than_a_hundredth_of_a_core) {
    pool workers(2);
    std::latch both_work(2);
    std::latch released(1);
    coflux::channel<int[4]> ch;
    auto env = coflux::make_environment(workers);
    const auto receives = [](coflux::environment&, std::latch* arrive, std::latch* wait,
                             coflux::borrowed<coflux::channel<int[4]>> from) -> coflux::task<int, pool> {
        arrive->count_down();
        wait->wait();
        const auto v = co_await from->receive();
        co_return *v;
    };
    auto first = receives(env, &both_work, &released, coflux::borrowed(ch));
    auto second = receives(env, &both_work, &released, coflux::borrowed(ch));
    both_work.wait();
    const auto before = workers.counters();  // of workers that are both awake
    released.count_down();
    wait_until_all_sleep(workers, before);
    expect_idle_second();
    EXPECT_TRUE(ch.try_send(9));
    EXPECT_TRUE(ch.try_send(9));
    EXPECT_EQ(first.get(), 9);
    EXPECT_EQ(second.get(), 9);
}

TEST(law_07_idle_by_the_clock, a_pool_whose_limits_were_watched_uses_less_than_a_hundredth_of_a_core) {
    pool workers(2);
    auto env = coflux::make_environment(workers);
    for (int i = 0; i < 10; ++i) {
        [](coflux::environment&) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            auto child = [](coflux::environment&) -> coflux::fork<void, pool> {
                co_await std::chrono::milliseconds(1);
            }(here);
            (void)co_await coflux::timeout(std::move(child), std::chrono::milliseconds(50));
        }(env)
                                        .get();
    }
    auto sleeper = [](coflux::environment&) -> coflux::task<void, pool> { co_await std::chrono::hours(10); }(env);
    expect_idle_second();
    sleeper.request_stop();
    sleeper.join();
}

using serial = coflux::strand<pool>;

coflux::task<void, serial> sleeps_with_others(coflux::environment&, std::latch* all) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < 10; ++i) {
        [](coflux::environment&, std::latch* l) -> coflux::fork<void, serial> {
            l->count_down();
            co_await coflux::sleep_for(std::chrono::hours(1));
        }(here, all)
                                                       .attach();
    }
    co_await coflux::sleep_for(std::chrono::hours(1));
}

TEST(law_07_idle_by_the_clock, a_thousand_strands_with_ten_thousand_sleepers_use_less_than_a_hundredth_of_a_core) {
    pool workers(2);
    std::latch all(10'000);
    std::vector<std::unique_ptr<serial>> strands;
    std::vector<std::unique_ptr<coflux::environment_of<serial&>>> environments;
    std::vector<coflux::task<void, serial>> roots;
    const auto before = workers.counters();
    for (int i = 0; i < 1000; ++i) {
        strands.push_back(std::make_unique<serial>(workers));
        environments.push_back(std::make_unique<coflux::environment_of<serial&>>(*strands.back()));
        roots.push_back(sleeps_with_others(*environments.back(), &all));
    }
    all.wait();
    wait_until_all_sleep(workers, before);
    expect_idle_second();
    for (auto& e : environments) e->request_stop();
    for (auto& root : roots) root.join();
}

}  // namespace

// After warm-up, executors that run one coroutine at a time allocate nothing (law 5).
#include <chrono>
#include <cstddef>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/alloc_guard.hpp>

namespace {

using pool = coflux::thread_pool_executor;
using strand = coflux::strand<pool>;
using worker = coflux::worker_executor;
using loop = coflux::run_loop;

class serial_allocations : public ::testing::Test {
protected:
    void SetUp() override {
        if (!coflux::testing::counts_new()) GTEST_SKIP() << "the sanitizer has its own operator new";
    }
    pool threads{{.threads = 1, .keep_memory = std::chrono::nanoseconds::max()}};
};

constexpr int rounds = 2'000;
/// As in allocations_test.cpp: how many times a run may find memory that its threads' lists lack.
constexpr std::size_t found_late = 2UL * 4 * 4 * 8;

template <typename E>
coflux::fork<int, E> plain(coflux::environment&) {
    co_return 1;
}
template <typename E>
coflux::fork<int, E> pauses(coflux::environment&) {
    co_await coflux::yield();
    co_await coflux::sleep_for(std::chrono::nanoseconds(1));
    co_return 1;
}
/// Forks on `E` and beside it, awaits in both orders, a visit, and more at once than a ready ring holds.
template <typename E>
coflux::call<void> one_round(coflux::environment& here, E* home, pool* away, bool many) {
    auto a = plain<E>(here);
    auto b = pauses<E>(here);
    auto c = plain<pool>(here);
    (void)co_await std::move(a);
    (void)co_await std::move(b);
    (void)co_await std::move(c);
    co_await coflux::resume_on(*away);
    co_await coflux::resume_on(*home);
    if (many) {
        for (int i = 0; i < 600; ++i) home->execute(std::noop_coroutine());
        co_await coflux::yield();
    }
}
template <typename E>
coflux::task<std::size_t, E> measured(coflux::environment&, E* home, pool* away) {
    auto&& here = co_await coflux::context();
    std::size_t allocated = 1;
    for (std::size_t all = 0; allocated != 0 && all <= found_late; all += allocated) {
        const std::size_t before = coflux::testing::new_calls();
        for (int i = 0; i < rounds; ++i) co_await one_round(here, home, away, i % 100 == 0);
        allocated = coflux::testing::new_calls() - before;
    }
    co_return allocated;
}

TEST_F(serial_allocations, of_a_strand_are_none) {
    strand on(threads);
    auto env = coflux::make_environment(threads, on);
    EXPECT_EQ(measured(env, &on, &threads).get(), 0U);
}

TEST_F(serial_allocations, of_a_worker_are_none) {
    worker on({.keep_memory = std::chrono::nanoseconds::max()});
    auto env = coflux::make_environment(threads, on);
    EXPECT_EQ(measured(env, &on, &threads).get(), 0U);
}

TEST_F(serial_allocations, of_a_run_loop_are_none) {
    loop on;
    auto env = coflux::make_environment(threads, on);
    EXPECT_EQ(on.run(measured(env, &on, &threads)), 0U);
}

}  // namespace

#include <coflux/executor/strand.hpp>

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

namespace {

using pool = coflux::thread_pool_executor;
using serial = coflux::strand<pool>;

/// Notices two coroutines that are inside at the same time.
struct exclusive {
    std::atomic<int> inside{0};
    int entered = 0;  // not atomic: ThreadSanitizer sees what the strand does not order
    bool overlapped = false;

    void visit() {
        overlapped = overlapped || inside.fetch_add(1) != 0;
        ++entered;
        inside.fetch_sub(1);
    }
};

coflux::fork<void, serial> visits(coflux::environment&, exclusive* x, int times) {
    for (int i = 0; i < times; ++i) {
        x->visit();
        co_await coflux::yield();
    }
}
coflux::task<void, pool> many_visits(coflux::environment&, exclusive* x, int forks, int times) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < forks; ++i) visits(here, x, times).attach();
}

TEST(strand, runs_one_coroutine_at_a_time) {
    pool threads(2);
    serial on(threads);
    auto env = coflux::make_environment(threads, on);
    exclusive x;
    many_visits(env, &x, 100, 100).get();
    EXPECT_EQ(x.entered, 100 * 100);
    EXPECT_FALSE(x.overlapped);
}

coflux::fork<void, pool> comes_and_goes(coflux::environment&, serial* on, pool* threads, exclusive* x, int times) {
    for (int i = 0; i < times; ++i) {
        co_await coflux::resume_on(*on);
        x->visit();
        co_await coflux::resume_on(*threads);
    }
}
coflux::task<void, pool> many_come_and_go(coflux::environment&, serial* on, pool* threads, exclusive* x) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < 50; ++i) comes_and_goes(here, on, threads, x, 100).attach();
}

TEST(strand, excludes_coroutines_that_come_to_it_and_go) {
    pool threads(2);
    serial on(threads);
    auto env = coflux::make_environment(threads, on);
    exclusive x;
    many_come_and_go(env, &on, &threads, &x).get();
    EXPECT_EQ(x.entered, 50 * 100);
    EXPECT_FALSE(x.overlapped);
}

}  // namespace

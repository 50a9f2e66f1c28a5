// A loop in the loop of another library: run_loop::descriptor() and poll(2).
#include <coflux/executor/run_loop.hpp>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include <poll.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "loose_coroutine.hpp"
#include "watchdog.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::run_loop;
using coflux_test::loose;
using coflux_test::watchdog;
using pool = coflux::thread_pool_executor;

bool is_readable(run_loop& loop, int milliseconds = 0) {
    pollfd one{loop.descriptor(), POLLIN, 0};
    return ::poll(&one, 1, milliseconds) == 1;
}
/// As another library's loop does: sleeps in poll(2), and calls poll().
template <typename Task>
void host(run_loop& loop, Task& task) {
    while (!task.done()) {
        EXPECT_TRUE(is_readable(loop, -1));
        (void)loop.poll();
    }
}

TEST(run_loop_descriptor, is_readable_after_a_post_until_the_loop_has_run) {
    run_loop loop;
    (void)loop.descriptor();
    (void)loop.poll();
    EXPECT_FALSE(is_readable(loop));
    loop.execute(loose([] {}));
    EXPECT_TRUE(is_readable(loop));
    EXPECT_EQ(loop.poll(), 1U);
    EXPECT_FALSE(is_readable(loop));
}

TEST(run_loop_descriptor, tells_of_what_was_posted_before_it_was_asked_for) {
    run_loop loop;
    loop.execute(loose([] {}));
    EXPECT_TRUE(is_readable(loop));
    EXPECT_EQ(loop.poll(), 1U);
}

TEST(run_loop_descriptor, stays_readable_while_something_is_left) {
    run_loop loop;
    (void)loop.descriptor();
    (void)loop.poll();
    for (int i = 0; i < 3; ++i) loop.execute(loose([] {}));
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(is_readable(loop)) << i;
        EXPECT_EQ(loop.poll_one(), 1U);
    }
    EXPECT_FALSE(is_readable(loop));
}

TEST(run_loop_descriptor, stays_readable_after_a_stop_that_left_something) {
    run_loop loop;
    (void)loop.descriptor();
    loop.execute(loose([&] { loop.stop(); }));
    loop.execute(loose([] {}));
    EXPECT_EQ(loop.run(), 1U);
    EXPECT_TRUE(is_readable(loop));
    EXPECT_EQ(loop.poll(), 1U);
    EXPECT_FALSE(is_readable(loop));
}

coflux::task<void, run_loop> naps(coflux::environment&, int times) {
    for (int i = 0; i < times; ++i) co_await coflux::sleep_for(1ms);
}

TEST(run_loop_descriptor, is_readable_when_a_timer_is_due) {
    const watchdog guard("a loop that sleeps in poll(2)");
    run_loop loop;
    auto env = coflux::make_environment(loop);
    auto task = naps(env, 10);
    host(loop, task);
    task.get();
    (void)loop.poll();
    EXPECT_FALSE(is_readable(loop));
}

coflux::fork<int, pool> computes(coflux::environment&, int x) {
    co_return x;
}
coflux::task<int, run_loop> asks(coflux::environment&) {
    auto&& here = co_await coflux::context();
    int sum = 0;
    for (int i = 0; i < 300; ++i) sum += co_await computes(here, 1);
    co_return sum;
}

TEST(run_loop_descriptor, is_readable_when_a_pool_has_an_answer) {
    const watchdog guard("a loop that sleeps in poll(2) beside a pool");
    for (const std::size_t workers : {1U, 2U}) {
        run_loop loop;
        pool threads(workers);
        auto env = coflux::make_environment(loop, threads);
        auto task = asks(env);
        host(loop, task);
        EXPECT_EQ(task.get(), 300);
    }
}

coflux::task<void, run_loop> leaves_a_child(coflux::environment&) {
    auto&& here = co_await coflux::context();
    computes(here, 1).attach();
    co_return;
}

TEST(run_loop_descriptor, lets_run_and_poll_take_turns) {
    const watchdog guard("run() after poll()");
    run_loop loop;
    pool threads(1);
    auto env = coflux::make_environment(loop, threads);
    for (int i = 0; i < 50; ++i) {
        auto task = naps(env, 1);
        host(loop, task);
        task.get();
        loop.run(leaves_a_child(env));
    }
}

TEST(run_loop_descriptor, is_readable_when_another_thread_stops_a_sleeper) {
    const watchdog guard("a stop of a sleeper");
    run_loop loop;
    auto env = coflux::make_environment(loop);
    const auto sleeper = [](coflux::environment&) -> coflux::task<void, run_loop> { co_await coflux::sleep_for(1h); };
    auto task = sleeper(env);
    (void)loop.descriptor();
    (void)loop.poll();
    EXPECT_FALSE(is_readable(loop));
    std::thread([&] { task.request_stop(); }).join();
    host(loop, task);
    EXPECT_THROW(task.get(), coflux::task_stopped);
}

}  // namespace

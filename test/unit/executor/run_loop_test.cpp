#include <coflux/executor/run_loop.hpp>

#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

namespace {

using namespace std::chrono_literals;
using coflux::run_loop;

coflux::task<std::thread::id, run_loop> sleeps(coflux::environment&) {
    co_await coflux::sleep_for(1ms);
    co_return std::this_thread::get_id();
}

TEST(run_loop, runs_a_task_on_the_thread_that_calls_it) {
    run_loop loop;
    auto env = coflux::make_environment(loop);
    EXPECT_EQ(loop.run(sleeps(env)), std::this_thread::get_id());
}

TEST(run_loop, is_woken_by_another_thread) {
    run_loop loop;
    coflux::worker_executor other;
    auto env = coflux::make_environment(loop, other);
    const auto program = [](coflux::environment&, run_loop* home,
                            coflux::worker_executor* away) -> coflux::task<int, run_loop> {
        for (int i = 0; i < 100; ++i) {
            co_await coflux::resume_on(*away);
            co_await coflux::resume_on(*home);
        }
        co_return 7;
    };
    EXPECT_EQ(loop.run(program(env, &loop, &other)), 7);
}

}  // namespace

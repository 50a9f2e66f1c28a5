#include <coflux/testing/inject.hpp>

#include <cstdlib>
#include <memory_resource>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/manual_executor.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/simulation.hpp>

#include "support/failures.hpp"

namespace {

using coflux::testing::check_injection;
using coflux::testing::fault_point;
using coflux::testing::inject;
using coflux::testing::injection;
using coflux::testing::manual_executor;
using coflux_test::reported_failures;
namespace kit = coflux::testing;

coflux::fork<int, manual_executor> child(coflux::environment&, int x) {
    fault_point();
    co_await coflux::yield();
    fault_point();
    co_return x;
}
coflux::task<int, manual_executor> parent(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto a = child(here, 1);
    auto b = child(here, 2);
    auto [x, y] = co_await coflux::when_all(std::move(a), std::move(b));
    co_return x + y;
}

void run_parent(injection& run) {
    manual_executor by_hand;
    auto env = coflux::make_environment(run.memory(), by_hand);
    by_hand.on_step([&] { run.step(); });
    run.at_step([&] { env.request_stop(); });
    EXPECT_EQ(by_hand.run(parent(env)), 3);
}

TEST(inject, fails_each_allocation_of_a_tree_of_coroutines_in_turn) {
    EXPECT_EQ(inject(kit::allocations, run_parent), 3U);
}
TEST(inject, throws_at_each_fault_point_in_turn) {
    EXPECT_EQ(inject(kit::fault_points, run_parent), 4U);
}
TEST(inject, acts_at_each_step_in_turn) {
    EXPECT_GE(inject(kit::steps, run_parent), 5U);
}

coflux::fork<void, kit::sim_executor> sends(coflux::environment&, coflux::borrowed<coflux::channel<int[1]>> to) {
    for (int i = 0; i < 3; ++i) {
        const bool sent = co_await to->send(i);
        if (!sent) co_return;
    }
}
coflux::task<int, kit::sim_executor> adds_what_is_sent(coflux::environment&,
                                                       coflux::borrowed<coflux::channel<int[1]>> ch) {
    auto&& here = co_await coflux::context();
    auto sender = sends(here, ch);
    int sum = 0;
    for (int i = 0; i < 3; ++i) {
        const auto got = co_await ch->receive();
        if (!got) break;
        sum += *got;
    }
    co_await std::move(sender);
    co_return sum;
}

TEST(inject, closes_a_channel_at_each_step_of_a_simulation) {
    const std::size_t points = inject(kit::steps, [](injection& run) {
        kit::fifo_chooser fifo;
        kit::simulation sim(fifo);
        kit::sim_executor on(sim);
        auto env = coflux::make_environment(run.memory(), on);
        coflux::channel<int[1]> ch;
        sim.on_step([&](std::size_t) { run.step(); });
        run.at_step([&] { ch.close(); });
        EXPECT_LE(adds_what_is_sent(env, coflux::borrowed(ch)).get(), 3);
    });
    EXPECT_GE(points, 3U);
}

TEST(inject, reports_a_deadlock_of_a_simulation) {
    const auto report = check_injection(kit::steps, [](injection& run) {
        kit::fifo_chooser fifo;
        kit::simulation sim(fifo);
        kit::sim_executor on(sim);
        auto env = coflux::make_environment(run.memory(), on);
        coflux::channel<int[1]> ch;
        sim.on_step([&](std::size_t) { run.step(); });
        run.at_step([&] { (void)ch.try_receive(); });  // and the receiver waits for one more
        (void)adds_what_is_sent(env, coflux::borrowed(ch)).get();
    });
    EXPECT_NE(report.failure.find("the body threw: deadlock"), std::string::npos) << report.failure;
}

TEST(inject, reports_a_leak_with_its_point_and_how_to_run_it) {
    void* lost = nullptr;
    const auto report = check_injection(kit::allocations, [&lost](injection& run) {
        std::pmr::memory_resource& memory = *run.memory();
        void* const a = memory.allocate(8);
        lost = a;
        void* const b = memory.allocate(8);  // a is lost when this throws
        memory.deallocate(a, 8);
        memory.deallocate(b, 8);
    });
    EXPECT_EQ(report.failure, "alloc:2: left behind: 1 block: 8 bytes of request 1\n"
                              "  to run only this: COFLUX_INJECT=alloc:2");
    std::pmr::new_delete_resource()->deallocate(lost, 8);  // for the leak checker
}

TEST(inject, reports_an_exception_that_the_points_do_not_explain) {
    const auto report = check_injection(kit::fault_points, [](injection&) {
        try {
            fault_point();
        } catch (const kit::injected_fault&) {
            throw std::runtime_error("translated");
        }
    });
    EXPECT_NE(report.failure.find("fault:1: the body threw: translated"), std::string::npos) << report.failure;
}

TEST(inject, accepts_an_exception_that_the_options_name) {
    kit::injection_options options;
    options.accepts = [](const std::exception_ptr&) { return true; };
    const auto report = check_injection(
        kit::fault_points,
        [](injection&) {
            try {
                fault_point();
            } catch (const kit::injected_fault&) {
                throw std::runtime_error("translated");
            }
        },
        options);
    EXPECT_EQ(report.failure, "");
    EXPECT_EQ(report.points, 1U);
}

TEST(inject, reports_a_clean_run_that_throws) {
    const auto report = check_injection(kit::fault_points, [](injection&) { throw std::runtime_error("always"); });
    EXPECT_EQ(report.failure, "with nothing injected: the body threw: always");
}

TEST(inject, reports_an_invariant_that_a_run_broke) {
    int balance = 0;
    kit::injection_options options;
    options.invariant = [&] { return std::exchange(balance, 0) == 0; };
    const auto report = check_injection(
        kit::fault_points,
        [&](injection&) {
            ++balance;
            fault_point();
            fault_point();
            --balance;
        },
        options);
    EXPECT_NE(report.failure.find("fault:1: the invariant does not hold"), std::string::npos) << report.failure;
}

TEST(inject, reports_a_check_of_the_framework_that_failed_in_a_run) {
    std::string failure;
    {
        const reported_failures reported;
        failure = check_injection(kit::fault_points, [](injection&) {
                      try {
                          fault_point();
                          fault_point();
                      } catch (const kit::injected_fault&) {
                          kit::report_failure("seen");
                      }
                  }).failure;
    }
    EXPECT_NE(failure.find("fault:1: a check of the body failed"), std::string::npos) << failure;
}

coflux::task<void, manual_executor> waits(coflux::environment&, coflux::borrowed<coflux::mutex> m) {
    coflux::mutex::guard guard = co_await m->lock();
    co_await coflux::yield();
}

TEST(inject, reports_a_hang_that_the_executor_tells) {
    const auto report = check_injection(kit::steps, [](injection& run) {
        manual_executor by_hand;
        auto env = coflux::make_environment(run.memory(), by_hand);
        coflux::mutex m;
        coflux::mutex::guard lost;
        by_hand.on_step([&] { run.step(); });
        run.at_step([&] { lost = m.try_lock(); });  // and it is not unlocked
        by_hand.run(waits(env, coflux::borrowed(m)));
    });
    EXPECT_NE(report.failure.find("step:1: the body threw: coflux: nothing is queued any more"), std::string::npos)
        << report.failure;
}

TEST(inject, reports_a_body_that_could_not_fail) {
    EXPECT_EQ(check_injection(kit::allocations, [](injection&) {}).failure,
              "with nothing injected: the body takes no memory from run.memory()");
    EXPECT_EQ(check_injection(kit::steps, [](injection&) {}).failure,
              "with nothing injected: nothing calls run.step(): it belongs into on_step() of the executor");
    EXPECT_NE(check_injection(kit::steps, [](injection& run) { run.step(); }).failure.find("names no action"),
              std::string::npos);
}

TEST(inject, gives_up_on_a_body_without_an_end) {
    kit::injection_options options;
    options.most = 10;
    const auto report = check_injection(
        kit::fault_points,
        [](injection&) {
            for (;;) fault_point();
        },
        options);
    EXPECT_EQ(report.failure, "fault: no end after 10 points");
}

TEST(inject, makes_only_the_run_that_the_process_is_asked_for) {
    std::vector<int> calls;
    const auto body = [&](injection&) {
        int made = 0;
        calls.push_back(0);
        for (; made < 5; ++made) {
            fault_point();
            ++calls.back();
        }
    };
    ASSERT_EQ(setenv("COFLUX_INJECT", "fault:3", 1), 0);
    EXPECT_EQ(check_injection(kit::fault_points, body).failure, "");
    EXPECT_EQ(check_injection(kit::steps, body).failure, "");
    ASSERT_EQ(unsetenv("COFLUX_INJECT"), 0);
    EXPECT_EQ(calls, std::vector<int>{2});
}

TEST(inject_death, refuses_an_order_that_it_cannot_read) {
    EXPECT_DEATH(
        {
            setenv("COFLUX_INJECT", "alloc", 1);
            (void)check_injection(kit::fault_points, [](injection&) {});
        },
        "COFLUX_INJECT is \"alloc\", and should be like \"alloc:17\"");
}

TEST(inject, hands_a_failure_to_the_framework) {
    const reported_failures reported;
    EXPECT_EQ(inject(kit::fault_points, [](injection&) { throw std::runtime_error("always"); }), 0U);
    ASSERT_EQ(reported.messages().size(), 1U);
    EXPECT_EQ(reported.messages()[0], "inject: with nothing injected: the body threw: always");
}

}  // namespace

#include <coflux/executor/stop_on_signals.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "support/no_hang.hpp"

namespace {

using namespace std::chrono_literals;
using pool = coflux::thread_pool_executor;

coflux::task<void, pool> sleeps(auto&&) {
    co_await coflux::sleep_for(1h);
}
coflux::task<void, pool> raises_and_sleeps(auto&&, int number) {
    (void)std::raise(number);
    co_await coflux::sleep_for(1h);
}

/// A test with signals runs in a process of its own: it sends them to the whole process.
class stop_on_signals : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

    /// In the child. Exits with the number of the signal that the object received.
    template <typename Body>
    [[noreturn]] static void child(Body body) {
        coflux_test::die_rather_than_hang();
        (void)std::signal(SIGINT, SIG_DFL);  // a shell may have asked the test to ignore it
        std::_Exit(body());
    }
};

using stop_on_signals_death = stop_on_signals;

int stopped_by(int number) {
    pool threads{1};
    auto env = coflux::make_environment(threads);
    const coflux::stop_on_signals signals(env);
    auto root = raises_and_sleeps(env, number);
    root.join();
    return env.stop_requested() ? signals.received() : 0;
}

TEST_F(stop_on_signals, stops_what_is_made_in_the_environment_at_ctrl_c) {
    EXPECT_EXIT(child([] { return stopped_by(SIGINT); }), testing::ExitedWithCode(SIGINT), "");
}
TEST_F(stop_on_signals, stops_what_is_made_in_the_environment_when_the_system_asks_to_end) {
    EXPECT_EXIT(child([] { return stopped_by(SIGTERM); }), testing::ExitedWithCode(SIGTERM), "");
}

TEST_F(stop_on_signals, takes_a_signal_that_arrives_at_a_thread_of_the_program_s_own) {
    EXPECT_EXIT(child([] {
                    pool threads{1};
                    auto env = coflux::make_environment(threads);
                    const coflux::stop_on_signals signals(env);
                    auto root = sleeps(env);
                    std::thread([] { (void)std::raise(SIGINT); }).join();
                    root.join();
                    return signals.received();
                }),
                testing::ExitedWithCode(SIGINT), "");
}

TEST_F(stop_on_signals, requests_the_stop_of_a_signal_that_came_before_it_dies) {
    EXPECT_EXIT(child([] {
                    pool threads{1};
                    auto env = coflux::make_environment(threads);
                    {
                        const coflux::stop_on_signals signals(env);
                        (void)std::raise(SIGTERM);
                    }
                    return env.stop_requested() ? 7 : 1;
                }),
                testing::ExitedWithCode(7), "");
}

TEST_F(stop_on_signals, says_that_no_signal_came) {
    pool threads{1};
    auto env = coflux::make_environment(threads);
    const coflux::stop_on_signals signals(env);
    EXPECT_EQ(signals.received(), 0);
    EXPECT_FALSE(env.stop_requested());
}

TEST_F(stop_on_signals, may_be_made_again_and_begins_anew) {
    EXPECT_EXIT(child([] {
                    pool threads{1};
                    for (const int number : {SIGINT, SIGTERM, SIGINT}) {
                        auto env = coflux::make_environment(threads);
                        const coflux::stop_on_signals signals(env);
                        if (signals.received() != 0) return 1;
                        (void)std::raise(number);
                        sleeps(env).join();
                        if (signals.received() != number) return 2;
                    }
                    return 7;
                }),
                testing::ExitedWithCode(7), "");
}

coflux::fork<void, pool> listens(auto&&, coflux::channel_sender<coflux::channel<int[8]>> taken, int number) {
    for (int i = 1; i <= 5; ++i) {
        const bool sent = co_await taken.send(i);
        if (!sent) co_return;
    }
    (void)std::raise(number);
    co_await coflux::sleep_for(1h);  // for the next request
}
coflux::fork<int, pool> handles(auto&&, coflux::channel_receiver<coflux::channel<int[8]>> taken) {
    int sum = 0;
    while (auto request = co_await taken.receive()) {
        co_await coflux::yield();
        sum += *request;
    }
    co_return sum;
}
coflux::task<int, pool> serves_and_drains(auto&&, int number) {
    auto&& here = co_await coflux::context();
    auto accepting = coflux::make_environment(here);  // what the signal stops; requests are made in `here`
    const coflux::stop_on_signals signals(accepting);
    coflux::channel<int[8]> requests;
    auto handler = handles(here, requests.receiver());
    auto listener = listens(accepting, requests.sender(), number);
    const auto ended = co_await coflux::as_outcome(std::move(listener));  // stopped: takes no more
    co_await accepting.join();
    // What was taken is finished, if that takes no longer than ten seconds.
    const auto handled = co_await coflux::timeout(std::move(handler), 10s);
    co_return ended.is_stopped() && handled ? *handled : -1;
}

TEST_F(stop_on_signals, of_a_nearer_environment_lets_what_was_taken_be_finished) {
    EXPECT_EXIT(child([] {
                    pool threads{2};
                    auto env = coflux::make_environment(threads);
                    return serves_and_drains(env, SIGTERM).get();
                }),
                testing::ExitedWithCode(15), "");
}

volatile std::sig_atomic_t heard = 0;

TEST_F(stop_on_signals, gives_a_signal_back_to_the_handler_that_was_there_before) {
    EXPECT_EXIT(child([] {
                    (void)std::signal(SIGINT, [](int) { heard = heard + 1; });
                    {
                        pool threads{1};
                        auto env = coflux::make_environment(threads);
                        const coflux::stop_on_signals signals(env);
                    }
                    (void)std::raise(SIGINT);
                    return static_cast<int>(heard);
                }),
                testing::ExitedWithCode(1), "");
}

int raises_twice(int first, int second) {
    pool threads{1};
    auto env = coflux::make_environment(threads);
    const coflux::stop_on_signals signals(env);
    (void)std::raise(first);
    (void)std::raise(second);
    return 0;
}

TEST_F(stop_on_signals_death, comes_with_the_second_signal) {
    EXPECT_EXIT(child([] { return raises_twice(SIGINT, SIGINT); }), testing::KilledBySignal(SIGINT), "");
    EXPECT_EXIT(child([] { return raises_twice(SIGINT, SIGTERM); }), testing::KilledBySignal(SIGTERM), "");
}
TEST_F(stop_on_signals_death, comes_with_a_signal_when_the_object_is_gone) {
    EXPECT_EXIT(child([] {
                    (void)stopped_by(SIGTERM);
                    (void)std::raise(SIGTERM);
                    return 0;
                }),
                testing::KilledBySignal(SIGTERM), "");
}
TEST_F(stop_on_signals_death, is_what_two_at_the_same_time_come_to) {
    EXPECT_DEATH(
        {
            pool threads{1};
            auto env = coflux::make_environment(threads);
            const coflux::stop_on_signals one(env);
            const coflux::stop_on_signals other(env);
        },
        "two stop_on_signals at the same time");
}

}  // namespace

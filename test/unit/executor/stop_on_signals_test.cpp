#include <coflux/executor/stop_on_signals.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <thread>

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "support/forbidden_calls.hpp"
#include "support/iterations.hpp"
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

int stopped_by(int number, std::chrono::nanoseconds second_after = 1s) {
    pool threads{1};
    auto env = coflux::make_environment(threads);
    const coflux::stop_on_signals signals(env, second_after);
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
    // Work that was taken is finished, if that takes no longer than ten seconds.
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

// --- one after the other ---------------------------------------------------------------------------------------------

/// How many of `times` signals, each of which comes while an object dies, are neither received nor the former
/// handler's, or are both, or come to the object after it.
int lost_or_doubled(int times) {
    (void)std::signal(SIGINT, [](int) { heard = heard + 1; });
    std::atomic<int> round{0};
    std::atomic<int> raised{0};
    std::thread raises([&] {
        for (int i = 1; i <= times; ++i) {
            while (round.load() != i) std::this_thread::yield();
            for (volatile int wait = i % 512; wait != 0;) wait = wait - 1;
            (void)std::raise(SIGINT);
            raised.store(i);
        }
    });
    int wrong = 0;
    for (int i = 1; i <= times; ++i) {
        heard = 0;
        auto env = coflux::make_environment();
        {
            const coflux::stop_on_signals signals(env);
            round.store(i);
        }
        while (raised.load() != i) std::this_thread::yield();
        if (heard + (env.stop_requested() ? 1 : 0) != 1) ++wrong;
    }
    raises.join();
    return wrong;
}

TEST_F(stop_on_signals, that_dies_leaves_a_signal_to_the_former_handler_or_takes_it_and_never_to_the_next) {
    EXPECT_EXIT(child([] { return lost_or_doubled(coflux_test::repetitions(1'000)) == 0 ? 7 : 1; }),
                testing::ExitedWithCode(7), "");
}

bool has_former_handler() {
    struct sigaction now = {};
    ::sigaction(SIGINT, nullptr, &now);
    return now.sa_handler == SIG_IGN;
}
/// A handler has begun, and has not told of its signal yet, when the object dies.
int dies_beside_a_handler() {
    (void)std::signal(SIGINT, SIG_IGN);
    auto first = coflux::make_environment();
    auto signals = std::make_unique<coflux::stop_on_signals>(first, 0s);
    std::atomic<coflux_test::held_calls*> handler{nullptr};
    std::thread raises([&] {
        coflux_test::held_calls writes({.number = SYS_write, .error = 0, .argument = 2, .bits = 0xffff, .are = 1});
        handler.store(&writes);
        if (writes.is_supported()) (void)std::raise(SIGINT);
    });
    while (handler.load() == nullptr) std::this_thread::yield();
    if (!handler.load()->is_supported()) return 7;
    handler.load()->await_one();
    std::atomic<bool> is_dead{false};
    std::thread dies([&] {
        signals.reset();
        is_dead.store(true);
    });
    while (!has_former_handler()) std::this_thread::yield();
    // The clock, because what waits for the handler shows nothing: one that did not wait would be dead soon.
    for (int i = 0; i != 50 && !is_dead.load(); ++i) std::this_thread::sleep_for(1ms);
    handler.load()->let_go();
    dies.join();
    raises.join();
    if (!first.stop_requested()) return 1;
    auto second = coflux::make_environment();
    { const coflux::stop_on_signals again(second); }
    return second.stop_requested() ? 2 : 7;
}
TEST_F(stop_on_signals, that_dies_waits_for_a_handler_that_has_not_told_of_its_signal_yet) {
    EXPECT_EXIT(child(dies_beside_a_handler), testing::ExitedWithCode(7), "");
}

/// The handler of a second signal stands still until the object is gone and there is another one.
int comes_to_the_next_with_a_handler_that_is_late() {
    auto first = coflux::make_environment();
    auto signals = std::make_unique<coflux::stop_on_signals>(first, 0s);
    (void)std::raise(SIGINT);
    std::atomic<coflux_test::held_calls*> handler{nullptr};
    std::thread raises([&] {
        coflux_test::held_calls looks(
            {.number = SYS_rt_sigaction, .error = 0, .argument = 0, .bits = 0xffff, .are = SIGINT});
        handler.store(&looks);
        if (looks.is_supported()) (void)std::raise(SIGINT);
    });
    while (handler.load() == nullptr) std::this_thread::yield();
    if (handler.load()->is_supported()) {
        handler.load()->await_one();
        signals.reset();
        auto second = coflux::make_environment();
        {
            const coflux::stop_on_signals again(second);
            handler.load()->let_go();
            raises.join();
        }
        return second.stop_requested() ? 7 : 1;
    }
    raises.join();
    return 7;
}
TEST_F(stop_on_signals, takes_a_signal_whose_handler_began_before_it_was_made) {
    if (COFLUX_TEST_TSAN) GTEST_SKIP() << "TSan knows the handlers itself, and does not ask the system";
    EXPECT_EXIT(child(comes_to_the_next_with_a_handler_that_is_late), testing::ExitedWithCode(7), "");
}

// --- fork(), and descriptors -----------------------------------------------------------------------------------------

/// The end of a child of fork() that runs `body`, whose result is its exit status.
template <typename Body>
int status_of_fork(Body body) {
    const pid_t forked = ::fork();
    if (forked == 0) {
        coflux_test::die_rather_than_hang();
        std::_Exit(body());
    }
    int status = 0;
    ::waitpid(forked, &status, 0);
    return status;
}

/// TSan calls no handler in a child of a process with threads, and starts no thread there.
#define SKIP_FORKS_UNDER_TSAN() \
    if (COFLUX_TEST_TSAN) GTEST_SKIP() << "TSan does not support a child of a process with threads"

int leaves_signals_of_a_fork_there() {
    auto env = coflux::make_environment();
    {
        const coflux::stop_on_signals signals(env);
        for (const int number : {SIGINT, SIGTERM}) {
            const int status = status_of_fork([&] {
                (void)std::raise(number);
                return 3;
            });
            if (!WIFSIGNALED(status) || WTERMSIG(status) != number) return 1;
        }
    }
    return env.stop_requested() ? 2 : 7;
}
TEST_F(stop_on_signals, leaves_the_signals_of_a_forked_child_to_that_child) {
    SKIP_FORKS_UNDER_TSAN();
    EXPECT_EXIT(child(leaves_signals_of_a_fork_there), testing::ExitedWithCode(7), "");
}

int dies_in_a_fork() {
    pool threads{1};
    auto env = coflux::make_environment(threads);
    auto signals = std::make_unique<coflux::stop_on_signals>(env);
    const int status = status_of_fork([&] {
        signals.reset();
        // One of the child's own.
        auto own = coflux::make_environment();
        {
            const coflux::stop_on_signals again(own, 0s);
            (void)std::raise(SIGINT);
        }
        if (!own.stop_requested()) return 1;
        (void)std::raise(SIGTERM);
        return 2;
    });
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGTERM) return 1;
    // The parent's goes on.
    auto root = raises_and_sleeps(env, SIGTERM);
    root.join();
    return env.stop_requested() ? 7 : 2;
}
TEST_F(stop_on_signals, that_dies_in_a_forked_child_leaves_its_parent_s_alone_and_makes_room_for_the_child_s_own) {
    SKIP_FORKS_UNDER_TSAN();
    EXPECT_EXIT(child(dies_in_a_fork), testing::ExitedWithCode(7), "");
}

int open_descriptors() {
    int open = 0;
    for (int number = 0; number != 256; ++number) open += ::fcntl(number, F_GETFD) >= 0 ? 1 : 0;
    return open;
}
int takes_anew_in_a_fork(bool reuses_numbers) {
    auto env = coflux::make_environment();
    const coflux::stop_on_signals signals(env);
    const int status = status_of_fork([&] {
        if (reuses_numbers) {
            for (int number = 3; number != 256; ++number) {
                if (::fcntl(number, F_GETFD) < 0) continue;
                ::close(number);
                if (::open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) return 1;
            }
        }
        const int before = open_descriptors();
        for (int i = 0; i != 2; ++i) {
            auto own = coflux::make_environment();
            const coflux::stop_on_signals again(own);
        }
        return before - open_descriptors();
    });
    return WIFEXITED(status) && WEXITSTATUS(status) == (reuses_numbers ? 0 : 2) ? 7 : 1;
}
TEST_F(stop_on_signals, that_is_made_in_a_forked_child_closes_the_pipe_of_its_parent_s_and_nothing_else) {
    SKIP_FORKS_UNDER_TSAN();
    for (const bool reuses_numbers : {false, true})
        EXPECT_EXIT(child([=] { return takes_anew_in_a_fork(reuses_numbers); }), testing::ExitedWithCode(7), "");
}

int stays_off_the_standard_streams() {
    for (const int stream : {0, 1, 2}) ::close(stream);
    auto env = coflux::make_environment();
    {
        const coflux::stop_on_signals signals(env);
        // The words of a program that has no output.
        for (const int stream : {0, 1, 2}) {
            if (::write(stream, "\x0f", 1) != -1 || errno != EBADF) return 1;
        }
    }
    return env.stop_requested() ? 2 : 7;
}
TEST_F(stop_on_signals, takes_no_number_of_a_standard_stream_that_is_closed) {
    EXPECT_EXIT(child(stays_off_the_standard_streams), testing::ExitedWithCode(7), "");
}

#ifdef SYS_pipe
TEST_F(stop_on_signals, has_a_pipe_that_is_not_inherited_from_the_first) {
    if (COFLUX_ASAN && COFLUX_CLANG) GTEST_SKIP() << "a check of UBSan opens a pipe";
    EXPECT_EXIT(child([] {
                    coflux_test::forbid({.number = SYS_pipe, .error = EPERM});
                    coflux_test::forbid({.number = SYS_pipe2, .error = EPERM, .argument = 1, .bits = O_CLOEXEC});
                    return stopped_by(SIGINT) == SIGINT ? 7 : 1;
                }),
                testing::ExitedWithCode(7), "");
}
#endif

int raises_twice(int first, int second, std::chrono::nanoseconds second_after) {
    pool threads{1};
    auto env = coflux::make_environment(threads);
    const coflux::stop_on_signals signals(env, second_after);
    (void)std::raise(first);
    for (int i = 0; i != 3; ++i) (void)std::raise(second);
    return signals.received() == 0 ? 1 : 7;
}
int received_of_two(int first, int second) {
    pool threads{1};
    auto env = coflux::make_environment(threads);
    const coflux::stop_on_signals signals(env, 1h);
    (void)std::raise(first);
    (void)std::raise(second);
    sleeps(env).join();
    return signals.received();
}

TEST_F(stop_on_signals, takes_signals_that_come_together_for_one_request) {
    EXPECT_EXIT(child([] { return received_of_two(SIGTERM, SIGTERM); }), testing::ExitedWithCode(SIGTERM), "");
    EXPECT_EXIT(child([] { return received_of_two(SIGINT, SIGTERM); }), testing::ExitedWithCode(SIGINT), "");
}
TEST_F(stop_on_signals, takes_the_same_request_for_one_also_when_the_object_is_gone) {
    EXPECT_EXIT(child([] {
                    (void)std::signal(SIGINT, [](int) { heard = heard + 1; });
                    (void)stopped_by(SIGTERM, 1h);
                    (void)std::raise(SIGTERM);
                    (void)std::raise(SIGINT);
                    // An object that is made in that time begins anew.
                    const int again = stopped_by(SIGINT, 1h);
                    (void)std::raise(SIGINT);
                    return again == SIGINT && heard == 0 ? 7 : 1;
                }),
                testing::ExitedWithCode(7), "");
}
TEST_F(stop_on_signals, gives_a_later_signal_back_to_the_handler_that_was_there_before) {
    EXPECT_EXIT(child([] {
                    (void)std::signal(SIGINT, [](int) { heard = heard + 1; });
                    for (int i = 0; i != 2; ++i) (void)stopped_by(SIGTERM, 100ms);
                    while (heard == 0) (void)std::raise(SIGINT);
                    (void)std::raise(SIGINT);
                    return static_cast<int>(heard);
                }),
                testing::ExitedWithCode(2), "");
}
TEST_F(stop_on_signals_death, comes_with_the_second_signal) {
    EXPECT_EXIT(child([] { return raises_twice(SIGINT, SIGINT, 0s); }), testing::KilledBySignal(SIGINT), "");
    EXPECT_EXIT(child([] { return raises_twice(SIGINT, SIGTERM, -1s); }), testing::KilledBySignal(SIGTERM), "");
}
TEST_F(stop_on_signals_death, comes_with_a_signal_that_is_later_than_the_same_request) {
    EXPECT_EXIT(child([] { return raises_twice(SIGINT, SIGINT, 1ns); }), testing::KilledBySignal(SIGINT), "");
}
TEST_F(stop_on_signals_death, comes_with_a_signal_when_the_object_is_gone) {
    EXPECT_EXIT(child([] {
                    (void)stopped_by(SIGTERM, 0s);
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

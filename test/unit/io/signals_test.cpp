// Signals as something to await.
#include <coflux/io/signals.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>
#include <optional>
#include <semaphore>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"
#include "support/no_hang.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::environment;
using coflux::received_signal;
using coflux::signal_set;
using coflux_test::open_descriptors;

/// To the process: any thread may get it.
void send(int number) {
    ::kill(::getpid(), number);
}

#if defined(__SANITIZE_THREAD__)
constexpr bool under_tsan = true;
#elif defined(__has_feature)
constexpr bool under_tsan = __has_feature(thread_sanitizer);
#else
constexpr bool under_tsan = false;
#endif

/// TSan keeps a signal for the next call that it intercepts; a thread that joins a task makes none. There that thread
/// must not get the signals; threads that were made before it are not touched.
class not_for_this_thread {
public:
    not_for_this_thread() {
        if (!under_tsan) return;
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, &before_);
    }
    not_for_this_thread(const not_for_this_thread&) = delete;
    not_for_this_thread& operator=(const not_for_this_thread&) = delete;
    ~not_for_this_thread() {
        if (under_tsan) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

private:
    sigset_t before_{};
};

template <typename E>
coflux::task<void, E> takes(environment&) {
    signal_set signals{SIGUSR1, SIGUSR2};
    send(SIGUSR1);
    received_signal got = co_await signals.next();
    EXPECT_EQ(got.number, SIGUSR1);
    EXPECT_EQ(got.sender_pid, ::getpid());
    EXPECT_EQ(got.sender_uid, ::getuid());
    const ::sigval seven{.sival_int = 7};
    ::sigqueue(::getpid(), SIGUSR2, seven);
    got = co_await signals.next();
    EXPECT_EQ(got.number, SIGUSR2);
    EXPECT_EQ(got.value, 7);
    for (const int number : {SIGUSR2, SIGUSR1, SIGUSR1}) ::raise(number);
    std::vector<int> order;
    for (int i = 0; i < 3; ++i) {
        got = co_await signals.next();
        order.push_back(got.number);
    }
    EXPECT_EQ(order, (std::vector{SIGUSR2, SIGUSR1, SIGUSR1}));
}
template <typename E>
void takes_on(E& executor) {
    auto env = coflux::make_environment(executor);
    takes<E>(env).get();
}
TEST(signal_set, gives_each_signal_with_its_sender_on_a_worker) {
    coflux::worker_executor worker;
    const not_for_this_thread blocked;
    takes_on(worker);
}
TEST(signal_set, gives_each_signal_with_its_sender_on_a_pool) {
    coflux::thread_pool_executor pool{2};
    const not_for_this_thread blocked;
    takes_on(pool);
}
TEST(signal_set, gives_each_signal_with_its_sender_without_an_executor) {
    coflux::noop_executor none;
    takes_on(none);
}

using worker = coflux::worker_executor;
using task = coflux::task<void, worker>;
using fork = coflux::fork<void, worker>;

void on_a_worker(task (*program)(environment&)) {
    worker w;
    auto env = coflux::make_environment(w);
    const not_for_this_thread blocked;
    program(env).get();
}

/// Waits first, so that the thread sleeps.
coflux::fork<received_signal, worker> waits_for_one(environment&, signal_set* of) {
    co_return co_await of->next();
}
task takes_what_another_process_sends(environment&) {
    auto&& here = co_await coflux::context();
    signal_set signals{SIGUSR1};
    auto waits = waits_for_one(here, &signals);
    co_await coflux::this_coroutine::yield();
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
        ::kill(parent, SIGUSR1);
        ::_exit(0);
    }
    const received_signal got = co_await std::move(waits);
    EXPECT_EQ(got.number, SIGUSR1);
    EXPECT_EQ(got.sender_pid, child);
    ::waitpid(child, nullptr, 0);
}
TEST(signal_set, gives_what_another_process_sends_while_its_thread_sleeps) {
    on_a_worker(takes_what_another_process_sends);
}

task takes_what_a_timer_sends(environment&) {
    signal_set signals{SIGUSR1, SIGCHLD};
    for (const int number : {SIGUSR1, SIGCHLD}) {
        ::sigevent how{};
        how.sigev_notify = SIGEV_SIGNAL;
        how.sigev_signo = number;
        how.sigev_value.sival_int = 42;
        timer_t timer{};
        EXPECT_EQ(::timer_create(CLOCK_MONOTONIC, &how, &timer), 0);
        const itimerspec soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = 1000}};
        EXPECT_EQ(::timer_settime(timer, 0, &soon, nullptr), 0);
        const received_signal got = co_await signals.next();
        EXPECT_EQ(got.number, number);
        // In place of a sender there is the number of the timer, and how often it has run over.
        EXPECT_EQ(got.sender_pid, 0);
        EXPECT_EQ(got.sender_uid, 0U);
        EXPECT_EQ(got.value, 42);
        ::timer_delete(timer);
    }
}
TEST(signal_set, gives_what_a_timer_sends_with_its_value_and_without_a_sender) {
    on_a_worker(takes_what_a_timer_sends);
}

// --- threads ---------------------------------------------------------------------------------------------------------

task takes_what_came_to_another_thread(environment&) {
    std::binary_semaphore goes_on{0};
    // It was made before the set, and blocks nothing.
    std::thread older([&] {
        goes_on.acquire();
        ::raise(SIGUSR1);
    });
    signal_set signals{SIGUSR1};
    goes_on.release();
    older.join();
    EXPECT_EQ((co_await signals.next()).number, SIGUSR1);
}
TEST(signal_set, gives_what_came_to_a_thread_that_is_older_than_it) {
    on_a_worker(takes_what_came_to_another_thread);
}

// --- a stop ----------------------------------------------------------------------------------------------------------

task loses_nothing(environment&) {
    auto&& here = co_await coflux::context();
    signal_set signals{SIGUSR1};
    for (int i = 0; i < 20; ++i) {
        auto inside = coflux::make_environment(here);
        auto waits = waits_for_one(inside, &signals);
        if (i % 2 == 0) co_await coflux::this_coroutine::yield();
        // Beside each other, in both orders.
        if (i % 4 < 2) ::raise(SIGUSR1);
        inside.request_stop();
        if (i % 4 >= 2) ::raise(SIGUSR1);
        const auto end = co_await coflux::as_outcome(std::move(waits));
        co_await inside.join();
        if (end.is_stopped()) {
            EXPECT_EQ((co_await signals.next()).number, SIGUSR1);
        } else {
            EXPECT_EQ(end.value().number, SIGUSR1);
        }
    }
    EXPECT_FALSE(co_await coflux::timeout(signals.next(), 1ms));
    ::raise(SIGUSR1);
    EXPECT_TRUE(co_await coflux::timeout(signals.next(), 10s));
}
TEST(signal_set, loses_no_signal_to_a_stop) {
    on_a_worker(loses_nothing);
}

/// Both come while a select waits for both, so that one of them loses.
fork sends_both(environment&, int value) {
    const ::sigval of_first{.sival_int = value};
    ::sigqueue(::getpid(), SIGUSR1, of_first);
    const ::sigval of_second{.sival_int = value + 1};
    ::sigqueue(::getpid(), SIGUSR2, of_second);
    co_return;
}
task selects_of_two(environment&) {
    auto&& here = co_await coflux::context();
    signal_set first{SIGUSR1};
    signal_set second{SIGUSR2};
    for (int round = 0; round < 200; round += 2) {
        auto sends = sends_both(here, round);
        auto got = co_await coflux::select(first.next(), second.next());
        co_await std::move(sends);
        const bool first_wins = got.index() == 0;
        EXPECT_EQ(first_wins ? get<0>(got).value : get<1>(got).value, first_wins ? round : round + 1);
        signal_set& loser = first_wins ? second : first;
        const auto lost = co_await coflux::timeout(loser.next(), 10s);
        EXPECT_FALSE(lost.timed_out());
        if (lost.timed_out()) co_return;
        EXPECT_EQ(lost->number, first_wins ? SIGUSR2 : SIGUSR1);
        EXPECT_EQ(lost->sender_pid, ::getpid());
        EXPECT_EQ(lost->value, first_wins ? round + 1 : round);
        (void)::raise(first_wins ? SIGUSR2 : SIGUSR1);
        const auto last = co_await coflux::timeout(loser.next(), 10s);
        EXPECT_FALSE(last.timed_out());
        if (last.timed_out()) co_return;
        EXPECT_EQ(last->value, 0);
    }
}
TEST(signal_set, loses_no_signal_to_a_select_that_another_case_wins) {
    on_a_worker(selects_of_two);
}

// --- many ------------------------------------------------------------------------------------------------------------

task takes_more_than_a_pipe_holds(environment&) {
    signal_set signals{SIGUSR1, SIGUSR2};
    constexpr int sent = 4000;
    for (int i = 0; i < sent; ++i) ::raise(SIGUSR1);
    ::raise(SIGUSR2);
    int first = 0;
    int second = 0;
    while (second == 0) {
        const received_signal got = co_await signals.next();
        ++(got.number == SIGUSR1 ? first : second);
    }
    EXPECT_EQ(second, 1);
    EXPECT_GE(first, 2700);
    EXPECT_LT(first, sent);
    ::raise(SIGUSR2);
    EXPECT_EQ((co_await signals.next()).number, SIGUSR2);
    EXPECT_FALSE(co_await coflux::timeout(signals.next(), 1ms));
}
TEST(signal_set, forgets_no_signal_behind_a_flood_of_another) {
    on_a_worker(takes_more_than_a_pipe_holds);
}

// --- before and after ------------------------------------------------------------------------------------------------

volatile std::sig_atomic_t handled = 0;
extern "C" void counts_handled(int) {
    handled = handled + 1;
}
task gives_back(environment&) {
    std::signal(SIGUSR1, &counts_handled);
    handled = 0;
    const std::size_t before = open_descriptors();
    for (int i = 0; i < 50; ++i) {
        signal_set signals{SIGUSR1, SIGUSR1};
        signal_set moved = std::move(signals);
        ::raise(SIGUSR1);
        if (i % 2 == 0) {
            EXPECT_EQ((co_await moved.next()).number, SIGUSR1);
        }
    }
    EXPECT_EQ(handled, 0);
    ::raise(SIGUSR1);
    EXPECT_EQ(handled, 1);
    // The worker has its event source since.
    EXPECT_LE(open_descriptors(), before + 3);
    std::signal(SIGUSR1, SIG_DFL);
}
TEST(signal_set, leaves_all_as_it_was) {
    on_a_worker(gives_back);
}
TEST(signal_set, leaves_a_handler_alone_that_came_after_it) {
    {
        const signal_set signals{SIGUSR1};
        std::signal(SIGUSR1, &counts_handled);
    }
    handled = 0;
    ::raise(SIGUSR1);
    EXPECT_EQ(handled, 1);
    std::signal(SIGUSR1, SIG_DFL);
}

task is_assigned(environment&) {
    signal_set signals{SIGUSR1};
    std::signal(SIGUSR2, &counts_handled);
    signals = signal_set{SIGUSR2};
    ::raise(SIGUSR2);
    EXPECT_EQ((co_await signals.next()).number, SIGUSR2);
    signal_set other{SIGUSR1};  // which was let go
    ::raise(SIGUSR1);
    EXPECT_EQ((co_await other.next()).number, SIGUSR1);
    signal_set& same = signals;
    signals = std::move(same);
    ::raise(SIGUSR2);
    EXPECT_EQ((co_await signals.next()).number, SIGUSR2);
}
TEST(signal_set, takes_the_signals_of_another_in_place_of_its_own) {
    const std::size_t before = open_descriptors();
    handled = 0;
    on_a_worker(is_assigned);
    ::raise(SIGUSR2);
    EXPECT_EQ(handled, 1);
    EXPECT_LE(open_descriptors(), before);
    std::signal(SIGUSR2, SIG_DFL);
}

std::error_code refused(std::initializer_list<int> numbers) {
    try {
        const signal_set signals(numbers);
    } catch (const std::system_error& e) {
        EXPECT_NE(std::string(e.what()).find("catch signal"), std::string::npos) << e.what();
        return e.code();
    }
    return {};
}
TEST(signal_set, refuses_what_it_cannot_catch_and_then_catches_nothing) {
    const std::size_t before = open_descriptors();
    for (const int number : {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, 0, -1, 65, 1000})
        EXPECT_EQ(refused({SIGUSR1, number}), std::errc::invalid_argument) << number;
    {
        const signal_set one{SIGUSR2};
        EXPECT_EQ(refused({SIGUSR1, SIGUSR2}), std::errc::device_or_resource_busy);
    }
    EXPECT_EQ(refused({SIGUSR1, SIGUSR2}), std::error_code());
    EXPECT_LE(open_descriptors(), before);
}

// --- beside others ---------------------------------------------------------------------------------------------------

coflux::task<int, coflux::thread_pool_executor> has_both(environment&) {
    {
        signal_set signals{SIGHUP, SIGTERM};
        ::raise(SIGHUP);
        EXPECT_EQ((co_await signals.next()).number, SIGHUP);
        ::raise(SIGTERM);  // not the program's while the set lives
        EXPECT_EQ((co_await signals.next()).number, SIGTERM);
    }
    ::raise(SIGTERM);
    co_await coflux::sleep_for(60s);
    co_return 1;
}
TEST(signal_set, works_beside_the_stop_of_a_program_on_signals) {
    EXPECT_EQ(coflux::run(coflux::run_options{}, has_both), 128 + SIGTERM);
}

TEST(signal_set_death, of_a_child_process_is_the_default) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto in_the_child = [] {
        const signal_set signals{SIGUSR1};
        const pid_t child = ::fork();
        if (child == 0) {
            ::raise(SIGUSR1);
            ::_exit(3);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        ::_exit(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1 ? 0 : 1);
    };
    EXPECT_EXIT(in_the_child(), testing::ExitedWithCode(0), "");
}

/// Forks while a handler runs on another thread: the child has its count, and not the thread.
bool makes_sets_in_forks() {
    coflux_test::die_rather_than_hang();
    std::optional<signal_set> signals(std::in_place, std::initializer_list<int>{SIGUSR1});
    std::atomic<bool> ends{false};
    std::thread raises([&] {
        while (!ends.load()) ::raise(SIGUSR1);
    });
    bool all_well = true;
    for (int i = 0; i != 100 && all_well; ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            coflux_test::die_rather_than_hang();
            signals.reset();
            for (int again = 0; again != 2; ++again) {
                signal_set own{SIGUSR1, SIGUSR2};
                ::raise(SIGUSR1);
            }
            ::raise(SIGUSR1);
            ::_exit(3);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        all_well = WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1;
    }
    ends.store(true);
    raises.join();
    return all_well;
}
TEST(signal_set_death, of_a_child_process_may_be_made_and_die_whatever_handler_ran_at_the_fork) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(::_exit(makes_sets_in_forks() ? 0 : 1), testing::ExitedWithCode(0), "");
}

/// The set of the parent takes nothing in its child, and gives nothing back there.
bool dies_in_a_fork() {
    coflux_test::die_rather_than_hang();
    std::optional<signal_set> signals(std::in_place, std::initializer_list<int>{SIGUSR1});
    const pid_t child = ::fork();
    if (child == 0) {
        const signal_set own{SIGUSR1};
        signals.reset();
        ::raise(SIGUSR1);  // own's
        ::_exit(3);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 3;
}
TEST(signal_set_death, of_a_parent_leaves_those_of_its_child_alone_when_it_dies_there) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(::_exit(dies_in_a_fork() ? 0 : 1), testing::ExitedWithCode(0), "");
}

}  // namespace

#include <coflux/executor/run.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "support/no_hang.hpp"

namespace {

using namespace std::chrono_literals;
using pool = coflux::thread_pool_executor;

coflux::task<int, pool> seven(coflux::environment&) {
    co_return 7;
}
coflux::task<void, pool> nothing(coflux::environment&) {
    co_await coflux::yield();
}
coflux::task<int, pool> sums(coflux::environment&, int argc, const char** argv, std::unique_ptr<int> more) {
    int sum = *more;
    for (int i = 0; i < argc; ++i) sum += std::atoi(argv[i]);
    co_return sum;
}

TEST(run, returns_what_the_program_returns) {
    EXPECT_EQ(coflux::run(seven), 7);
    EXPECT_EQ(coflux::run(coflux::run_options{}, seven), 7);
}
TEST(run, returns_zero_for_a_program_without_a_result) {
    EXPECT_EQ(coflux::run(nothing), 0);
}
TEST(run, takes_a_lambda_and_any_environment) {
    EXPECT_EQ(coflux::run([](auto&& env) -> coflux::task<int, pool> { co_return env.stop_requested() ? 1 : 3; }), 3);
}
TEST(run, takes_a_program_that_names_no_executor) {
    EXPECT_EQ(coflux::run([](coflux::environment&) -> coflux::task<int> { co_return 4; }), 4);
}
TEST(run, passes_arguments_on) {
    const char* argv[] = {"1", "20"};
    EXPECT_EQ(coflux::run(sums, 2, argv, std::make_unique<int>(300)), 321);
    EXPECT_EQ(coflux::run({.handle_signals = false}, sums, 1, argv, std::make_unique<int>(300)), 301);
}

int threads_named(const std::string& prefix) {
    int found = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::getline(std::ifstream(entry.path() / "comm"), name);
        if (name.starts_with(prefix)) ++found;
    }
    return found;
}

TEST(run, makes_the_pool_that_its_options_describe) {
    const auto program = [](coflux::environment&) -> coflux::task<int, pool> {
        int found = 0;
        while ((found = threads_named("program-")) < 3) co_await coflux::yield();  // a thread names itself
        co_return found;
    };
    EXPECT_EQ(coflux::run({.pool = {.threads = 3, .name = "program"}}, program), 3);
}

TEST(run, takes_frames_from_the_memory_of_its_options) {
    coflux::counting_resource memory;
    EXPECT_EQ(coflux::run({.memory = &memory}, seven), 7);
    EXPECT_NE(memory.allocations(), 0U);
    EXPECT_EQ(memory.live_bytes(), 0U);
}

TEST(run, may_be_called_again_and_again) {
    for (int i = 0; i < 5; ++i) EXPECT_EQ(coflux::run({.pool = {.threads = 1}}, seven), 7);
}

/// The text that a run leaves on stderr, and its status.
template <typename... Args>
std::pair<int, std::string> ends(Args&&... args) {
    testing::internal::CaptureStderr();
    const int status = coflux::run(std::forward<Args>(args)...);
    return {status, testing::internal::GetCapturedStderr()};
}

coflux::fork<void, pool> fails(coflux::environment&, std::string what) {
    co_await coflux::yield();
    throw std::runtime_error(what);
}
coflux::task<int, pool> awaits_a_failure(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto failing = fails(here, "no such port");
    co_await std::move(failing);
    co_return 0;
}

TEST(run, prints_an_error_and_where_the_program_stood) {
    const auto [status, text] = ends(awaits_a_failure);
    EXPECT_EQ(status, 1);
    EXPECT_EQ(text.find("error: no such port\n  in "), 0U) << text;
    EXPECT_NE(text.find("awaits_a_failure at "), std::string::npos) << text;
    EXPECT_NE(text.find("run_test.cpp:"), std::string::npos) << text;
    EXPECT_EQ(text.find("also"), std::string::npos) << text;
}

TEST(run, names_a_program_that_fails_before_its_first_await) {
    const auto [status, text] = ends(
        [](coflux::environment&, bool fails_now) -> coflux::task<int, pool> {
            if (fails_now) throw std::runtime_error("too early");
            co_return 0;
        },
        true);
    EXPECT_EQ(status, 1);
    EXPECT_EQ(text.find("error: too early\n  in "), 0U) << text;
}

coflux::task<void, pool> nests(coflux::environment&) {
    co_await coflux::yield();
    try {
        try {
            throw 42;
        } catch (...) {
            std::throw_with_nested(std::runtime_error("cannot read the file"));
        }
    } catch (...) {
        std::throw_with_nested(std::logic_error("cannot begin"));
    }
}

TEST(run, prints_what_an_error_was_nested_in) {
    const auto [status, text] = ends(nests);
    EXPECT_EQ(status, 1);
    EXPECT_EQ(text.find("error: cannot begin\n  caused by: cannot read the file\n"
                        "  caused by: not derived from std::exception\n"),
              0U)
        << text;
}

coflux::task<void, pool> fails_twice(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto one = fails(here, "the first");
    auto two = fails(here, "the second");
    co_await coflux::when_all(std::move(one), std::move(two));
}

TEST(run, prints_the_errors_that_came_with_an_error) {
    const auto [status, text] = ends(fails_twice);
    EXPECT_EQ(status, 1);
    EXPECT_EQ(text.find("error: the first\n"), 0U) << text;
    EXPECT_NE(text.find("\nalso: the second\n"), std::string::npos) << text;
}

struct cannot_be_moved_twice {
    cannot_be_moved_twice() = default;
    cannot_be_moved_twice(cannot_be_moved_twice&& other) : moves(other.moves + 1) {
        if (moves == 2) throw std::runtime_error("an argument");
    }
    int moves = 0;
};

TEST(run, prints_the_error_of_a_program_that_could_not_be_made) {
    const auto program = [](coflux::environment&, cannot_be_moved_twice) -> coflux::task<int, pool> { co_return 0; };
    const auto [status, text] = ends(program, cannot_be_moved_twice());
    EXPECT_EQ(status, 1);
    EXPECT_EQ(text, "error: an argument\n");
    EXPECT_EQ(ends(awaits_a_failure).first, 1);
    EXPECT_EQ(ends(program, cannot_be_moved_twice()).second, "error: an argument\n")
        << "with the place of an earlier error";
}

TEST(run, prints_that_there_is_no_memory) {
    const auto [status, text] = ends(coflux::run_options{.memory = std::pmr::null_memory_resource()}, seven);
    EXPECT_EQ(status, 1);
    EXPECT_EQ(text, "error: " + std::string(std::bad_alloc().what()) + "\n");
}

TEST(run, says_so_where_a_program_stops_itself) {
    const auto [status, text] =
        ends([](coflux::environment&) -> coflux::task<int, pool> { co_await coflux::this_coroutine::stop(); });
    EXPECT_EQ(status, 1);
    EXPECT_EQ(text, "error: the program was stopped, and no signal asked for it\n");
}

TEST(run, returns_one_for_an_error_that_says_that_something_was_stopped) {
    const auto [status, text] = ends([](coflux::environment&) -> coflux::task<int, pool> {
        co_await coflux::yield();
        throw coflux::task_stopped();
    });
    EXPECT_EQ(status, 1);
    EXPECT_EQ(text.find("error: " + std::string(coflux::task_stopped().what())), 0U) << text;
}

/// Each of these is a process of its own: signals go to the whole process.
class run_and_signals : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

    /// In the child. Exits with what `body` returns.
    template <typename Body>
    [[noreturn]] static void child(Body body) {
        coflux_test::die_rather_than_hang();
        (void)std::signal(SIGINT, SIG_DFL);  // a shell may have asked the test to ignore it
        std::_Exit(body());
    }
};

struct says_bye {
    ~says_bye() { std::fprintf(stderr, "bye\n"); }
};
coflux::fork<void, pool> sleeps(coflux::environment&) {
    const says_bye at_the_end;
    co_await coflux::sleep_for(1h);
}
coflux::task<int, pool> raises_and_waits(coflux::environment&, int number) {
    auto&& here = co_await coflux::context();
    auto child = sleeps(here);
    (void)std::raise(number);
    co_await std::move(child);
    co_return 0;
}

TEST_F(run_and_signals, end_the_program_with_the_status_that_a_shell_expects) {
    EXPECT_EXIT(child([] { return coflux::run(raises_and_waits, SIGINT); }), testing::ExitedWithCode(130), "^bye\n$");
    EXPECT_EXIT(child([] { return coflux::run(raises_and_waits, SIGTERM); }), testing::ExitedWithCode(143), "^bye\n$");
}

// It blocks a thread, and comes to no stop point until both signals have come.
coflux::task<int, pool> raises_two(coflux::environment&, int first, int second) {
    auto token = co_await coflux::this_coroutine::stop_token();
    (void)std::raise(first);
    while (!token.stop_requested()) {}
    (void)std::raise(second);
    co_return 5;
}

TEST_F(run_and_signals, that_come_together_are_one_request) {
    EXPECT_EQ(coflux::run_options().second_signal_after, 1s);
    coflux::run_options options;
    options.second_signal_after = 1h;
    EXPECT_EXIT(child([options] { return coflux::run(options, raises_two, SIGTERM, SIGTERM); }),
                testing::ExitedWithCode(5), "^$");
    EXPECT_EXIT(child([options] { return coflux::run(options, raises_two, SIGINT, SIGTERM); }),
                testing::ExitedWithCode(5), "^$");
}

// It blocks a thread, and comes to no stop point.
coflux::task<int, pool> ignores_a_stop(coflux::environment&, int first, int second) {
    auto token = co_await coflux::this_coroutine::stop_token();
    (void)std::raise(first);
    while (!token.stop_requested()) {}
    (void)std::raise(second);
    for (;;) {}
}

TEST_F(run_and_signals, end_a_program_that_ignores_the_stop_at_once_with_the_second) {
    coflux::run_options options;
    options.second_signal_after = 0s;
    EXPECT_EXIT(child([options] { return coflux::run(options, ignores_a_stop, SIGINT, SIGINT); }),
                testing::KilledBySignal(SIGINT), "^$");
    EXPECT_EXIT(child([options] { return coflux::run(options, ignores_a_stop, SIGTERM, SIGINT); }),
                testing::KilledBySignal(SIGINT), "^$");
}

coflux::task<int, pool> ends_in_order(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto token = co_await coflux::this_coroutine::stop_token();
    here.finish_with_value();  // the signal may cut the child off
    auto child = sleeps(here);
    (void)std::raise(SIGTERM);
    while (!token.stop_requested()) {}
    child.request_stop();
    co_return 5;
}

TEST_F(run_and_signals, leave_a_program_that_has_a_result_its_status) {
    EXPECT_EXIT(child([] { return coflux::run(ends_in_order); }), testing::ExitedWithCode(5), "^bye\n$");
}

TEST_F(run_and_signals, do_not_hide_an_error) {
    EXPECT_EXIT(child([] {
                    return coflux::run([](coflux::environment&) -> coflux::task<int, pool> {
                        auto token = co_await coflux::this_coroutine::stop_token();
                        (void)std::raise(SIGTERM);
                        while (!token.stop_requested()) {}
                        throw std::runtime_error("the clean-up failed");
                    });
                }),
                testing::ExitedWithCode(1), "^error: the clean-up failed");
}

TEST_F(run_and_signals, do_what_they_did_where_the_options_say_so) {
    EXPECT_EXIT(child([] { return coflux::run({.handle_signals = false}, raises_and_waits, SIGINT); }),
                testing::KilledBySignal(SIGINT), "^$");
}

TEST_F(run_and_signals, do_what_they_did_when_the_program_has_ended) {
    EXPECT_EXIT(child([] {
                    (void)coflux::run(seven);
                    (void)std::raise(SIGTERM);
                    return 0;
                }),
                testing::KilledBySignal(SIGTERM), "^$");
}

TEST_F(run_and_signals, that_are_one_request_do_not_take_its_status_from_a_program_that_has_ended) {
    EXPECT_EXIT(child([] {
                    const int status = coflux::run(ends_in_order);
                    (void)std::raise(SIGTERM);
                    return status;
                }),
                testing::ExitedWithCode(5), "^bye\n$");
}

TEST_F(run_and_signals, are_of_one_run_at_a_time) {
    EXPECT_DEATH(
        {
            pool threads{1};
            auto env = coflux::make_environment(threads);
            const coflux::stop_on_signals signals(env);
            (void)coflux::run(seven);
        },
        "two stop_on_signals at the same time");
}

}  // namespace

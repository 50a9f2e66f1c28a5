// Children whose process dies first: where SIGKILL is refused, and where they do not die of it.
#include <coflux/io/process.hpp>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "children.hpp"
#include "connected.hpp"
#include "support/forbidden_calls.hpp"
#include "support/iterations.hpp"
#include "support/no_hang.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::environment;
using coflux::process;
using coflux::standard_stream;
using coflux_test::forbid;
using coflux_test::is_gone;
using coflux_test::words;
using worker = coflux::worker_executor;
using task = coflux_test::worker_task;

int told = 0;
std::error_code told_code;
std::string told_text;
void is_told(const std::exception_ptr& error) noexcept {
    ++told;
    try {
        std::rethrow_exception(error);
    } catch (const std::system_error& e) {
        told_code = e.code();
        told_text = e.what();
    } catch (...) {
        told_text = "another error";
    }
}

/// How many times `text` tells of a SIGKILL.
int tellings(const std::string& text) {
    int count = 0;
    for (std::size_t at = 0; (at = text.find("send SIGKILL", at)) != std::string::npos; ++at) ++count;
    return count;
}

bool runs(int pid) {
    siginfo_t end{};
    return ::waitid(P_PID, static_cast<id_t>(pid), &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid == 0;
}

/// A death test: what `program` does, in an environment whose errors go to is_told().
template <typename... Args>
void alone(task (*program)(environment&, Args...), std::type_identity_t<Args>... args) {
    coflux_test::die_rather_than_hang();
    testing::internal::CaptureStderr();
    {
        worker w;
        auto env = coflux::make_environment(w);
        env.on_unobserved_error(&is_told);
        program(env, args...).get();
    }
    EXPECT_EQ(tellings(testing::internal::GetCapturedStderr()), 0) << "what a handler has is not printed";
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
}

/// A `sigkill_gives` of 0 means a child that does not die: no child gets the signal.
task drops_what_lives_on(environment&, int sigkill_gives, int errors) {
    auto&& here = co_await coflux::context();
    process p = co_await process::spawn("cat", {.input = standard_stream::pipe()});
    const int pid = p.id();
    coflux::child_writer input = std::move(p.standard_input());
    forbid({.number = SYS_pidfd_send_signal, .error = sigkill_gives});
    p = process();
    EXPECT_TRUE(runs(pid));
    EXPECT_EQ(told, errors);
    input.close();
    EXPECT_TRUE(co_await is_gone(here, pid));
    EXPECT_EQ(told, errors);
}
TEST(process_left_death, that_may_not_be_killed_holds_up_no_worker_and_its_error_goes_to_the_handler) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(alone(drops_what_lives_on, EPERM, 1), testing::ExitedWithCode(0), "");
}
TEST(process_left_death, that_does_not_die_holds_up_no_worker_and_leaves_no_zombie) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(alone(drops_what_lives_on, 0, 0), testing::ExitedWithCode(0), "");
}

coflux::fork<void, worker> waits_for_ever(environment&, int* pid, coflux::child_writer* input) {
    process p = co_await process::spawn("cat", {.input = standard_stream::pipe()});
    *input = std::move(p.standard_input());
    forbid({.number = SYS_pidfd_send_signal, .error = EPERM});
    *pid = p.id();
    (void)co_await p.wait();
}
task stops_the_owner_of_what_lives_on(environment&) {
    auto&& here = co_await coflux::context();
    auto inside = coflux::make_environment(here);
    int pid = 0;
    coflux::child_writer input;
    auto owner = waits_for_ever(inside, &pid, &input);
    while (pid == 0) co_await 1ms;
    inside.request_stop();
    EXPECT_TRUE((co_await coflux::as_outcome(std::move(owner))).is_stopped());
    co_await inside.join();
    EXPECT_TRUE(runs(pid));
    EXPECT_EQ(told, 1);
    EXPECT_EQ(told_code, std::errc::operation_not_permitted);
    EXPECT_NE(told_text.find("send SIGKILL, as its owner dies, to the process cat"), std::string::npos) << told_text;
    input.close();
    EXPECT_TRUE(co_await is_gone(here, pid));
}
TEST(process_left_death, of_a_stopped_coroutine_that_may_not_be_killed_holds_up_no_worker) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(alone(stops_the_owner_of_what_lives_on), testing::ExitedWithCode(0), "");
}

task drops_it_without_a_handler(environment&) {
    process p = co_await process::spawn("cat", {.input = standard_stream::pipe()});
    forbid({.number = SYS_pidfd_send_signal, .error = EPERM});
    coflux::child_writer input = std::move(p.standard_input());
    p = process();
}
TEST(process_left_death, whose_error_no_handler_wants_is_printed_and_the_program_goes_on) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto drops = [] {
        coflux_test::die_rather_than_hang();
        testing::internal::CaptureStderr();
        coflux_test::on_a_worker(drops_it_without_a_handler);
        const std::string printed = testing::internal::GetCapturedStderr();
        std::fputs(printed.c_str(), stderr);
        ::_exit(tellings(printed) == 1 ? 7 : 8);
    };
    EXPECT_EXIT(drops(), testing::ExitedWithCode(7),
                "error: .*send SIGKILL, as its owner dies, to the process cat.*not permitted");
}

task leaves_what_the_program_survives(environment&) {
    process p = co_await process::spawn("cat", {.input = standard_stream::pipe()});
    forbid({.number = SYS_pidfd_send_signal, .error = EPERM});
    // The child ends with the program, which has the other end of its pipe until then.
    static coflux::child_writer& input = *new coflux::child_writer(std::move(p.standard_input()));
    EXPECT_TRUE(input.is_open());
}
TEST(process_left_death, that_runs_on_does_not_hold_up_the_end_of_the_program) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto ends = [] {
        coflux_test::die_rather_than_hang();
        coflux_test::on_a_worker(leaves_what_the_program_survives);
        std::exit(7);  // with the end of static objects, among them the thread of the event source
    };
    EXPECT_EXIT(ends(), testing::ExitedWithCode(7), "");
}

/// Many at once, of which each is told.
task drops_many(environment&) {
    auto&& here = co_await coflux::context();
    std::vector<int> pids;
    for (int i = 0; i != 20; ++i) {
        const process p = co_await process::spawn(words{"sleep", "1000"});
        pids.push_back(p.id());
    }
    for (const int pid : pids) EXPECT_TRUE(co_await is_gone(here, pid));
}
TEST(process_left, leaves_no_zombie_and_no_descriptor_where_many_are_dropped) {
    const std::size_t of_the_event_sources = 10;
    const std::size_t before = coflux_test::open_descriptors() + of_the_event_sources;
    coflux_test::on_a_worker(drops_many);
    coflux_test::on_a_worker(drops_many);
    // The reaper closes the descriptor of a child soon after it has taken its end.
    for (int i = 0; i != 10'000 && coflux_test::open_descriptors() > before; ++i) ::usleep(1'000);
    EXPECT_LE(coflux_test::open_descriptors(), before);
}

/// Where no event source waits for it, the next that is dropped takes its end.
task drops_two_without_a_thread(environment&) {
    process one = co_await process::spawn("cat", {.input = standard_stream::pipe()});
    process two = co_await process::spawn("cat", {.input = standard_stream::pipe()});
    const int pid = one.id();
    coflux::child_writer input = std::move(one.standard_input());
    for (const long call : {SYS_clone, SYS_clone3}) forbid({.number = call, .error = EAGAIN});
    forbid({.number = SYS_pidfd_send_signal, .error = 0});  // it does not die
    one = process();
    input.close();
    siginfo_t end{};
    EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &end, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(::kill(pid, 0), 0);
    two = process();
    EXPECT_EQ(::kill(pid, 0), -1);
    EXPECT_EQ(told, 0);
}
TEST(process_left_death, that_no_event_source_can_wait_for_is_taken_by_the_next_that_is_dropped) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(alone(drops_two_without_a_thread), testing::ExitedWithCode(0), "");
}

/// A child of fork() has no thread of the parent's event source, and may have children of its own.
task drops_one(environment&, coflux::blocking_pool* threads, bool waits) {
    auto&& here = co_await coflux::context();
    int pid = 0;
    {
        const process p = co_await process::spawn(words{"sleep", "1000"}, {.pool = threads});
        pid = p.id();
        EXPECT_TRUE(runs(pid));
    }
    if (waits) {
        EXPECT_TRUE(co_await is_gone(here, pid));
    }
}
int drops_one_in_a_forked_process() {
    coflux_test::die_rather_than_hang();
    {
        coflux::blocking_pool threads;
        coflux_test::on_a_worker(drops_one, &threads, true);  // the event source of the process is made
    }
    const pid_t copy = ::fork();
    if (copy == 0) {
        coflux_test::die_rather_than_hang();
        {
            coflux::blocking_pool threads;
            coflux_test::on_a_worker(drops_one, &threads, false);
        }
        ::_exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(copy, &status, 0), copy);
    EXPECT_EQ(status, 0);
    return testing::Test::HasFailure() ? 1 : 0;
}
TEST(process_left_death, of_a_forked_process_is_killed_there_as_well) {
    if (COFLUX_TEST_TSAN) GTEST_SKIP() << "TSan does not support a child of a process with threads";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(::_exit(drops_one_in_a_forked_process()), testing::ExitedWithCode(0), "");
}

}  // namespace

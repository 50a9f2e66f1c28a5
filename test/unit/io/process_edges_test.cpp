// Children inherit some things, and some programs cannot be started.
#include <coflux/io/process.hpp>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "children.hpp"
#include "connected.hpp"
#include "support/forbidden_calls.hpp"
#include "support/temporary_folder.hpp"

namespace {

using coflux::environment;
using coflux::process;
using coflux::process_options;
using coflux::standard_stream;
using coflux_test::forbid;
using coflux_test::open_descriptors;
using coflux_test::temporary_folder;
using worker = coflux::worker_executor;
using task = coflux_test::worker_task;
using coflux_test::on_a_worker;
using coflux_test::shell;
using coflux_test::status_of;
using coflux_test::text_written_by;
using coflux_test::words;

// --- what it inherits ------------------------------------------------------------------------------------------------

task inherits_little(environment&, const temporary_folder* folder) {
    auto&& here = co_await coflux::context();
    const int open = ::open("/dev/null", O_RDONLY);  // would be inherited
    const std::string three = co_await text_written_by(here, shell("ls /proc/self/fd | wc -l"), {});
    EXPECT_EQ(std::stoi(three), 4) << three;  // and what ls reads
    ::close(open);

    process_options options;
    options.environment = {"WHAT=this", "PATH=/usr/bin:/bin"};
    std::string inside = folder->path("");
    inside.pop_back();
    options.directory = inside;
    EXPECT_EQ(co_await text_written_by(here, shell("echo $WHAT; pwd"), options), "this\n" + inside + "\n");
    ::setenv("COFLUX_TEST_VARIABLE", "inherited", 1);
    EXPECT_EQ(co_await text_written_by(here, shell("echo $COFLUX_TEST_VARIABLE"), {}), "inherited\n");
    ::unsetenv("COFLUX_TEST_VARIABLE");
}
TEST(process_edges, inherits_its_streams_and_no_other_descriptor) {
    const temporary_folder folder;
    on_a_worker(inherits_little, &folder);
}

task blocks_nothing(environment&) {
    auto&& here = co_await coflux::context();
    EXPECT_EQ((co_await status_of(here, shell("kill -TERM $$; exit 3"), {})).signal(), SIGTERM);
    EXPECT_EQ((co_await status_of(here, shell("kill -PIPE $$; exit 3"), {})).signal(), SIGPIPE);
}
TEST(process_edges, blocks_no_signals_whatever_its_maker_blocks) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    auto* const handler = std::signal(SIGPIPE, SIG_IGN);
    {
        coflux::blocking_pool pool;  // whose threads are made here
        on_a_worker(blocks_nothing);
    }
    std::signal(SIGPIPE, handler);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

task begins_where_it_is_told_at_once(environment&, std::string* far) {
    auto&& here = co_await coflux::context();
    // Options that are written in the expression that is awaited, with a short path and a long one.
    process near = co_await process::spawn(words{"pwd"}, {.output = standard_stream::pipe(), .directory = "/usr"});
    EXPECT_EQ(co_await coflux_test::all_of(here, near.standard_output()), "/usr\n");
    process other = co_await process::spawn(words{"pwd"}, {.output = standard_stream::pipe(), .directory = *far});
    EXPECT_EQ(co_await coflux_test::all_of(here, other.standard_output()), *far + "\n");
    const auto refused = co_await coflux::as_result(process::spawn(words{"pwd"}, {.directory = "/no/such/place"}));
    EXPECT_EQ(refused.error(), std::errc::no_such_file_or_directory);
    EXPECT_TRUE((co_await near.wait()).is_success());
    EXPECT_TRUE((co_await other.wait()).is_success());
}
TEST(process_edges, begins_in_a_directory_that_is_written_where_it_is_awaited) {
    const temporary_folder folder;
    std::string far = folder.path(std::string(60, 'x'));
    ASSERT_EQ(::mkdir(far.c_str(), 0700), 0);
    on_a_worker(begins_where_it_is_told_at_once, &far);
    ::rmdir(far.c_str());
}

task is_told_its_variables(environment&, const std::vector<std::string>* many) {
    auto&& here = co_await coflux::context();
    const std::string name = std::string("A=") + std::string(60, 'a');
    EXPECT_EQ(co_await text_written_by(here, shell("echo $A $B"), {.environment = {"A=1", "B=2"}}), "1 2\n");
    process one =
        co_await process::spawn(shell("echo $A"), {.output = standard_stream::pipe(), .environment = {name, "B=2"}});
    EXPECT_EQ(co_await coflux_test::all_of(here, one.standard_output()), std::string(60, 'a') + "\n");
    process other =
        co_await process::spawn(shell("echo $V0 $V99"), {.output = standard_stream::pipe(), .environment = *many});
    EXPECT_EQ(co_await coflux_test::all_of(here, other.standard_output()), "0 99\n");
    EXPECT_TRUE((co_await one.wait()).is_success());
    EXPECT_TRUE((co_await other.wait()).is_success());
}
TEST(process_edges, has_the_variables_that_are_written_where_it_is_awaited) {
    std::vector<std::string> many;
    for (int i = 0; i != 100; ++i) many.push_back("V" + std::to_string(i) + "=" + std::to_string(i));
    on_a_worker(is_told_its_variables, &many);
}

task has_no_variables(environment&) {
    auto&& here = co_await coflux::context();
    process_options options;
    options.environment = std::vector<std::string>();
    EXPECT_EQ(co_await text_written_by(here, words{"/usr/bin/env"}, options), "");
}
TEST(process_edges, has_no_variables_where_it_is_given_none) {
    ASSERT_EQ(::setenv("COFLUX_TEST_VARIABLE", "inherited", 1), 0);
    on_a_worker(has_no_variables);
    ::unsetenv("COFLUX_TEST_VARIABLE");
}

TEST(child_environment, is_copied_moved_and_assigned) {
    coflux::child_environment one = {"A=1", std::string("B=2")};
    coflux::child_environment two = one;
    const coflux::child_environment three = std::move(one);
    EXPECT_EQ(two.entries()->size(), 2U);
    EXPECT_EQ((*three.entries())[1], "B=2");
    two = {"C=3"};
    EXPECT_EQ(two.entries()->front(), "C=3");
    two = {};
    EXPECT_FALSE(two.entries().has_value());
}

// --- what cannot be started ------------------------------------------------------------------------------------------

task is_refused(environment&, words command, process_options options, std::errc why, std::string says) {
    EXPECT_EQ((co_await coflux::as_result(process::spawn(command, options))).error(), why);
    try {
        (void)co_await process::spawn(command, options);
        ADD_FAILURE() << "it was started";
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), why);
        EXPECT_NE(std::string(e.what()).find(says), std::string::npos) << e.what();
    }
}
TEST(process_edges, that_cannot_be_started_is_an_error_and_no_exit_status) {
    const temporary_folder folder;
    const std::size_t before = open_descriptors();
    on_a_worker(is_refused, words{"no-such-program-here"}, {}, std::errc::no_such_file_or_directory,
                "spawn no-such-program-here: ");
    on_a_worker(is_refused, words{"ls -l"}, {}, std::errc::no_such_file_or_directory,
                "spawn ls -l (the whole of this is the name of the program; its arguments are words of their own)");
    on_a_worker(is_refused, words{folder.path("none")}, {.input = standard_stream::pipe()},
                std::errc::no_such_file_or_directory, "spawn " + folder.path("none"));
    on_a_worker(is_refused, words{folder.file("text", "no program")}, {}, std::errc::permission_denied, "spawn");
    process_options elsewhere;
    elsewhere.directory = folder.path("nowhere");
    on_a_worker(is_refused, words{"true"}, elsewhere, std::errc::no_such_file_or_directory,
                "spawn true in the directory " + folder.path("nowhere"));
    elsewhere.directory = folder.path();
    on_a_worker(is_refused, words{"no-such-program-here"}, elsewhere, std::errc::no_such_file_or_directory,
                "spawn no-such-program-here: ");  // and nothing of the directory, which is there
    EXPECT_LE(open_descriptors(), before);        // the reaper may have closed that of a child of an earlier test
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
}

task is_no_command(environment&, words command) {
    EXPECT_THROW((void)co_await process::spawn(command), std::invalid_argument);
}
TEST(process_edges, has_a_program_without_zero_bytes) {
    on_a_worker(is_no_command, words{});
    on_a_worker(is_no_command, words{""});
    on_a_worker(is_no_command, words{"echo", std::string("a\0b", 3)});
}

coflux::task<std::error_code, worker> starts_without_descriptors(environment&) {
    const process_options piped{.input = standard_stream::pipe(), .output = standard_stream::pipe()};
    auto p = co_await coflux::as_result(process::spawn(words{"true"}, piped));
    if (p) {
        EXPECT_TRUE((co_await p->wait()).is_success());
    }
    co_return p.error();
}
TEST(process_edges, that_finds_no_descriptors_left_says_so_and_leaves_none) {
    if (coflux_test::checks_need_descriptors) GTEST_SKIP() << "a check of UBSan opens a pipe";
    worker w;
    auto env = coflux::make_environment(w);
    rlimit was{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &was), 0);
    ASSERT_FALSE(starts_without_descriptors(env).get());  // the worker's event source is made
    // A thing that the process makes once, as a descriptor in reserve, may come in any round. One that a start leaves
    // behind comes in each.
    std::size_t before = 0, after = 1;
    for (int round = 0; round != 8 && after > before; ++round) {
        before = open_descriptors();
        int refused = 0;
        // Where the last descriptor is taken, each step of the start fails once.
        for (rlim_t free = 0; free != 12; ++free) {
            const rlimit low{static_cast<rlim_t>(before) - 1 + free, was.rlim_max};
            ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
            const std::error_code error = starts_without_descriptors(env).get();
            ::setrlimit(RLIMIT_NOFILE, &was);
            if (error) {
                ++refused;
                EXPECT_EQ(error, std::errc::too_many_files_open);
            }
        }
        EXPECT_GE(refused, 3);
        after = open_descriptors();
    }
    EXPECT_LE(after, before);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
}

TEST(process_edges_death, without_pidfds_is_an_error_that_says_so) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto starts = [] {
        forbid({.number = SYS_pidfd_open, .error = ENOSYS});
        on_a_worker(is_refused, words{"true"}, {}, std::errc::function_not_supported, "without pidfds");
        ::_exit(testing::Test::HasFailure() ? 1 : 0);
    };
    EXPECT_EXIT(starts(), testing::ExitedWithCode(0), "");
}
TEST(process_edges_death, with_pidfds_that_cannot_be_waited_for_is_an_error_that_says_so) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto starts = [] {
        // Linux 5.3 can open them, and waits for them from 5.4 on.
        forbid({.number = SYS_waitid, .error = EINVAL, .argument = 0, .bits = ~0U, .are = 3});
        on_a_worker(is_refused, words{"true"}, {}, std::errc::function_not_supported, "without pidfds");
        ::_exit(testing::Test::HasFailure() ? 1 : 0);
    };
    EXPECT_EXIT(starts(), testing::ExitedWithCode(0), "");
}

task leaves_one_without_a_thread(environment&) {
    auto&& here = co_await coflux::context();
    int pid = 0;
    coflux::child_writer input;
    {
        process_options options{.input = standard_stream::pipe()};
        options.dropped = coflux::when_dropped::leave;
        process p = co_await process::spawn("cat", options);
        pid = p.id();
        input = std::move(p.standard_input());
        for (const long call : {SYS_clone, SYS_clone3}) forbid({.number = call, .error = EAGAIN});
    }
    EXPECT_EQ(::kill(pid, 0), 0);
    input.close();
    siginfo_t end{};
    EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &end, WEXITED | WNOWAIT), 0);
    // A thread of the pool takes its end, when it starts the next.
    EXPECT_TRUE((co_await status_of(here, words{"true"}, {})).is_success());
    EXPECT_EQ(::kill(pid, 0), -1);
}
TEST(process_edges_death, that_is_left_where_no_thread_can_wait_for_it_is_taken_by_the_next) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto leaves = [] {
        on_a_worker(leaves_one_without_a_thread);
        ::_exit(testing::Test::HasFailure() ? 1 : 0);
    };
    EXPECT_EXIT(leaves(), testing::ExitedWithCode(0), "");
}

task writes_to_the_ended(environment&) {
    process p = co_await process::spawn("true", {.input = standard_stream::pipe()});
    EXPECT_TRUE((co_await p.wait()).is_success());
    for (int i = 0; i != 2; ++i)
        EXPECT_EQ((co_await coflux::as_result(p.standard_input().write_all("x"))).error(), std::errc::broken_pipe);
}
TEST(process_edges_death, that_reads_no_more_is_no_signal_where_the_system_is_older) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto writes = [] {
        forbid({.number = SYS_pwritev2, .error = EOPNOTSUPP});
        on_a_worker(writes_to_the_ended);
        ::_exit(testing::Test::HasFailure() ? 1 : 0);
    };
    EXPECT_EXIT(writes(), testing::ExitedWithCode(0), "");
}

}  // namespace

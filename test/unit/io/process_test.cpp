// Children: real programs of the system.
#include <coflux/io/process.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/io/signals.hpp>

#include "children.hpp"
#include "connected.hpp"
#include "support/no_hang.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::environment;
using coflux::exit_status;
using coflux::process;
using coflux::process_options;
using coflux::standard_stream;
using coflux_test::bytes_of;
using coflux_test::open_descriptors;
using coflux_test::temporary_folder;
using coflux_test::text_of;
using worker = coflux::worker_executor;
using task = coflux_test::worker_task;
using coflux_test::all_of;
using coflux_test::is_gone;
using coflux_test::on_a_worker;
using coflux_test::shell;
using coflux_test::status_of;
using coflux_test::words;

// --- how it ends -----------------------------------------------------------------------------------------------------

task ends_in_each_way(environment&) {
    auto&& here = co_await coflux::context();
    const exit_status well = co_await status_of(here, words{"true"}, {});
    EXPECT_TRUE(well.is_success());
    EXPECT_EQ(well.to_string(), "exited with 0");
    const exit_status badly = co_await status_of(here, words{"false"}, {});
    EXPECT_EQ(badly, exit_status::of_exit(1));
    EXPECT_FALSE(badly.is_success());
    const exit_status with_seven = co_await status_of(here, shell("exit 7"), {});
    EXPECT_TRUE(with_seven.has_exited());
    EXPECT_EQ(with_seven.code(), 7);
    EXPECT_EQ(with_seven.signal(), 0);
    const exit_status killed = co_await status_of(here, shell("kill -9 $$"), {});
    EXPECT_FALSE(killed.has_exited());
    EXPECT_EQ(killed.code(), -1);
    EXPECT_EQ(killed.signal(), SIGKILL);
    EXPECT_FALSE(killed.is_success());
    EXPECT_EQ(killed.to_string(), "was ended by signal 9");
    EXPECT_NE(killed, exit_status::of_exit(9));
}
TEST(process, tells_how_it_ended) {
    on_a_worker(ends_in_each_way);
}

task is_told_twice(environment&) {
    process p = co_await process::spawn(words{"false"});
    EXPECT_GT(p.id(), 0);
    EXPECT_EQ((co_await p.wait()).code(), 1);
    EXPECT_EQ((co_await p.wait()).code(), 1);
    EXPECT_FALSE(p.kill(SIGTERM));
    EXPECT_EQ(::waitpid(p.id(), nullptr, WNOHANG), -1);  // no zombie is left
}
TEST(process, that_has_ended_says_so_again_and_gets_no_signals) {
    on_a_worker(is_told_twice);
}

task gets_signals(environment&) {
    process p = co_await process::spawn(words{"sleep", "1000"});
    EXPECT_FALSE(co_await coflux::timeout(p.wait(), 5ms));
    EXPECT_TRUE(p.kill(SIGTERM));
    EXPECT_EQ((co_await p.wait()).signal(), SIGTERM);
    process other = co_await process::spawn(words{"sleep", "1000"});
    EXPECT_THROW(other.kill(12345), std::system_error);
    EXPECT_TRUE(other.kill(SIGKILL));
    EXPECT_EQ((co_await other.wait()).signal(), SIGKILL);
}
TEST(process, is_ended_by_a_signal) {
    on_a_worker(gets_signals);
}

task loses_its_end_to_another(environment&) {
    process p = co_await process::spawn(words{"true"});
    ::waitpid(p.id(), nullptr, 0);
    EXPECT_EQ((co_await coflux::as_result(p.wait())).error(), std::errc::no_child_process);
    EXPECT_THROW((void)co_await p.wait(), std::system_error);
    EXPECT_FALSE(p.kill(SIGTERM));
}
TEST(process, whose_end_was_taken_elsewhere_says_so) {
    on_a_worker(loses_its_end_to_another);
}

// --- its streams -----------------------------------------------------------------------------------------------------

coflux::fork<void, worker> feeds(environment&, coflux::child_writer to, std::string text) {
    co_await to.write_all(text);
    to.close();  // a parameter would live as long as the handle of the fork
}
task goes_through_cat(environment&) {
    auto&& here = co_await coflux::context();
    process cat = co_await process::spawn(
        words{"cat"}, process_options{.input = standard_stream::pipe(), .output = standard_stream::pipe()});
    co_await cat.standard_input().write_all("hello");
    std::string five(5, ' ');
    co_await cat.standard_output().read_exactly(bytes_of(five));
    EXPECT_EQ(five, "hello");
    // Much more than both pipes hold.
    const std::string much(3'000'000, 'x');
    auto feeder = feeds(here, std::move(cat.standard_input()), much);
    EXPECT_FALSE(cat.standard_input().is_open());
    const std::string got = co_await all_of(here, cat.standard_output());
    EXPECT_TRUE(got == much) << got.size();
    co_await std::move(feeder);
    EXPECT_TRUE((co_await cat.wait()).is_success());
    try {
        co_await cat.standard_output().read_exactly(bytes_of(five));
        ADD_FAILURE() << "it was read";
    } catch (const coflux::end_of_stream& e) {
        EXPECT_EQ(e.count(), 0U);
    }
    EXPECT_EQ((co_await coflux::as_result(cat.standard_output().read_exactly(bytes_of(five)))).error(),
              std::errc::no_message_available);
}
TEST(process, has_its_input_and_output_as_pipes) {
    on_a_worker(goes_through_cat);
}

task has_other_streams(environment&, const temporary_folder* folder) {
    auto&& here = co_await coflux::context();
    const process_options nothing{
        .input = standard_stream::null(), .output = standard_stream::null(), .error = standard_stream::null()};
    EXPECT_TRUE(
        (co_await status_of(here, shell("test -z \"$(cat)\" && echo lost && echo lost >&2"), nothing)).is_success());

    const int out = ::open(folder->path("out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const process_options to_a_file{.output = standard_stream::descriptor(out),
                                    .error = standard_stream::descriptor(out)};
    EXPECT_TRUE((co_await status_of(here, shell("echo one; echo two >&2"), to_a_file)).is_success());
    ::close(out);
    EXPECT_EQ(text_of(folder->path("out")), "one\ntwo\n");

    const process_options closed{.output = standard_stream::descriptor(out)};
    EXPECT_EQ((co_await coflux::as_result(process::spawn(words{"true"}, closed))).error(),
              std::errc::bad_file_descriptor);
    const process_options negative{.output = standard_stream::descriptor(-1)};
    EXPECT_EQ((co_await coflux::as_result(process::spawn(words{"true"}, negative))).error(),
              std::errc::bad_file_descriptor);

    process p =
        co_await process::spawn(shell("echo out; echo err >&2"),
                                process_options{.output = standard_stream::pipe(), .error = standard_stream::pipe()});
    EXPECT_EQ(co_await all_of(here, p.standard_error()), "err\n");
    EXPECT_EQ(co_await all_of(here, p.standard_output()), "out\n");
}
TEST(process, has_nothing_or_a_file_as_its_streams) {
    const temporary_folder folder;
    on_a_worker(has_other_streams, &folder);
}

task reads_no_more(environment&) {
    process p = co_await process::spawn(words{"true"}, process_options{.input = standard_stream::pipe()});
    EXPECT_TRUE((co_await p.wait()).is_success());
    EXPECT_EQ((co_await coflux::as_result(p.standard_input().write_all("x"))).error(), std::errc::broken_pipe);
    EXPECT_THROW((void)co_await p.standard_input().write_some("x"), std::system_error);
}
TEST(process, that_reads_no_more_is_an_error_and_never_a_signal) {
    on_a_worker(reads_no_more);
}

// --- what becomes of it ----------------------------------------------------------------------------------------------

bool exists(int pid) {
    return ::kill(pid, 0) == 0;
}
task drops_it(environment&) {
    auto&& here = co_await coflux::context();
    int pid = 0;
    {
        const process p = co_await process::spawn(words{"sleep", "1000"});
        pid = p.id();
        EXPECT_TRUE(exists(pid));
    }
    EXPECT_TRUE(co_await is_gone(here, pid));
    process a = co_await process::spawn(words{"sleep", "1000"});
    pid = a.id();
    process b = std::move(a);
    EXPECT_FALSE(a.has_child());
    EXPECT_TRUE(exists(pid));
    b = process();
    EXPECT_TRUE(co_await is_gone(here, pid));
}
TEST(process, that_is_dropped_is_killed_and_leaves_no_zombie) {
    on_a_worker(drops_it);
}

coflux::fork<void, worker> runs_for_ever(environment&, int* pid) {
    process p = co_await process::spawn(words{"sleep", "1000"});
    *pid = p.id();
    (void)co_await p.wait();
}
task stops_its_owner(environment&) {
    auto&& here = co_await coflux::context();
    auto inside = coflux::make_environment(here);
    int pid = 0;
    auto owner = runs_for_ever(inside, &pid);
    while (pid == 0) co_await 1ms;
    inside.request_stop();
    EXPECT_TRUE((co_await coflux::as_outcome(std::move(owner))).is_stopped());
    EXPECT_TRUE(co_await is_gone(here, pid));
    co_await inside.join();
}
TEST(process, ends_with_the_coroutine_that_a_stop_unwinds) {
    on_a_worker(stops_its_owner);
}

task leaves_it(environment&) {
    auto&& here = co_await coflux::context();
    int pid = 0;
    coflux::child_writer input;
    {
        process_options options{.input = standard_stream::pipe(), .output = standard_stream::null()};
        options.dropped = coflux::when_dropped::leave;
        process p = co_await process::spawn(words{"cat"}, options);
        pid = p.id();
        input = std::move(p.standard_input());
    }
    EXPECT_TRUE(exists(pid));
    co_await input.write_all("it reads");
    input.close();
    EXPECT_TRUE(co_await is_gone(here, pid));
}
TEST(process, that_is_left_runs_on_and_leaves_no_zombie) {
    on_a_worker(leaves_it);
}

/// In what fork() makes.
task drops_a_copy(environment&, coflux::when_dropped dropped) {
    process_options options{.input = standard_stream::pipe()};
    options.dropped = dropped;
    process p = co_await process::spawn("cat", options);
    const pid_t copy = ::fork();
    if (copy == 0) {
        coflux_test::die_rather_than_hang();
        p = process();
        ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(copy, &status, 0), copy);
    EXPECT_EQ(status, 0);
    p.standard_input().close();
    const exit_status end = co_await p.wait();
    EXPECT_TRUE(end.is_success()) << end.to_string();
}
TEST(process, is_not_ended_by_a_copy_of_it_in_another_process) {
    for (const auto dropped : {coflux::when_dropped::kill, coflux::when_dropped::leave})
        on_a_worker(drops_a_copy, dropped);
}

// --- a stop ----------------------------------------------------------------------------------------------------------

coflux::fork<exit_status, worker> waits(environment&, process* p) {
    co_return co_await p->wait();
}
task loses_no_end(environment&) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < 20; ++i) {
        process p = co_await process::spawn(words{"cat"}, process_options{.input = standard_stream::pipe()});
        auto inside = coflux::make_environment(here);
        auto waiter = waits(inside, &p);
        co_await coflux::this_coroutine::yield();
        if (i % 2 == 0) p.kill(SIGINT);
        inside.request_stop();
        p.kill(SIGINT);
        const auto end = co_await coflux::as_outcome(std::move(waiter));
        co_await inside.join();
        EXPECT_EQ(end.is_stopped() ? (co_await p.wait()).signal() : end.value().signal(), SIGINT);
    }
}
TEST(process, loses_no_end_to_a_stop) {
    on_a_worker(loses_no_end);
}

task is_one_of_several(environment&) {
    coflux::signal_set signals{SIGUSR1};
    process p = co_await process::spawn("cat", {.input = standard_stream::pipe(), .output = standard_stream::pipe()});
    std::string got(1, ' ');
    for (int i = 0; i != 2; ++i) {
        // The losers are stopped, and lose nothing.
        if (i == 0) ::raise(SIGUSR1);
        if (i == 1) co_await p.standard_input().write_all("x");
        const auto first =
            co_await coflux::when_any(signals.next(), p.standard_output().read_exactly(bytes_of(got)), p.wait());
        EXPECT_EQ(first.index(), static_cast<std::size_t>(i));
    }
    p.kill(SIGKILL);
    const auto end = co_await coflux::when_any(signals.next(), p.wait());
    EXPECT_EQ(end.index(), 1U);
    EXPECT_EQ(got, "x");
    EXPECT_EQ((co_await p.wait()).signal(), SIGKILL);
}
TEST(process, is_waited_for_beside_other_things) {
    on_a_worker(is_one_of_several);
}

// --- many, and other executors ---------------------------------------------------------------------------------------

template <typename E>
coflux::fork<int, E> runs_one(environment&, int code) {
    process p = co_await process::spawn(shell("cat; exit " + std::to_string(code)),
                                        process_options{.input = standard_stream::pipe()});
    co_await p.standard_input().write_all("");
    p.standard_input().close();
    const exit_status end = co_await p.wait();
    co_return end.code();
}
template <typename E>
coflux::task<void, E> runs_many(environment&) {
    auto&& here = co_await coflux::context();
    std::vector<coflux::fork<int, E>> all;
    for (int i = 0; i != 20; ++i) all.push_back(runs_one<E>(here, i));
    const auto codes = co_await coflux::when_all(std::move(all));
    for (int i = 0; i != 20; ++i) EXPECT_EQ(codes[static_cast<std::size_t>(i)], i);
}
TEST(process, runs_beside_many_others_on_a_pool) {
    coflux::thread_pool_executor pool{2};
    auto env = coflux::make_environment(pool);
    runs_many<coflux::thread_pool_executor>(env).get();
    const std::size_t before = open_descriptors();
    runs_many<coflux::thread_pool_executor>(env).get();
    EXPECT_LE(open_descriptors(), before);  // the reaper may have closed that of a child of an earlier test
}
TEST(process, runs_beside_many_others_without_an_executor) {
    coflux::noop_executor none;
    auto env = coflux::make_environment(none);
    runs_many<coflux::noop_executor>(env).get();
}

coflux::fork<void, worker> waits_for(environment&, process* p) {
    (void)co_await p->wait();
}
task drops_what_is_waited_for(environment&) {
    auto&& here = co_await coflux::context();
    process p = co_await process::spawn(words{"sleep", "5"});
    auto waiter = waits_for(here, &p);
    co_await coflux::this_coroutine::yield();
    p = process();
    co_await std::move(waiter);
}
TEST(process_death, of_one_that_is_waited_for_names_it) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(on_a_worker(drops_what_is_waited_for), "a process dies while wait\\(\\) waits for its end");
    EXPECT_DEATH((void)process().kill(SIGTERM), "a process that was moved from, or has no child");
}

}  // namespace

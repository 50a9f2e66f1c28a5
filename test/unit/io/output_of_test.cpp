// Programs that are run to their end: what they read and write, limits, and stops.
#include <coflux/io/output_of.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "children.hpp"
#include "connected.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::environment;
using coflux::process_output;
using coflux_test::open_descriptors;
using coflux_test::shell;
using coflux_test::temporary_folder;
using coflux_test::words;
using task = coflux_test::worker_task;

coflux::call<process_output> made_by(environment&, words command, coflux::output_options options = {}) {
    auto&& here = co_await coflux::context();
    co_return co_await coflux::output_of(here, std::move(command), std::move(options));
}

task gives_both_texts_and_the_end(environment&) {
    auto&& here = co_await coflux::context();
    const process_output made = co_await made_by(here, shell("echo well; echo badly >&2; exit 7"));
    EXPECT_EQ(made.output, "well\n");
    EXPECT_EQ(made.error, "badly\n");
    EXPECT_EQ(made.status, coflux::exit_status::of_exit(7));
    const process_output killed = co_await made_by(here, shell("echo first; kill -9 $$"));
    EXPECT_EQ(killed.output, "first\n");
    EXPECT_EQ(killed.status, coflux::exit_status::of_signal(SIGKILL));
    const process_output nothing = co_await made_by(here, words{"true"});
    EXPECT_TRUE(nothing.status.is_success());
    EXPECT_EQ(nothing.output + nothing.error, "");
}
TEST(output_of, gives_both_texts_and_how_the_program_ended) {
    coflux_test::on_a_worker(gives_both_texts_and_the_end);
}

task feeds_and_collects_at_the_same_time(environment&) {
    auto&& here = co_await coflux::context();
    const process_output empty = co_await made_by(here, words{"cat"});
    EXPECT_EQ(empty.output, "");
    EXPECT_TRUE(empty.status.is_success());
    // More than pipes hold, in three directions: it writes while it reads, and to the one that is read last.
    const std::string much(300'000, 'x');
    const coflux::output_options options{.input = much, .output_limit = much.size(), .error_limit = much.size()};
    const process_output both = co_await made_by(here, words{"tee", "/dev/stderr"}, options);
    EXPECT_EQ(both.output, much);
    EXPECT_EQ(both.error, much);
    EXPECT_TRUE(both.status.is_success());
}
TEST(output_of, feeds_and_collects_at_the_same_time) {
    coflux_test::on_a_worker(feeds_and_collects_at_the_same_time);
}

task may_leave_its_input(environment&) {
    auto&& here = co_await coflux::context();
    const std::string much(300'000, 'x');
    const process_output made = co_await made_by(here, shell("exec 0<&-; echo enough; exit 3"), {.input = much});
    EXPECT_EQ(made.output, "enough\n");
    EXPECT_EQ(made.status.code(), 3);
}
TEST(output_of, lets_a_program_leave_its_input) {
    coflux_test::on_a_worker(may_leave_its_input);
}

task has_options(environment&, std::string folder) {
    auto&& here = co_await coflux::context();
    const process_output made =
        co_await made_by(here, shell("echo $A; pwd"), {.environment = {"A=b"}, .directory = folder});
    EXPECT_EQ(made.output, "b\n" + folder + "\n");
}
TEST(output_of, gives_a_program_its_variables_and_its_directory) {
    const temporary_folder folder;
    coflux_test::on_a_worker(has_options, std::filesystem::canonical(folder.path()).string());
}

task fails_as_spawn(environment&) {
    auto&& here = co_await coflux::context();
    try {
        (void)co_await made_by(here, words{"no-such-program"});
        ADD_FAILURE() << "no error";
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::no_such_file_or_directory);
        EXPECT_NE(std::string(e.what()).find("spawn no-such-program"), std::string::npos) << e.what();
    }
    EXPECT_THROW((void)co_await made_by(here, words()), std::invalid_argument);
}
TEST(output_of, fails_where_the_program_cannot_be_started) {
    coflux_test::on_a_worker(fails_as_spawn);
}

task has_limits(environment&) {
    auto&& here = co_await coflux::context();
    const process_output just = co_await made_by(here, shell("printf 12345"), {.output_limit = 5});
    EXPECT_EQ(just.output, "12345");
    // Neither program ends by itself.
    try {
        (void)co_await made_by(here, words{"yes"}, {.output_limit = 10});
        ADD_FAILURE() << "no error";
    } catch (const coflux::limit_exceeded& e) {
        EXPECT_EQ(e.limit(), 10U);
        EXPECT_EQ(e.seen(), 11U);
        EXPECT_STREQ(e.what(), "coflux: the standard output of yes has more than the limit of 10 bytes: 11 have come");
    }
    try {
        (void)co_await made_by(here, shell("exec yes >&2"), {.error_limit = 3});
        ADD_FAILURE() << "no error";
    } catch (const coflux::limit_exceeded& e) {
        EXPECT_STREQ(e.what(), "coflux: the standard error of sh has more than the limit of 3 bytes: 4 have come");
    }
}
TEST(output_of, has_limits_that_name_the_stream_and_both_numbers) {
    coflux_test::on_a_worker(has_limits);
    const std::size_t before = open_descriptors();
    // A program that does not die at once is left to an event source, which has descriptors from the first one on. One
    // that were lost each time would be more.
    constexpr std::size_t of_a_source = 4;
    for (std::size_t i = 0; i <= of_a_source; ++i) coflux_test::on_a_worker(has_limits);
    EXPECT_LE(coflux_test::descriptors_at_last(before + of_a_source), before + of_a_source);
}

coflux::call<void> until_there_is(environment&, const std::string& path) {
    while (!std::filesystem::exists(path)) co_await 1ms;
}
task ends_the_program_with_a_stop(environment&, std::string folder) {
    auto&& here = co_await coflux::context();
    const std::string told = folder + "/pid";
    for (const std::size_t input : {0U, 300'000U}) {
        std::filesystem::remove(told);
        const std::string much(input, 'x');
        // Its number is there whole, or not at all.
        const words command = shell("echo $$ > " + told + ".new; mv " + told + ".new " + told + "; exec sleep 1000");
        const auto first =
            co_await coflux::when_any(until_there_is(here, told), made_by(here, command, {.input = much}));
        EXPECT_EQ(first.index(), 0U);
        const int pid = std::stoi(coflux_test::text_of(told));
        EXPECT_TRUE(co_await coflux_test::is_gone(here, pid));
    }
}
TEST(output_of, ends_the_program_with_a_stop) {
    const temporary_folder folder;
    coflux_test::on_a_worker(ends_the_program_with_a_stop, folder.path());
}

}  // namespace

// A process without standard streams of its own, and its children.
#include <coflux/io/process.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "children.hpp"
#include "connected.hpp"
#include "support/no_hang.hpp"
#include "support/temporary_folder.hpp"

namespace {

using coflux::environment;
using coflux::process;
using coflux::process_options;
using coflux::standard_stream;
using coflux_test::temporary_folder;
using coflux_test::text_of;

/// The streams that a program finds, one a line.
coflux::call<std::string> streams_of_a_child(environment&, const temporary_folder& folder, process_options options) {
    const std::string path = folder.path("streams");
    ::unlink(path.c_str());
    const std::string script =
        R"(for i in 0 1 2; do (readlink /proc/$$/fd/$i || echo none) >>"$0" 2>/dev/null; done; exit 0)";
    process p = co_await process::spawn(coflux::command_line{"sh", "-c", script, path}, options);
    (void)co_await p.wait();
    co_return text_of(path);
}
/// This process's stream there; "none" for one of those that it has closed.
std::string stream_here(int number, unsigned closed) {
    if ((closed >> number & 1) != 0) return "none\n";
    return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(number)).string() + "\n";
}

/// The fault of the children of a process that has closed these streams; empty if all is well.
coflux::task<std::string, coflux::worker_executor> starts_children(environment&, const temporary_folder* folder,
                                                                   unsigned closed) {
    auto&& here = co_await coflux::context();
    std::string wrong;
    const auto expect = [&](const std::string& got, const std::string& wanted) {
        if (got != wanted) wrong += "has\n" + got + "and not\n" + wanted;
    };
    process_options nothing;  // first: later the worker has a ring there
    nothing.directory = folder->path("");
    nothing.input = nothing.output = nothing.error = standard_stream::null();
    expect((co_await coflux_test::status_of(here, "true", nothing)).to_string(), "exited with 0");
    expect(co_await streams_of_a_child(here, *folder, {}),
           stream_here(0, closed) + stream_here(1, closed) + stream_here(2, closed));

    process_options piped;
    piped.input = standard_stream::pipe();
    piped.output = standard_stream::pipe();
    piped.error = standard_stream::pipe();
    process cat = co_await process::spawn("cat", piped);
    for (const int own : {cat.standard_input().native_handle(), cat.standard_output().native_handle(),
                          cat.standard_error().native_handle()}) {
        if (own < 3) wrong += "our end of a pipe is " + std::to_string(own) + "\n";
    }
    co_await cat.standard_input().write_all("through cat");
    cat.standard_input().close();
    expect(co_await coflux_test::all_of(here, cat.standard_output()), "through cat");
    expect(co_await coflux_test::all_of(here, cat.standard_error()), "");

    // One pipe beside what is inherited, in each place; and a directory, which is opened between.
    for (int i = 0; i != 3; ++i) {
        process_options one;
        one.directory = folder->path("");
        (i == 0 ? one.input : i == 1 ? one.output : one.error) = standard_stream::null();
        std::string wanted;
        for (int j = 0; j != 3; ++j) wanted += i == j ? "/dev/null\n" : stream_here(j, closed);
        expect(co_await streams_of_a_child(here, *folder, one), wanted);
    }
    process_options at_folder;
    at_folder.directory = folder->path("");
    at_folder.output = standard_stream::pipe();
    process pwd = co_await process::spawn("pwd", at_folder);
    expect(co_await coflux_test::all_of(here, pwd.standard_output()),
           std::filesystem::path(folder->path("streams")).parent_path().string() + "\n");
    co_return wrong;
}

/// Its exit status.
int closes_and_starts(const temporary_folder& folder, unsigned closed) {
    coflux_test::die_rather_than_hang();
    for (int number = 0; number != 3; ++number) {
        if ((closed >> number & 1) != 0) ::close(number);
    }
    std::string wrong;
    try {
        coflux::worker_executor w;
        auto env = coflux::make_environment(w);
        wrong = starts_children(env, &folder, closed).get();
    } catch (const std::exception& e) {
        wrong = e.what();
    }
    std::ofstream(folder.path("report")) << wrong;
    return wrong.empty() ? 0 : 1;
}

/// Each set of closed streams in a process of its own.
int closes_each_set() {
    const temporary_folder folder;
    int all = 0;
    for (unsigned closed = 0; closed != 8; ++closed) {
        const pid_t child = ::fork();
        if (child == 0) ::_exit(closes_and_starts(folder, closed));
        int status = 0;
        ::waitpid(child, &status, 0);
        if (status == 0) continue;
        all = 1;
        std::fprintf(stderr, "without the streams %x: status %x\n%s\n", closed, static_cast<unsigned>(status),
                     text_of(folder.path("report")).c_str());
    }
    return all;
}

TEST(process_streams_death, that_are_closed_are_closed_in_children_and_no_descriptor_takes_their_place) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(std::_Exit(closes_each_set()), testing::ExitedWithCode(0), "");
}

}  // namespace

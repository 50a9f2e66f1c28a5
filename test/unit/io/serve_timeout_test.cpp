// A server that GNU timeout ends: it sends SIGTERM to its child and to its group, so that each request comes twice.
#include <coflux/io/serve.hpp>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"
#include "support/iterations.hpp"
#include "support/no_hang.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using coflux::endpoint;
using coflux::environment;
using coflux::process;
using coflux::tcp_listener;
using coflux::tcp_stream;
using coflux_test::bytes_of;
using pool = coflux::thread_pool_executor;
using worker = coflux::worker_executor;

// --- the server ------------------------------------------------------------------------------------------------------

constexpr const char* file_of_port = "COFLUX_TEST_FILE_OF_PORT";

coflux::call<void> answers(environment&, tcp_stream of) {
    std::string question(8, ' ');
    co_await of.read_exactly(bytes_of(question));
    co_await 1ms;
    co_await of.write_all("answer");
}
coflux::task<int, pool> serves(environment&, std::string file) {
    auto&& here = co_await coflux::context();
    tcp_listener listener(endpoint::loopback(0));
    const std::string half = file + ".half";
    std::ofstream(half) << listener.local_endpoint().port();
    fs::rename(half, file);  // it is there as a whole
    const auto report = co_await coflux::serve(here, listener, answers, {.limit = 4, .drain = 1h});
    co_return report.failed + report.cut == 0 ? 7 : 1;
}
TEST(serve_timeout_server, is_what_the_other_test_starts) {
    const char* const file = std::getenv(file_of_port);
    if (file == nullptr) GTEST_SKIP() << "it is a program for serve_timeout";
    coflux_test::die_rather_than_hang();
    coflux::run_options options;
    options.second_signal_after = 1h;  // a busy machine may let much time pass between the two
    std::_Exit(coflux::run(options, serves, std::string(file)));
}

// --- its clients -----------------------------------------------------------------------------------------------------

constexpr std::size_t clients = 12;

/// How many clients are answered that were connected, and had sent their question, before the stop; it comes after
/// `before` of the answers: after one, serve() has begun.
coflux::call<std::size_t> answered(environment&, const std::string& file, std::size_t before, bool* is_started) {
    const std::string self = fs::read_symlink("/proc/self/exe");
    const std::string filter = "--gtest_filter=serve_timeout_server.*";
    ::setenv(file_of_port, file.c_str(), 1);  // the rest of the environment as it is: sanitizers look there
    // Without what says which part of the tests this process has: its one test is of the first part.
    auto started = co_await coflux::as_result(process::spawn(
        {"env", "-u", "GTEST_TOTAL_SHARDS", "-u", "GTEST_SHARD_INDEX", "timeout", "-s", "TERM", "60", self, filter},
        {.output = coflux::standard_stream::null()}));
    ::unsetenv(file_of_port);
    *is_started = started.has_value();
    if (!started) co_return 0;
    process& server = *started;
    while (!fs::exists(file)) co_await 1ms;
    unsigned short port = 0;
    std::ifstream(file) >> port;

    std::vector<tcp_stream> all;
    for (std::size_t i = 0; i != clients; ++i) {
        all.push_back(co_await tcp_stream::connect(endpoint::loopback(port)));
        co_await all.back().write_all("question");
    }
    std::size_t count = 0;
    for (std::size_t i = 0; i != clients; ++i) {
        if (i == before) (void)server.kill(SIGTERM);
        std::string answer(6, ' ');
        if ((co_await coflux::as_result(all[i].read_exactly(bytes_of(answer)))).has_value()) ++count;
    }
    const coflux::exit_status end = co_await server.wait();
    EXPECT_EQ(end.code(), 7) << end.to_string();
    co_return count;
}
coflux::task<void, worker> loses_none(environment&, const coflux_test::temporary_folder* folder, bool* is_started) {
    auto&& here = co_await coflux::context();
    const std::size_t rounds = coflux_test::repetitions(100);
    for (std::size_t i = 0; i != rounds; ++i) {
        const std::string file = folder->path("port" + std::to_string(i));
        const std::size_t count = co_await answered(here, file, 1 + i % (clients - 1), is_started);
        if (!*is_started) co_return;
        EXPECT_EQ(count, clients) << "round " << i;
        fs::remove(file);
    }
}
TEST(serve_timeout, loses_no_request_that_has_come_before_it) {
    if (COFLUX_TEST_TSAN) GTEST_SKIP() << "TSan calls a handler when its thread wakes, and the one that waits does not";
    const coflux_test::temporary_folder folder;
    bool is_started = false;
    worker on;
    auto env = coflux::make_environment(on);
    loses_none(env, &folder, &is_started).get();
    if (!is_started) GTEST_SKIP() << "there is no timeout(1)";
}

}  // namespace

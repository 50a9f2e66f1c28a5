#include <coflux/inspector/serve.hpp>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <httplib.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/inspect/dump.hpp>
#include <coflux/inspect/profile.hpp>

namespace {

using coflux::inspect::serve;
using pool = coflux::thread_pool_executor;

httplib::Client client_of(const coflux::inspect::server& s) {
    return httplib::Client("127.0.0.1", s.port());
}

coflux::task<void, pool> waits(coflux::environment&, coflux::mutex* m) {
    auto lock = co_await m->lock();
}

/// A program that has something to show: a task that waits for a lock.
struct program {
    program() {
        held = m.try_lock();
        root = waits(env, &m);
    }
    ~program() {
        held.unlock();
        root.get();
    }

    pool one{1};
    coflux::environment_of<pool&> env{one};
    coflux::mutex m;
    decltype(m.try_lock()) held;
    coflux::task<void, pool> root;
};

TEST(inspector, answers_what_it_has_by_its_kind) {
    program p;
    const auto inspector = serve();
    EXPECT_NE(inspector.port(), 0);
    EXPECT_EQ(inspector.url(), "http://127.0.0.1:" + std::to_string(inspector.port()) + "/");
    auto client = client_of(inspector);
    for (const auto& [path, type, has] : {
             std::tuple("/", "text/html; charset=utf-8", "<title>Coflux"),
             std::tuple("/metrics", "application/openmetrics-text; version=1.0.0; charset=utf-8", "# EOF\n"),
             std::tuple("/dump", "text/plain; charset=utf-8", "coflux: "),
             std::tuple("/dump?format=tree", "text/plain; charset=utf-8", "coflux: "),
             std::tuple("/dump.json", "application/json", "\"version\":"),
             std::tuple("/deadlocks", "text/plain; charset=utf-8", "coflux: no deadlock"),
             std::tuple("/trace", "application/octet-stream", ""),
             std::tuple("/trace?ms=100&format=chrome", "application/json", "traceEvents"),
             std::tuple("/profile?s=0", "text/plain; charset=utf-8", ""),
             std::tuple("/dump.json?limit=100", "application/json", "\"left_out\":"),
         }) {
        const auto got = client.Get(path);
        ASSERT_TRUE(got) << path;
        EXPECT_EQ(got->status, 200) << path;
        EXPECT_EQ(got->get_header_value("Content-Type"), type);
        EXPECT_EQ(got->get_header_value("Cache-Control"), "no-store");
        EXPECT_NE(got->body.find(has), std::string::npos) << path << ": " << got->body.substr(0, 200);
    }
}

TEST(inspector, answers_with_a_profile_of_the_waits) {
    program p;
    while (coflux::inspect::dump().find("waits for a mutex") == std::string::npos) std::this_thread::yield();
    const auto inspector = serve();
    const auto got = client_of(inspector).Get("/profile?s=0&of=waits");
    ASSERT_TRUE(got);
    EXPECT_EQ(got->status, 200);
    EXPECT_NE(got->body.find(";waits for a mutex at 0x"), std::string::npos) << got->body;
}

TEST(inspector, refuses_a_profile_while_another_one_is_made) {
    const auto inspector = serve();
    auto client = client_of(inspector);
    const coflux::inspect::profiler other;
    const auto got = client.Get("/profile?s=0");
    ASSERT_TRUE(got);
    EXPECT_EQ(got->status, 503);
}

TEST(inspector, ends_a_profile_when_it_ends_itself) {
    const auto begin = std::chrono::steady_clock::now();
    auto inspector = std::make_optional<coflux::inspect::server>(coflux::inspect::serve_options{});
    std::thread asks([port = inspector->port()] {
        httplib::Client client("127.0.0.1", port);
        while (client.Get("/profile?s=600")) {}  // refused while the other one below is made
    });
    for (bool is_made = false; !is_made; std::this_thread::yield()) {
        try {
            const coflux::inspect::profiler other;
        } catch (const std::system_error&) {
            is_made = true;
        }
    }
    inspector.reset();
    asks.join();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::minutes(5));
}

TEST(inspector, says_what_is_wrong_with_a_request) {
    const auto inspector = serve();
    auto client = client_of(inspector);
    for (const auto& [path, status, said] : {
             std::tuple("/no_such", 404, ""),
             std::tuple("/dump?format=xml", 400, "format is grouped or tree, and not \"xml\"; /dump.json is JSON\n"),
             std::tuple("/trace?ms=x", 400, "ms is at most 3600000, and not \"x\"\n"),
             std::tuple("/profile?s=601", 400, "s is at most 600, and not \"601\"\n"),
             std::tuple("/profile?of=heap", 400, "of is processor or waits, and not \"heap\"\n"),
             std::tuple("/trace?format=xml", 400, "format is perfetto or chrome, and not \"xml\"\n"),
             std::tuple("/dump?limit=-1", 400, "limit is a number of bytes, at most 67108864, and not \"-1\"\n"),
             std::tuple("/dump?limit=1k", 400, "limit is a number of bytes, at most 67108864, and not \"1k\"\n"),
             std::tuple("/dump.json?limit=67108865", 400,
                        "limit is a number of bytes, at most 67108864, and not \"67108865\"\n"),
             std::tuple("/dump?limit=", 400, "limit is a number of bytes, at most 67108864, and not \"\"\n"),
         }) {
        const auto got = client.Get(path);
        ASSERT_TRUE(got) << path;
        EXPECT_EQ(got->status, status) << path;
        EXPECT_EQ(got->body, said);
    }
    const auto posted = client.Post("/dump", "x", "text/plain");
    ASSERT_TRUE(posted);
    EXPECT_EQ(posted->status, 405);
    EXPECT_EQ(posted->get_header_value("Allow"), "GET, HEAD");
    const auto head = client.Head("/dump");
    ASSERT_TRUE(head);
    EXPECT_EQ(head->status, 200);
    EXPECT_EQ(head->body, "");
}

TEST(inspector, answers_no_page_of_another_site) {
    const auto inspector = serve();
    auto client = client_of(inspector);
    for (const auto& [host, status] :
         {std::pair("evil.example", 403), std::pair("evil.example:80", 403), std::pair("127.0.0.1.evil.example", 403),
          std::pair("localhost:9000", 200), std::pair("[::1]:9000", 200), std::pair("[::2]", 403)}) {
        const auto got = client.Get("/dump", httplib::Headers{{"Host", host}});
        ASSERT_TRUE(got) << host;
        EXPECT_EQ(got->status, status) << host;
    }
}

TEST(inspector, answers_while_all_workers_are_stuck) {
    pool one(1);
    auto env = coflux::make_environment(one);
    std::atomic<bool> begun{false}, may_end{false};
    auto root = [](coflux::environment&, std::atomic<bool>* b, std::atomic<bool>* e) -> coflux::task<void, pool> {
        *b = true;
        while (!*e) usleep(100);
        co_return;
    }(env, &begun, &may_end);
    while (!begun) usleep(100);
    const auto inspector = serve();
    const auto got = client_of(inspector).Get("/dump");
    ASSERT_TRUE(got);
    EXPECT_EQ(got->status, 200);
    may_end = true;
    root.get();
}

TEST(inspector, has_a_local_socket_of_its_owner_alone) {
    const std::string path = "/tmp/coflux-inspector-" + std::to_string(getpid());
    {
        const auto inspector = serve({.socket = path});
        EXPECT_EQ(inspector.port(), 0);
        EXPECT_EQ(inspector.url(), path);
        struct stat of = {};
        ASSERT_EQ(stat(path.c_str(), &of), 0);
        EXPECT_TRUE(S_ISSOCK(of.st_mode));
        EXPECT_EQ(of.st_mode & 0777, 0600U);
        httplib::Client client(path);
        client.set_address_family(AF_UNIX);
        const auto got = client.Get("/dump");
        ASSERT_TRUE(got);
        EXPECT_EQ(got->status, 200);
    }
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(inspector, keeps_a_file_that_is_where_its_socket_would_be) {
    const std::string path = "/tmp/coflux-inspector-file-" + std::to_string(getpid());
    std::ofstream(path) << "mine";
    EXPECT_THROW((void)serve({.socket = path}), std::system_error);
    EXPECT_EQ(std::filesystem::file_size(path), 4U);
    std::filesystem::remove(path);
}

TEST(inspector, names_an_address_that_it_cannot_have) {
    for (const char* wide : {"0.0.0.0", "192.168.1.1", "example.com", ""}) {
        try {
            (void)serve({.address = wide});
            FAIL() << wide;
        } catch (const std::invalid_argument& e) {
            EXPECT_EQ(e.what(), "coflux: inspect::serve: \"" + std::string(wide) +
                                    "\" is not of the loopback; any client would see the whole program");
        }
    }
    const auto first = serve();
    try {
        (void)serve({.port = first.port()});
        FAIL() << "the port is taken";
    } catch (const std::system_error& e) {
        EXPECT_NE(std::string(e.what()).find("127.0.0.1:" + std::to_string(first.port())), std::string::npos)
            << e.what();
    }
}

TEST(inspector, leaves_the_signals_of_the_program_as_they_were) {
    struct sigaction before = {}, now = {};
    ASSERT_EQ(sigaction(SIGPIPE, nullptr, &before), 0);
    const auto inspector = serve();
    ASSERT_EQ(sigaction(SIGPIPE, nullptr, &now), 0);
    EXPECT_EQ(now.sa_handler, before.sa_handler);
}

TEST(inspector, begins_and_ends_at_once_with_clients_that_say_nothing) {
    for (int round = 0; round < 3; ++round) {
        std::vector<std::unique_ptr<httplib::Client>> none;
        const auto inspector = serve();
        pool one(1);
        auto env = coflux::make_environment(one);
        [](coflux::environment&, std::uint16_t port) -> coflux::task<void, pool> {
            std::vector<coflux::tcp_stream> silent;
            for (int i = 0; i < 40; ++i)
                silent.push_back(co_await coflux::tcp_stream::connect(coflux::endpoint::loopback(port)));
            (void)co_await coflux::as_outcome(silent[0].write_all(std::as_bytes(std::span("GARBAGE\r\n\r\n", 11))));
        }(env, inspector.port())
                                                            .get();
        const auto got = client_of(inspector).Get("/dump");
        EXPECT_TRUE(got);
    }
}

TEST(inspector, is_not_in_a_child_of_fork) {
    auto* const inspector = new auto(serve());
    const pid_t child = fork();
    if (child == 0) {
        delete inspector;  // returns
        _exit(0);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(client_of(*inspector).Get("/metrics"));
    delete inspector;
}

}  // namespace

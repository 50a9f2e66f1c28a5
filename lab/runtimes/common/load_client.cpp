#include "load_client.hpp"

#include "limits.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace harness {
namespace {

std::string program() {
    if (const char* const told = std::getenv("LAB_LOAD")) {
        return told;
    }
    return std::filesystem::read_symlink("/proc/self/exe").replace_filename("lab_load");
}

std::vector<std::string> arguments(const request& r, std::uint16_t port) {
    const bool churns = r.workload() == "accept_churn";
    std::vector<std::string> all{program(), churns ? "churn" : "echo"};
    const auto add = [&all](const char* name, std::uint64_t value) {
        all.emplace_back(name);
        all.push_back(std::to_string(value));
    };
    add("--port", port);
    add("--warmup", r.warmup());
    add("--connections", r.integer("connections"));
    if (churns) {
        add("--in-flight", r.integer("in_flight"));
    } else {
        for (const char* const name : {"requests", "bytes", "rate"}) {
            add((std::string{"--"} + name).c_str(), r.integer(name));
        }
    }
    return all;
}

}  // namespace

load_client::load_client(const request& r, std::uint16_t port)
    // Those of accept_churn have ended with their pass.
    : connections_{r.workload() == "accept_churn" ? 0 : r.integer("connections")},
      bytes_before_{rss_bytes()} {
    std::array<int, 2> orders{};
    std::array<int, 2> reports{};
    if (pipe2(orders.data(), O_CLOEXEC) != 0 || pipe2(reports.data(), O_CLOEXEC) != 0) {
        throw std::runtime_error{"no pipes to the load"};
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, orders[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, reports[1], STDOUT_FILENO);
    std::vector<std::string> words = arguments(r, port);
    std::vector<char*> argv;
    for (std::string& word : words) {
        argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    const int error = posix_spawn(&process_, argv[0], &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(orders[0]);
    close(reports[1]);
    orders_ = orders[1];
    reports_ = fdopen(reports[0], "r");
    if (error != 0) {
        process_ = -1;
        throw std::runtime_error{"cannot start " + words.front() + ": " + std::strerror(error)};
    }
    if (line() != "ready") {
        throw std::runtime_error{"the load did not connect"};
    }
}

load_client::~load_client() {
    close(orders_);
    std::fclose(reports_);
    if (process_ > 0) {
        kill(process_, SIGKILL);
        waitpid(process_, nullptr, 0);
    }
}

std::uint64_t load_client::pass(stopwatch& watch) {
    watch.start();
    if (write(orders_, "go\n", 3) != 3) {
        throw std::runtime_error{"the load has ended"};
    }
    const std::string told = line();
    watch.stop();
    const auto report = nlohmann::ordered_json::parse(told, nullptr, false);
    if (!report.is_object()) {
        throw std::runtime_error{"the load failed, and has said why"};
    }
    for (const auto& [name, value] : report.at("figures").items()) {
        watch.figure(name, value.get<double>());
    }
    tell_connections(watch);
    return std::stoull(report.at("answer").get<std::string>());
}

void load_client::tell_connections(stopwatch& watch) const {
    constexpr std::uint64_t told_from = 1'000;
    if (connections_ >= told_from) {
        const std::uint64_t bytes = rss_bytes();
        const std::uint64_t more = bytes > bytes_before_ ? bytes - bytes_before_ : 0;
        watch.figure("connection_bytes", static_cast<double>(more) / static_cast<double>(connections_));
    }
}

std::string load_client::line() {
    std::string text;
    for (int c = std::fgetc(reports_); c != EOF && c != '\n'; c = std::fgetc(reports_)) {
        text.push_back(static_cast<char>(c));
    }
    return text;
}

void require_descriptors(const request& r) {
    // Beside the connections: what every process has, and what its runtime opens.
    constexpr std::uint64_t others = 100;
    const std::uint64_t allowed = raise_descriptors();
    if (allowed < r.integer("connections") + others) {
        throw unsupported_params{"the system allows " + std::to_string(allowed) + " descriptors (RLIMIT_NOFILE)"};
    }
}

}  // namespace harness

// The common part of tests of child processes.
#pragma once

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/io/process.hpp>

namespace coflux_test {

using words = coflux::command_line;
using worker_task = coflux::task<void, coflux::worker_executor>;

template <typename... Args>
void on_a_worker(worker_task (*program)(coflux::environment&, Args...), std::type_identity_t<Args>... args) {
    coflux::worker_executor w;
    auto env = coflux::make_environment(w);
    program(env, args...).get();
}

inline coflux::call<coflux::exit_status> status_of(coflux::environment&, words command,
                                                   coflux::process_options options) {
    coflux::process p = co_await coflux::process::spawn(command, options);
    co_return co_await p.wait();
}
inline coflux::call<std::string> all_of(coflux::environment&, coflux::child_reader& from) {
    std::string all;
    std::array<std::byte, 1000> part{};
    while (const std::size_t n = co_await from.read_some(part))
        all.append(reinterpret_cast<const char*>(part.data()), n);
    co_return all;
}
inline coflux::call<std::string> text_written_by(coflux::environment&, words command, coflux::process_options options) {
    auto&& here = co_await coflux::context();
    options.output = coflux::standard_stream::pipe();
    coflux::process p = co_await coflux::process::spawn(command, options);
    std::string text = co_await all_of(here, p.standard_output());
    const coflux::exit_status end = co_await p.wait();
    EXPECT_TRUE(end.is_success()) << end.to_string() << ": " << text;
    co_return text;
}
/// At last: that a child has ended, and its end was taken.
inline coflux::call<bool> is_gone(coflux::environment&, int pid) {
    for (int i = 0; i != 10'000; ++i) {
        if (::kill(pid, 0) != 0) co_return true;
        co_await std::chrono::milliseconds(1);
    }
    co_return false;
}
inline words shell(const std::string& script) {
    return words{"sh", "-c", script};
}

}  // namespace coflux_test

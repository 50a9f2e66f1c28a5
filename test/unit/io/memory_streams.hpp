// Streams in memory that move as few bytes at a time as a test wants, and take (virtual) time for each move.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/gtest.hpp>

namespace coflux_test {

inline std::span<const std::byte> as_bytes(std::string_view s) {
    return std::as_bytes(std::span(s));
}
inline std::string as_text(std::span<const std::byte> b) {
    return {reinterpret_cast<const char*>(b.data()), b.size()};
}

constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

/// Gives `text`, at most `piece` bytes a read. The read that begins at byte `fails_at` fails, once.
struct memory_source {
    std::string text;
    std::size_t piece = nowhere;
    std::chrono::nanoseconds pause{0};  ///< that each read waits
    std::size_t fails_at = nowhere;
    std::size_t at = 0;
    std::size_t reads = 0;

    coflux::call<std::size_t> read_some(coflux::environment&, std::span<std::byte> into) {
        if (pause.count() != 0) co_await coflux::sleep_for(pause);
        ++reads;
        std::size_t n = std::min({piece, into.size(), text.size() - at});
        if (fails_at != nowhere) {
            if (at == fails_at) {
                fails_at = nowhere;
                throw std::system_error(std::make_error_code(std::errc::connection_reset));
            }
            if (fails_at > at) n = std::min(n, fails_at - at);
        }
        if (n != 0) std::memcpy(into.data(), text.data() + at, n);
        at += n;
        co_return n;
    }
};
static_assert(coflux::byte_source<memory_source>);

/// Takes at most `piece` bytes a write. The write that begins at byte `fails_at` fails, once.
struct memory_sink {
    std::size_t piece = nowhere;
    std::chrono::nanoseconds pause{0};
    std::size_t fails_at = nowhere;
    std::string got{};
    std::size_t writes = 0;

    coflux::call<std::size_t> write_some(coflux::environment&, std::span<const std::byte> from) {
        if (pause.count() != 0) co_await coflux::sleep_for(pause);
        ++writes;
        std::size_t n = std::min(piece, from.size());
        if (fails_at != nowhere) {
            if (got.size() == fails_at) {
                fails_at = nowhere;
                throw std::system_error(std::make_error_code(std::errc::broken_pipe));
            }
            if (fails_at > got.size()) n = std::min(n, fails_at - got.size());
        }
        got += as_text(from.first(n));
        co_return n;
    }
};
static_assert(coflux::byte_sink<memory_sink>);

/// Takes all, `piece` bytes after each pause, and does not say how far it has come. Fails for good behind `fails_at`
/// bytes.
struct memory_whole_sink {
    std::size_t piece = nowhere;
    std::chrono::nanoseconds pause{0};
    std::size_t fails_at = nowhere;
    std::string got{};

    coflux::call<void> write_all(coflux::environment&, std::span<const std::byte> from) {
        for (std::size_t at = 0; at < from.size();) {
            if (pause.count() != 0) co_await coflux::sleep_for(pause);
            const std::size_t n = std::min({piece, from.size() - at, fails_at - got.size()});
            if (n == 0) throw std::system_error(std::make_error_code(std::errc::broken_pipe));
            got += as_text(from.subspan(at, n));
            at += n;
        }
    }
};
static_assert(coflux::whole_sink<memory_whole_sink>);

/// Runs the body of a test that goes through many cases by itself, and whose order the schedule hardly changes.
inline void in_few_schedules(coflux::task<void, coflux::testing::sim_executor> (*body)(coflux::environment&)) {
    coflux::testing::explore_options few;
    few.runs = 3;
    coflux::testing::run_test_body(body, few);
}

}  // namespace coflux_test

// Whatever may cut an operation off, and whether it did.
#pragma once

#include <chrono>
#include <cstddef>
#include <utility>

#include <coflux/coflux.hpp>

#include "support/operations.hpp"

namespace coflux_test {

enum class limit : unsigned char { timeout, deadline, select, race, environment, owner };
inline constexpr std::size_t limits = static_cast<std::size_t>(limit::owner) + 1;

constexpr const char* name_of(limit l) noexcept {
    constexpr const char* names[limits] = {
        "timeout", "deadline", "select", "when_any", "the deadline of its environment", "the owner"};
    return names[static_cast<std::size_t>(l)];
}

/// Awaits what was made elsewhere and given to it; a call becomes a part of it.
template <typename Executor>
coflux::fork<void, Executor> awaits(coflux::environment&, operation given) {
    co_await std::move(given);
}

/// Awaits `given`, which `by` cuts off after a while.
/// Returns: what the result says: true if it was finished.
template <typename Executor>
coflux::call<bool> finishes(coflux::environment&, operation given, limit by, std::chrono::nanoseconds after) {
    auto&& here = co_await coflux::context();
    const auto begun = coflux::clock::now();
    // Each result has a name: g++ does not see through `(co_await x).` in a template.
    switch (by) {
    case limit::timeout: {
        const auto result = co_await coflux::timeout(std::move(given), after);
        co_return result.has_value();
    }
    case limit::deadline: {
        const auto result = co_await coflux::deadline(std::move(given), begun + after);
        co_return result.has_value();
    }
    case limit::select: {
        const auto first = co_await coflux::select(std::move(given), coflux::sleep_for(after));
        co_return first.index() == 0;
    }
    case limit::race: {
        const auto first = co_await coflux::when_any(std::move(given), coflux::sleep_for(after));
        co_return first.index() == 0;
    }
    case limit::environment: {
        auto below = coflux::make_environment(here, begun + after);
        const auto end = co_await coflux::as_outcome(awaits<Executor>(below, std::move(given)));
        co_await below.join();
        co_return end.has_value();
    }
    case limit::owner: break;
    }
    auto f = awaits<Executor>(here, std::move(given));
    co_await coflux::sleep_for(after);
    f.request_stop();
    const auto end = co_await coflux::as_outcome(std::move(f));
    co_return end.has_value();
}

}  // namespace coflux_test

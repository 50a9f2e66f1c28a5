// Children for the combinators: they end after so many yields, or run until they are stopped.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include <coflux/coflux.hpp>

#include "support/executors.hpp"
#include "support/witness.hpp"

namespace coflux_test {

using hand = manual_executor;

/// Gives `value` after `yields` yields.
template <typename T>
coflux::fork<T, hand> gives_after(coflux::environment&, int yields, T value) {
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    co_return std::move(value);
}
inline coflux::fork<void, hand> ends_after(coflux::environment&, int yields) {
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
}
inline coflux::fork<int, hand> fails_after(coflux::environment&, int yields, std::string why) {
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    throw std::runtime_error(why);
}
/// Stops itself.
inline coflux::fork<int, hand> stops_after(coflux::environment&, int yields) {
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    co_await coflux::this_coroutine::stop();
    co_return 0;
}
/// Ends only by a stop; then it writes "<name> dies".
inline coflux::fork<int, hand> runs_until_stopped(coflux::environment&, journal* log, std::string name) {
    const mortal local(*log, std::move(name));
    for (;;) co_await coflux::yield();
}
/// Does not care for a stop: looks at it, and fails after it.
inline coflux::fork<int, hand> fails_when_stopped(coflux::environment&, std::string why) {
    const coflux::stop_token token = co_await coflux::this_coroutine::stop_token();
    while (!token.stop_requested()) co_await coflux::yield();
    throw std::runtime_error(why);
}
/// The same, with a value.
inline coflux::fork<int, hand> gives_when_stopped(coflux::environment&, int value) {
    const coflux::stop_token token = co_await coflux::this_coroutine::stop_token();
    while (!token.stop_requested()) co_await coflux::yield();
    co_return value;
}

}  // namespace coflux_test

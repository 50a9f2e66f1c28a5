// outer: says that a coroutine means to make a child in an environment that is not its own.
#pragma once

#include <concepts>

#include <coflux/core/detail/thread/thread_state.hpp>
#include <coflux/core/environment.hpp>

namespace coflux {

/// `child(coflux::outer(env), …)`: a fork or task that is made in the environment `env` that the coroutine was itself
/// made in, on purpose. It belongs to what is above the coroutine, which neither joins nor stops it: a sibling.
///
/// A coroutine that means its own children makes them in `co_await coflux::context()`. Without NDEBUG a sibling that is
/// not named so, and is made before the coroutine has awaited anything but its context, is told on stderr, once for
/// each place; not one that the first other await takes over, which a stop reaches there. It names the environment of
/// the next fork or task only: write it at each.
///
/// Returns: `env`.
/// Threads: any.
/// Costs: none with NDEBUG; without, a store.
template <std::derived_from<environment> E>
[[nodiscard("it names an environment for a child: f(outer(env), …)")]] E& outer(E& env) noexcept {
#ifndef NDEBUG
    detail::this_thread.meant = &env;
#endif
    return env;
}

}  // namespace coflux

// make_fork: any function as a fork.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include <coflux/core/fork.hpp>

namespace coflux {
namespace detail {

template <typename T, typename Executor, typename F, typename... Args>
fork<T, Executor> fork_of(environment&, F f, Args... args) {
    co_return std::invoke(std::move(f), std::move(args)...);
}

}  // namespace detail

/// Runs `f(args...)` as a fork on `Executor`: `auto a = coflux::make_fork<pool>(here, compress, std::move(bytes));`
///
/// Shapes: `f` and the arguments are copied or moved into the fork, as std::async does; use std::ref where a
/// reference is meant.
/// Returns: the fork of the function's result. Errors, Stops, Costs: those of a fork; the function itself is no stop
/// point.
template <typename Executor = inherit_executor, typename F, typename... Args>
auto make_fork(environment& here, F&& f, Args&&... args)
    requires std::is_invocable_v<std::decay_t<F>, std::decay_t<Args>...>
{
    using result = std::invoke_result_t<std::decay_t<F>, std::decay_t<Args>...>;
    return detail::fork_of<result, Executor, std::decay_t<F>, std::decay_t<Args>...>(here, std::forward<F>(f),
                                                                                     std::forward<Args>(args)...);
}

}  // namespace coflux

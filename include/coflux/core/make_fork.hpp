// make_fork: any function as a fork.
#pragma once

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

#include <coflux/core/fork.hpp>

namespace coflux {
namespace detail {

template <typename T>
inline constexpr bool refers = std::is_pointer_v<T>;
template <typename T>
inline constexpr bool refers<std::reference_wrapper<T>> = true;

/// The result of `f(args...)`; the value of a data member where its object is, or belongs to, an argument, which dies
/// with the fork.
template <typename F, typename... Args>
struct result_of_fork {
    using type = std::invoke_result_t<F, Args...>;
};
template <typename F, typename Object>
    requires std::is_member_object_pointer_v<F> && (!refers<Object>)
struct result_of_fork<F, Object> {
    using type = std::remove_cvref_t<std::invoke_result_t<F, Object>>;
};

template <typename T, typename Executor, typename F, typename... Args>
fork<T, Executor> fork_of(environment&, F f, Args... args) {
    co_return std::invoke(std::move(f), std::move(args)...);
}

}  // namespace detail

/// Runs `f(args...)` as a fork on `Executor`: `auto a = coflux::make_fork<pool>(here, compress, std::move(bytes));`
///
/// Shapes: `f` and the arguments are copied or moved into the fork, as std::async does; use std::ref where a reference
/// is meant.
/// Returns: the fork of the function's result; of a data member's value, or of a reference to it if its object was
/// given by pointer or std::ref.
/// Errors, Stops, Costs: those of a fork; the function itself is no stop point.
template <typename Executor = inherit_executor, typename F, typename... Args>
auto make_fork(environment& here, F&& f, Args&&... args) {
    if constexpr ((... || std::derived_from<std::decay_t<Args>, environment>)) {
        static_assert(detail::never<F>,
                      "coflux: make_fork copies its arguments, and an environment cannot be copied: what needs one is "
                      "a coroutine, to be called with it: f(here)");
    } else if constexpr (!std::is_invocable_v<std::decay_t<F>, std::decay_t<Args>...>) {
        static_assert(
            detail::never<F>,
            "coflux: make_fork(here, f, args...) calls f with copies of args, moved, and f cannot be called with these");
    } else {
        using result = typename detail::result_of_fork<std::decay_t<F>, std::decay_t<Args>...>::type;
        return detail::fork_of<result, Executor, std::decay_t<F>, std::decay_t<Args>...>(here, std::forward<F>(f),
                                                                                         std::forward<Args>(args)...);
    }
}

}  // namespace coflux

// error_policy: the effect of a child's error on its siblings.
#pragma once

namespace coflux {

/// The effect of a child's error on the other children of its scope, of its window, or of its when_all. Under both
/// policies the operation waits for all children that it has, and then throws the first error, with the rest in
/// other_errors().
///
/// | operation | its policy | stop_on_error is for | collect_all is for |
/// | --- | --- | --- | --- |
/// | `task_scope`, `with_scope` | `with_scope(here, policy, block)` | the default | crawls that give what they find |
/// | `for_each_concurrent` | `for_each_concurrent(policy, range, n, f)` | the default | all that can be done |
/// | `when_all` | `when_all(policy, a, b)` | children that need each other | the default |
///
/// A scope and a window make their children, and stop them by default: no other coroutine can need one, and a child that
/// never ends would hide the error. `when_all` makes none: its caller began its forks, which run whether they are
/// awaited or not. It lets them finish by default, because a stop can lose the work of a child, and because each child
/// must be registered for it.
///
/// Shapes: the constants stop_on_error and collect_all are of this type where it is asked for.
/// Example: examples/17_task_scope.cpp
enum class error_policy {
    stop_on_error,  ///< the first error stops them; in a scope, the first whose handle is not awaited
    collect_all,    ///< nothing: they run to their ends
};

namespace detail {

/// A policy that an operation can be compiled for.
template <error_policy Policy>
struct fixed_policy {
    // NOLINTNEXTLINE(google-explicit-constructor): it is one
    constexpr operator error_policy() const noexcept { return Policy; }
};

}  // namespace detail

/// `when_all(stop_on_error, a, b)`, `for_each_concurrent(stop_on_error, …)`, `with_scope(here, stop_on_error, …)`.
inline constexpr detail::fixed_policy<error_policy::stop_on_error> stop_on_error{};
/// `when_all(collect_all, a, b)`, `for_each_concurrent(collect_all, …)`, `with_scope(here, collect_all, …)`.
inline constexpr detail::fixed_policy<error_policy::collect_all> collect_all{};

}  // namespace coflux

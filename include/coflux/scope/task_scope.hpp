// task_scope: a scope for any number of children, added while earlier ones run.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include <coflux/core/detail/handle/wrapper.hpp>
#include <coflux/core/environment_object.hpp>
#include <coflux/core/outer.hpp>
#include <coflux/scope/error_policy.hpp>

namespace coflux {

namespace detail {
class scope_of_block;
}  // namespace detail

/// An environment that any number of children are added to, by any of its coroutines and from any thread, and that is
/// then joined: `coflux::task_scope scope(here); scope.spawn(serve, std::move(connection)); co_await scope.join();`
///
/// Shapes: made in an environment `here`, from which it has memory, executors, deadline and stop. A child is made by
/// spawn(), or as in any environment: `serve(scope, x).attach()`, or with a handle that is awaited as usual. A child
/// that makes another one in its scope says so: `serve(coflux::outer(scope), x)`.
/// Returns: `co_await join()` returns once no child is left: nothing runs after it. Then the scope may be used again,
/// unless a limit of a join() has stopped it: it stays stopped (stop_requested()), as after request_stop(). The limit
/// has told of that. A later join() returns; as_outcome(join()) is `stopped` where children made since were cut off.
/// Errors: join() throws the first unobserved error; the rest are in other_errors(). With stop_on_error (the default error_policy)
/// the first child that fails while its handle is not being awaited stops the other children, also when it is awaited
/// later. A scope that dies with live children is a checked error that names them; so leave it by join(), not by an
/// exception.
/// Stops: request_stop() stops the children that there are and those that will be: what is added later begins, and
/// stops at its first stop point. A child that was stopped is no error: join() returns. When the coroutine that made
/// the scope is stopped, the children are stopped with it and joined before its locals die; join() then stops it where
/// that cut a child off, unless the scope was asked to stop by request_stop(), or to finish_with_value().
/// Threads: any may add children and request a stop while the scope lives; while a coroutine waits in join(), only a
/// coroutine below a child of the scope may add. One coroutine at a time may join.
/// Costs: a child: its frame, and 16 bytes and a short lock more than in a coroutine's own scope; the counts are
/// atomic.
/// Lifetime: not movable; outlives its children.
class task_scope final : public environment_object {
public:
    explicit task_scope(environment& here, error_policy policy = error_policy::stop_on_error) noexcept
        : environment_object(&here) {
        stops_on_error_ = policy == error_policy::stop_on_error;
    }
    ~task_scope() { close(); }

    /// Makes a child by `f(*this, args...)` and leaves it to the scope.
    ///
    /// Shapes: `f` returns a fork or a task; law 10 holds for what it takes.
    /// Errors: what the call throws, std::bad_alloc for one; then there is no child. Adding to a scope that has been
    /// joined, before join() has returned, is a checked error.
    template <typename F, typename... Args>
        requires std::is_invocable_v<F, task_scope&, Args...>
    void spawn(F&& f, Args&&... args) {
        static_assert(detail::is_owned_handle<std::invoke_result_t<F, task_scope&, Args...>>,
                      "coflux: what a task_scope spawns is a fork or a task; a call is awaited where it is made");
        check_open();
        auto child = std::invoke(std::forward<F>(f), outer(*this), std::forward<Args>(args)...);
        detail::check_handle("spawn", "the result of argument", 0, child);
        detail::promise_base::drop(detail::await_access::release(child));
    }

    // Not of anything else.
    template <typename F, typename... Args>
        requires(!std::is_invocable_v<F, task_scope&, Args...>)
    void spawn(F&&, Args&&...) {
        static_assert(!detail::is_owned_handle<std::remove_cvref_t<F>>,
                      "coflux: spawn() makes the child itself: write scope.spawn(f, args...) in place of "
                      "scope.spawn(f(scope, args...)), or f(scope, args...).attach()");
        static_assert(detail::is_owned_handle<std::remove_cvref_t<F>>,
                      "coflux: spawn(f, args...) calls f(scope, args...), and f cannot be called with these");
    }

private:
    friend class detail::scope_of_block;

    void check_open() const noexcept;
};

}  // namespace coflux

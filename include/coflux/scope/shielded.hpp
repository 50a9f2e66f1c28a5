// shielded: an operation that a stop of the awaiting coroutine does not reach.
#pragma once

#include <coroutine>
#include <type_traits>
#include <utility>

#include <coflux/core/detail/handle/wrapper.hpp>
#include <coflux/core/detail/promise/end.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/core/outcome.hpp>

namespace coflux {
namespace detail {

/// Begins the operation in a fork that a stop from above does not reach, and waits for it whatever is requested
/// meanwhile.
template <typename T>
class [[nodiscard]] shielded_awaiter {
public:
    shielded_awaiter(promise_base& p, wrapper<T> operation) noexcept : p_(p), operation_(std::move(operation)) {
        promise_base::of(operation_.used()).shield();
        operation_.begin(p);
    }

    [[nodiscard]] bool await_ready() const noexcept { return operation_.used().is_ready(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) noexcept {
        return p_.await_begun(operation_.used());
    }
    T await_resume() {
        this_thread.current = &p_;
        return consume<T>(operation_.release());
    }

protected:
    promise_base& p_;
    wrapper<T> operation_;
};

/// The await of shielded() as an outcome: a stop of the operation is an outcome, too.
template <typename T>
class [[nodiscard]] shielded_outcome_awaiter : private shielded_awaiter<T> {
    using base = shielded_awaiter<T>;

public:
    shielded_outcome_awaiter(promise_base& p, wrapper<T> operation) noexcept : base(p, std::move(operation)) {
        p.control().word.set(frame_flags::takes_stop);
    }

    [[nodiscard]] bool await_ready() const noexcept { return this->operation_.used().done(); }
    using base::await_suspend;
    outcome<T> await_resume() {
        this_thread.current = &this->p_;
        this->p_.control().word.clear(frame_flags::takes_stop);
        return consume_outcome<T>(this->operation_.release());
    }
};

template <typename A>
struct shielded_operation {
    static_assert(
        !is_owned_handle<std::remove_cvref_t<A>>,
        "coflux: a fork or task is a child of the coroutine that made it, and runs already: shield a call that makes "
        "and awaits it");
    static_assert(!single_use_lvalue<A>, "coflux: this can be awaited once: write shielded(f(here))");

    using single_use = void;
    using may_stop_its_awaiter = void;

    static shielded_awaiter<await_result<A>> bind(promise_base& p, auto& awaited) {
        (void)p.open_scope();
        return shielded_awaiter<await_result<A>>(p, as_handle(p, std::forward<A>(awaited)));
    }
    struct on_outcome {
        static shielded_outcome_awaiter<await_result<A>> bind(promise_base& p, auto& awaited) {
            (void)p.open_scope();
            return shielded_outcome_awaiter<await_result<A>>(p, as_handle(p, std::forward<A>(awaited)));
        }
    };
};
template <typename A>
using shielded_request = request<shielded_operation<A>, A&&>;

}  // namespace detail

/// `co_await coflux::shielded(commit(here, transaction))`: the operation runs to its end, whatever is requested of the
/// coroutine that awaits it; for what must not be left half done, as cleaning up after a stop.
///
/// Shapes: a call, an operation of a primitive, a combinator, a view or a foreign awaitable. A fork or a task runs
/// already, as a child of the coroutine that made it: shield a call that makes and awaits it.
/// Returns: what the operation gives.
/// Resumes: the awaiting coroutine, on its own executor, once the operation has ended.
/// Errors: those of the operation; std::bad_alloc, then it has not begun.
/// Stops: no stop point, neither before nor while it waits: a stop of the awaiting coroutine, or of anything above,
/// takes effect at its next stop point. It reaches neither the operation nor what that makes; a deadline above does not
/// either. A stop that begins inside the operation (request_stop() of what it made, timeout(), this_coroutine::stop())
/// works as ever; if the operation itself stops, so does the awaiting coroutine, unless as_outcome() asks. A handle
/// made outside and moved into the operation is still stopped with the coroutine that made it. A loop of such awaits
/// alone never stops: give it a yield().
/// Threads: the operation begins inside the await.
/// Costs: a frame.
template <typename A>
[[nodiscard("shielded does nothing until it is awaited: co_await it")]] detail::shielded_request<A>
shielded(A&& awaited COFLUX_LIFETIMEBOUND) noexcept {
    return detail::shielded_request<A>(std::forward<A>(awaited));
}

}  // namespace coflux

// once: something that is done by the first coroutine that needs it.
#pragma once

#include <concepts>
#include <coroutine>
#include <functional>
#include <type_traits>
#include <utility>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/call.hpp>
#include <coflux/core/detail/promise/await.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/sync/detail/optional_call.hpp>
#include <coflux/sync/mutex.hpp>

namespace coflux {
namespace detail {

template <typename A>
concept can_be_awaited = native_awaitable<A> || translated_awaitable<A> || foreign_awaitable<A>;

}  // namespace detail

/// A function for `once`: `F&` is called without arguments, or else with the environment of the running coroutine.
template <typename F>
concept once_function = std::invocable<F&> || std::invocable<F&, environment&>;

/// Runs one function to its end for all callers: `co_await o.call([&](coflux::environment& here) { return load(here);
/// });`
///
/// Threads: all members from any.
/// Costs: one load once it is done; before that one frame from the environment's resource.
/// Lifetime: outlives its callers; its destructor checks that.
class once {
    template <typename F>
    class call_awaiter;
    template <typename F>
    using call_request = detail::request<call_awaiter<F>, once&, F>;

public:
    constexpr once() noexcept = default;
    once(const once&) = delete;
    once& operator=(const once&) = delete;
    ~once() = default;

    /// `co_await call(f)`: goes on when `f`, or the function of an earlier caller, has been run to its end.
    ///
    /// Shapes: `f()` or `f(environment&)`, a plain function or a function that gives something to await: it is run in a
    /// call below the awaiting coroutine. Its result is dropped.
    /// Returns: nothing; what was done is visible.
    /// Resumes: on the coroutine's executor.
    /// Errors: what `f` throws goes to the caller that passed it, and the next waiter tries its own function.
    /// std::bad_alloc.
    /// Stops: a stop point while it is not done. If the coroutine that runs `f` is stopped, the next waiter tries its
    /// own.
    template <once_function F>
    [[nodiscard("nothing is done until this is awaited: co_await it")]] call_request<F>
    call(F f) noexcept(std::is_nothrow_move_constructible_v<F>) {
        return call_request<F>(*this, std::move(f));
    }
    /// True once a function has been run to its end.
    [[nodiscard]] bool done() const noexcept { return done_.load(detail::memory_order_acquire); }

private:
    template <typename F>
    static coflux::call<void> run(environment&, once& of, F& f) {
        const mutex::guard turn = co_await of.turn_.lock();
        if (of.done()) co_return;
        if constexpr (std::invocable<F&>) {
            if constexpr (detail::can_be_awaited<std::invoke_result_t<F&>>) {
                co_await std::invoke(f);
            } else {
                static_cast<void>(std::invoke(f));
            }
        } else {
            environment& here = co_await context();
            if constexpr (detail::can_be_awaited<std::invoke_result_t<F&, environment&>>) {
                co_await std::invoke(f, here);
            } else {
                static_cast<void>(std::invoke(f, here));
            }
        }
        of.done_.store(true, detail::memory_order_release);  // pairs with the load in done()
    }

    mutex turn_;                        // held by the caller that runs its function
    detail::atomic<bool> done_{false};  // false -> true, once, by the owner of turn_
};

template <typename F>
class [[nodiscard]] once::call_awaiter : detail::optional_call {
public:
    using single_use = void;
    using may_stop_its_awaiter = void;

    call_awaiter(detail::promise_base& p, once& of, F& f) : p_(p), of_(of), f_(std::move(f)) {}
    [[nodiscard]] bool await_ready() noexcept { return ready_if(of_.done()); }
    template <typename P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
        return begin(h, [this] { return run(p_.open_scope(), of_, f_); });
    }
    void await_resume() { resumed(); }

private:
    detail::promise_base& p_;
    once& of_;
    F f_;
};

}  // namespace coflux

// on_stop_request: how a foreign operation learns that the coroutine which awaits it should stop.
#pragma once

#include <concepts>
#include <coroutine>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <coflux/base/atomic.hpp>
#include <coflux/core/detail/promise/await.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/core/detail/wait/wait_operation.hpp>

namespace coflux {

/// The function that a stop request calls: any nothrow callable without parameters.
template <typename F>
concept stop_handler = std::is_nothrow_invocable_v<F&> && std::move_constructible<F>;

namespace detail {

// How far the operation and the request have come.
//
//     starting --starter--> started --stopper--> calling --stopper has called back--> called
//        |                     +--await_resume--> over
//        +--stopper--> early --starter has called back--> over
//
// The awaiter is gone only after `over` or `called`. The callback runs only once the operation has been started.
enum class stop_callback_state : std::uint8_t { starting, started, early, calling, over, called };

template <typename A, typename F>
class [[nodiscard]] stop_callback_awaiter : private wait_operation {
public:
    using single_use = void;

    stop_callback_awaiter(promise_base& p, A& awaited, F& on_request)
        : wait_operation(p, kind),
          inner_(p, std::forward<A>(awaited)),
          on_request_(std::move(on_request)) {}

    /// As wait_operation::is_unresumed(). A stopper may be calling back.
    ~stop_callback_awaiter() {
        if constexpr (COFLUX_LATE_RESULTS) {
            if (waits_) forbid_callback();
        }
    }

    [[nodiscard]] bool await_ready() { return inner_.await_ready(); }

    std::coroutine_handle<> await_suspend(std::coroutine_handle<> self) {
        promise_base& p = coroutine();
        if (inner_.is_done()) return inner_.await_suspend(self);
        if (p.begin_suspend() == detail::suspension::stop) return p.stop_here();
        if (attempt_wait(*this, [this]() noexcept { return must_stop() ? wait_attempt::stop : wait_attempt::waits; }) ==
            wait_attempt::stop)
            return p.stop_here();
        waits_ = true;
        // A coroutine without an executor would be resumed in place, before the operation counts as started.
        const resumption_pause pause;
        std::coroutine_handle<> to;
        try {
            to = inner_.await_suspend(self);
        } catch (...) {  // it did not begin; a request that came meanwhile left the operation in the record
            waits_ = false;
            end();
            throw;
        }
        auto s = stop_callback_state::starting;
        // acq_rel pairs with claim(): the caller back sees the operation started; this thread sees the request.
        if (!state_.compare_exchange_strong(s, stop_callback_state::started, memory_order_acq_rel,
                                            memory_order_acquire)) {
            on_request_();
            state_.store(stop_callback_state::over, memory_order_release);  // pairs with forbid_callback()
        }
        return to;  // the awaiter may be gone
    }

    decltype(auto) await_resume() {
        if (std::exchange(waits_, false)) forbid_callback();
        resumed();
        return inner_.await_resume();
    }

private:
    /// From now on there is no callback, and none is about to begin.
    void forbid_callback() noexcept {
        auto s = stop_callback_state::started;
        // acq_rel pairs with claim(): it comes before or not at all; acquire with the thread that moved the state on.
        while (
            !state_.compare_exchange_strong(s, stop_callback_state::over, memory_order_acq_rel, memory_order_acquire)) {
            if (s == stop_callback_state::over || s == stop_callback_state::called) break;
            cpu_pause();  // a thread starts the operation or calls back at this moment
            s = stop_callback_state::started;
        }
    }

    static bool claim(wait_operation& waiting) noexcept {
        atomic<stop_callback_state>& state = static_cast<stop_callback_awaiter&>(waiting).state_;
        auto s = stop_callback_state::starting;
        // acq_rel pairs with await_suspend(), which then calls back.
        if (state.compare_exchange_strong(s, stop_callback_state::early, memory_order_acq_rel, memory_order_acquire))
            return false;
        // acq_rel pairs with await_suspend() and forbid_callback(): the operation was started, and has not been resumed
        // from.
        return s == stop_callback_state::started &&
               state.compare_exchange_strong(s, stop_callback_state::calling, memory_order_acq_rel,
                                             memory_order_acquire);
    }
    static void call_back(wait_operation& claimed) noexcept {
        auto& self = static_cast<stop_callback_awaiter&>(claimed);
        self.on_request_();                                                    // stop_walk pauses resumptions in place
        self.state_.store(stop_callback_state::called, memory_order_release);  // pairs with forbid_callback()
    }
    static constexpr wait_kind kind{&claim, &call_back, nullptr};

    foreign_awaiter<A> inner_;
    F on_request_;
    atomic<stop_callback_state> state_{stop_callback_state::starting};
    bool waits_ = false;  // a stopper may call back; wait_operation::has_begun() is not to be asked before that is over
};

template <typename A, typename F>
using stop_callback_request = request<stop_callback_awaiter<A, F>, A&&, F>;

}  // namespace detail

/// `co_await on_stop_request(operation, f)` awaits a foreign operation that can be cut short. When a stop is requested
/// of the coroutine meanwhile, `f()` is called once, and should make the operation complete. It runs on the thread that
/// requests the stop, or on the coroutine's own if the request comes while the operation is being started.
///
/// Shapes: `operation` is a foreign awaitable; `f` is nothrow callable.
/// Returns: what the operation gives. It completed, so that counts; the coroutine stops at its next stop point.
/// Resumes: on the coroutine's own executor, after `f` has returned if it was called.
/// Errors: those of the operation.
/// Stops: a stop point before the operation begins; loses nothing then.
/// Threads: `f` runs beside the operation, not before it was started.
/// Costs: no allocation after the coroutine's first wait.
template <typename A, stop_handler F>
[[nodiscard("co_await it")]] detail::stop_callback_request<A, F> on_stop_request(A&& operation, F f) {
    static_assert(!detail::native_awaitable<A>,
                  "coflux: what is of Coflux is stopped without it; on_stop_request is for foreign awaitables");
    return detail::stop_callback_request<A, F>(std::forward<A>(operation), std::move(f));
}
template <typename A, typename F>
    requires(!stop_handler<F>)
auto on_stop_request(A&&, F) {
    static_assert(detail::never<F>, "coflux: what on_stop_request calls must be noexcept: [&]() noexcept { … }");
}

}  // namespace coflux

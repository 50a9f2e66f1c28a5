// Awaiting what Coflux does not know: the coroutine resumes on its own executor, on whatever thread it is resumed (law
// 3).
#pragma once

#include <coroutine>
#include <type_traits>
#include <utility>

#include <coflux/base/no_coroutine.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/thread/thread_driver.hpp>
#include <coflux/core/detail/wait/turn.hpp>

namespace coflux::detail {

template <typename A>
concept has_member_co_await = requires(A&& a) { std::forward<A>(a).operator co_await(); };
template <typename A>
concept has_free_co_await = requires(A&& a) { operator co_await(std::forward<A>(a)); };

template <typename A>
decltype(auto) awaiter_of(A&& a) {
    if constexpr (has_member_co_await<A>) {
        return std::forward<A>(a).operator co_await();
    } else if constexpr (has_free_co_await<A>) {
        return operator co_await(std::forward<A>(a));
    } else {
        return std::forward<A>(a);
    }
}

template <typename A>
concept foreign_awaitable = requires(A&& a, std::coroutine_handle<> h) {
    awaiter_of(std::forward<A>(a)).await_ready();
    awaiter_of(std::forward<A>(a)).await_suspend(h);
    awaiter_of(std::forward<A>(a)).await_resume();
};

/// Wraps a foreign awaiter. The handle that it is given is not the coroutine's: resuming it, on any thread, queues the
/// coroutine on its own executor, so that a notifier never runs it and a foreign thread never keeps it. Without an
/// executor it resumes in place.
///
/// Stops: not a stop point; the foreign operation is not stopped.
template <typename A>
class foreign_awaiter {
    static_assert(foreign_awaitable<A>, "coflux: the operand of co_await is neither of Coflux nor an awaitable");
    using inner_type = decltype(awaiter_of(std::declval<A>()));

public:
    foreign_awaiter(promise_base& p, A&& awaited)
        : proxy_{&foreign_awaiter::resume_proxy, &foreign_awaiter::resume_proxy, &p, nullptr},
          inner_(awaiter_of(std::forward<A>(awaited))) {}

    foreign_awaiter(const foreign_awaiter&) = delete;
    foreign_awaiter& operator=(const foreign_awaiter&) = delete;
    ~foreign_awaiter() { end_wait(); }  // another await of the expression threw

    bool await_ready() {
        if (!inner_.await_ready()) return false;
        lets_others_run_ = !goes_on();
        return !lets_others_run_;
    }

    /// await_ready() said no although it was: await_suspend() lets others run.
    [[nodiscard]] bool is_done() const noexcept { return lets_others_run_; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> self) {
        promise_base& p = *proxy_.coroutine;
        if (lets_others_run_) [[unlikely]]
            return let_others_run(p);
        (void)p.begin_suspend();  // not a stop point
        p.clear_current();
        if (driver_ = this_thread.driver; driver_ != nullptr) [[unlikely]]
            driver_->begin_foreign_wait(p);
        try {
            return suspend_in(inner_, std::coroutine_handle<>::from_address(&proxy_), self);
        } catch (...) {  // the coroutine goes on here
            this_thread.below = std::exchange(this_thread.current, &p);
            end_wait();
            throw;
        }
    }

    decltype(auto) await_resume() {
        this_thread.current = proxy_.coroutine;
        end_wait();
        return inner_.await_resume();
    }

private:
    /// Where it does not throw this object may be gone afterwards.
    static std::coroutine_handle<> suspend_in(inner_type& inner, std::coroutine_handle<> given,
                                              std::coroutine_handle<> self) {
        using result = decltype(inner.await_suspend(given));
        if constexpr (std::is_void_v<result>) {
            inner.await_suspend(given);
            return no_coroutine();
        } else if constexpr (std::is_same_v<result, bool>) {
            return inner.await_suspend(given) ? no_coroutine() : transfer(self);
        } else {
            const std::coroutine_handle<> next = inner.await_suspend(given);
            return next.address() == given.address() ? transfer(self) : transfer(next);
        }
    }
    void end_wait() noexcept {
        if (driver_ != nullptr) [[unlikely]]
            std::exchange(driver_, nullptr)->end_foreign_wait(*proxy_.coroutine);
    }
    static void resume_proxy(void* frame) {
        auto* const proxy = static_cast<proxy_frame*>(frame);
        promise_base& p = *proxy->coroutine;
        if (p.runs_on() != nullptr) return p.runs_on()->post(p.handle());
        thread_state& t = this_thread;
        if (!t.looping || t.next == nullptr) return run_next(p.handle());
        // Not here, in the middle of other code's work (resumption_pause): behind the coroutines that wait for the
        // loop.
        resume_by_loop(*proxy);
    }

    thread_driver* driver_ = nullptr;  // the driver that knows that the coroutine waits here
    bool lets_others_run_ = false;     // the operation was done at once
    proxy_frame proxy_;
    inner_type inner_;
};

}  // namespace coflux::detail

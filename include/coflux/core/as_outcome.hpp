// as_outcome: await without throwing and without being stopped in turn.
#pragma once

#include <coroutine>
#include <exception>
#include <new>
#include <source_location>
#include <type_traits>
#include <utility>

#include <coflux/base/address_of.hpp>
#include <coflux/base/no_coroutine.hpp>
#include <coflux/core/detail/promise/await.hpp>
#include <coflux/core/detail/promise/end.hpp>
#include <coflux/core/detail/thread/transfer.hpp>
#include <coflux/core/outcome.hpp>

namespace coflux {
namespace detail {

/// An await whose value or exception becomes an outcome, wherever it throws. A stop reaches only the awaiting coroutine
/// itself.
template <typename A>
class [[nodiscard]] caught_awaiter {
    using inner_type = decltype(bind_await(std::declval<promise_base&>(), std::declval<A>(), std::source_location{}));
    using result = decltype(std::declval<inner_type&>().await_resume());

public:
    caught_awaiter(promise_base& p, A&& awaited, std::source_location where) noexcept {
        try {
            ::new (static_cast<void*>(detail::address_of(inner_)))
                inner_type(bind_inner_await(p, std::forward<A>(awaited), where));
        } catch (...) {
            bound_ = false;
            thrown_ = std::current_exception();
        }
    }
    caught_awaiter(const caught_awaiter&) = delete;
    caught_awaiter& operator=(const caught_awaiter&) = delete;
    ~caught_awaiter() {
        if (bound_) inner_.~inner_type();
    }

    [[nodiscard]] bool await_ready() noexcept {
        if (!bound_) return true;
        try {
            return inner_.await_ready();
        } catch (...) {
            thrown_ = std::current_exception();
            return true;
        }
    }
    template <typename P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) noexcept {
        try {
            // Where it does not throw this object may be gone afterwards.
            return suspend_in(inner_, h);
        } catch (...) {
            thrown_ = std::current_exception();
            return transfer(h);
        }
    }
    outcome<result> await_resume() noexcept {
        if (thrown_ == nullptr) {
            return caught_outcome<result>([this]() -> decltype(auto) {
                if constexpr (std::is_reference_v<result>) {
                    return detail::address_of(inner_.await_resume());
                } else {
                    return inner_.await_resume();
                }
            });
        }
        return outcome<result>(std::move(thrown_));
    }

private:
    template <typename P>
    static std::coroutine_handle<> suspend_in(inner_type& inner, std::coroutine_handle<P> h) {
        using suspended_as = decltype(inner.await_suspend(h));
        if constexpr (std::is_void_v<suspended_as>) {
            inner.await_suspend(h);
            return no_coroutine();
        } else if constexpr (std::is_same_v<suspended_as, bool>) {
            return inner.await_suspend(h) ? no_coroutine() : transfer(h);
        } else {
            return inner.await_suspend(h);
        }
    }

    union {
        inner_type inner_;
    };
    bool bound_ = true;
    std::exception_ptr thrown_;
};

/// An awaiter that gives an outcome, and whose making may throw: that is an outcome, too.
template <typename A>
class [[nodiscard]] made_outcome_awaiter {
    using inner_type = decltype(await_access::await_outcome_in(std::declval<A>(), std::declval<promise_base&>(),
                                                               std::source_location{}));
    using result = decltype(std::declval<inner_type&>().await_resume());

public:
    made_outcome_awaiter(promise_base& p, A&& awaited, std::source_location where) noexcept {
        try {
            ::new (static_cast<void*>(detail::address_of(inner_)))
                inner_type(await_access::await_outcome_in(std::forward<A>(awaited), p, where));
        } catch (...) {
            thrown_ = std::current_exception();
        }
    }
    made_outcome_awaiter(const made_outcome_awaiter&) = delete;
    made_outcome_awaiter& operator=(const made_outcome_awaiter&) = delete;
    ~made_outcome_awaiter() {
        if (thrown_ == nullptr) inner_.~inner_type();
    }

    [[nodiscard]] bool await_ready() { return thrown_ != nullptr || inner_.await_ready(); }
    template <typename P>
    auto await_suspend(std::coroutine_handle<P> h) {
        return inner_.await_suspend(h);
    }
    result await_resume() {
        if (thrown_ != nullptr) return result(thrown_);
        return inner_.await_resume();
    }

private:
    union {
        inner_type inner_;
    };
    std::exception_ptr thrown_;  // not empty: there is no inner_
};

/// The awaiter of `awaited` as an outcome.
template <typename A>
auto bind_outcome(promise_base& p, A&& awaited, std::source_location where) {
    if constexpr (await_access::has_outcome<A>()) {
        if constexpr (noexcept(await_access::await_outcome_in(std::forward<A>(awaited), p, where))) {
            return await_access::await_outcome_in(std::forward<A>(awaited), p, where);
        } else {
            return made_outcome_awaiter<A>(p, std::forward<A>(awaited), where);
        }
    } else {
        static_assert(!await_access::may_stop_its_awaiter<A>(),
                      "coflux: this cannot be awaited as an outcome: await it in a call, and the call as one, "
                      "as_outcome(f(here)); next() of completions has next_outcome()");
        return caught_awaiter<A>(p, std::forward<A>(awaited), where);
    }
}

template <typename A>
class [[nodiscard("co_await it")]] outcome_request {
    static_assert(!single_use_lvalue<A>,
                  "coflux: this handle can be awaited once: write as_outcome(std::move(handle))");

public:
    explicit outcome_request(A&& awaited) noexcept : awaited_(std::forward<A>(awaited)) {}
    outcome_request(const outcome_request&) = delete;
    outcome_request& operator=(const outcome_request&) = delete;

private:
    friend struct await_access;
    using operand = A;

    [[nodiscard]] environment& home(promise_base& p) const noexcept
        requires(await_access::has_home<A>())
    {
        return await_access::home(awaited_, p);
    }
    auto await_in(promise_base& p, std::source_location where) && {
        return bind_outcome(p, std::forward<A>(awaited_), where);
    }

    A&& awaited_;
};

}  // namespace detail

/// `co_await coflux::as_outcome(x)` gives an outcome: the value, the error or the stop of `x`, without throwing and
/// without stopping the awaiting coroutine in turn.
///
/// Shapes: `x` is a fork or task (moved), a view, a call, a combinator, an operation of a primitive, or any foreign
/// awaitable, or as_result() of one of them, whose system error is a value then. Not select() or once::call(): await
/// one of those in a call, and that as an outcome. Not next() of completions, which has next_outcome().
/// Stops: if a stop of the awaiting coroutine was requested before, it stops here as in a plain await. A stop that
/// comes while it waits for a coroutine, a combinator, a limit or a join() stops that, which is the outcome `stopped`,
/// and the awaiting coroutine goes on. While it waits for anything else, a sleep or a view, it stops here.
/// Costs: those of the plain await.
template <typename A>
detail::outcome_request<A> as_outcome(A&& awaited COFLUX_LIFETIMEBOUND) noexcept {
    return detail::outcome_request<A>(std::forward<A>(awaited));
}

}  // namespace coflux

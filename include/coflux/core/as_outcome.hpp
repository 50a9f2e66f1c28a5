// as_outcome: await without throwing and without being stopped in turn.
#pragma once

#include <coroutine>
#include <source_location>
#include <type_traits>
#include <utility>

#include <coflux/core/await_transform.hpp>
#include <coflux/core/outcome.hpp>

namespace coflux {
namespace detail {

template <typename A>
class foreign_outcome_awaiter : public foreign_awaiter<A> {
    using result = decltype(std::declval<foreign_awaiter<A>&>().await_resume());

public:
    using foreign_awaiter<A>::foreign_awaiter;
    outcome<result> await_resume() {
        try {
            if constexpr (std::is_void_v<result>) {
                foreign_awaiter<A>::await_resume();
                return outcome<result>(std::in_place);
            } else if constexpr (std::is_reference_v<result>) {
                return outcome<result>(std::in_place, std::addressof(foreign_awaiter<A>::await_resume()));
            } else {
                return outcome<result>(std::in_place, foreign_awaiter<A>::await_resume());
            }
        } catch (...) {
            return outcome<result>(std::current_exception());
        }
    }
};

template <typename A>
class [[nodiscard("co_await it")]] outcome_request {
public:
    explicit outcome_request(A&& awaited) noexcept : awaited_(std::forward<A>(awaited)) {}
    outcome_request(const outcome_request&) = delete;
    outcome_request& operator=(const outcome_request&) = delete;

    decltype(auto) await_in(promise_base& p, std::source_location where) && {
        if constexpr (requires { std::forward<A>(awaited_).await_outcome_in(p, where); }) {
            return std::forward<A>(awaited_).await_outcome_in(p, where);
        } else {
            static_assert(!native_awaitable<A>, "coflux: this cannot be awaited as an outcome");
            return foreign_outcome_awaiter<A>(p, std::forward<A>(awaited_), where);
        }
    }

private:
    A&& awaited_;
};

}  // namespace detail

/// `co_await coflux::as_outcome(x)` gives an outcome: the value, the error or the stop of `x`, without throwing and
/// without stopping the awaiting coroutine in turn.
///
/// Shapes: `x` is a fork or task (moved), a call, or any awaitable of others.
/// Stops: if the awaiting coroutine itself has been told to stop, it stops here as in a plain await.
/// Costs: those of the plain await.
template <typename A>
detail::outcome_request<A> as_outcome(A&& awaited) noexcept {
    static_assert(!detail::single_use_lvalue<A>,
                  "coflux: this handle can be awaited once: write as_outcome(std::move(handle))");
    return detail::outcome_request<A>(std::forward<A>(awaited));
}

}  // namespace coflux

// An await that is completed and never resumed from, as those of an expression whose first await throws may be.
#pragma once

#include <coroutine>
#include <source_location>
#include <stdexcept>
#include <utility>

#include <coflux/coflux.hpp>

namespace coflux_test {

template <typename Awaiter>
class left_awaiter {
public:
    template <typename A>
    left_awaiter(coflux::detail::promise_base& p, A&& awaited, std::source_location where)
        : p_(p),
          inner_(coflux::detail::bind_await(p, std::forward<A>(awaited), where)) {}
    [[nodiscard]] bool await_ready() { return inner_.await_ready(); }
    template <typename P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
        return inner_.await_suspend(h);
    }
    void await_resume() {
        coflux::detail::this_thread.current = &p_;
        throw std::runtime_error("left");
    }

private:
    coflux::detail::promise_base& p_;
    Awaiter inner_;
};

/// `co_await left(x)` throws once `x` has been completed. Only with
/// COFLUX_LATE_RESULTS: elsewhere awaits rely on being resumed from.
template <typename A>
class left {
    using awaiter = decltype(coflux::detail::bind_await(std::declval<coflux::detail::promise_base&>(),
                                                        std::declval<A>(), std::source_location{}));

public:
    explicit left(A&& awaited) noexcept : awaited_(std::forward<A>(awaited)) {}
    left_awaiter<awaiter> await_in(coflux::detail::promise_base& p, std::source_location where) && {
        return left_awaiter<awaiter>(p, std::forward<A>(awaited_), where);
    }

private:
    A&& awaited_;
};
template <typename A>
left(A&&) -> left<A>;

}  // namespace coflux_test

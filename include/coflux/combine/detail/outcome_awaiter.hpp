// The await of a combinator as an outcome: what it throws, and the stop of its children, are values.
#pragma once

#include <coroutine>
#include <exception>
#include <memory>
#include <source_location>
#include <type_traits>
#include <utility>

#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/outcome.hpp>

namespace coflux::detail {

/// `Request` has `await_in`; its awaiter has `awaiting()`, and `stops()` says whether the children's end is a stop.
template <typename Request>
class [[nodiscard]] outcome_awaiter {
    using inner_type =
        decltype(std::declval<Request>().await_in(std::declval<promise_base&>(), std::source_location{}));
    using result = decltype(std::declval<inner_type&>().await_resume());

public:
    outcome_awaiter(promise_base& p, Request&& request, std::source_location where)
        : inner_(std::move(request).await_in(p, where)) {
        p.control().word.set(frame_flags::takes_stop);  // last: what throws before leaves it clear
    }

    [[nodiscard]] bool await_ready() noexcept { return inner_.await_ready(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) noexcept { return inner_.await_suspend(h); }
    outcome<result> await_resume() {
        promise_base& p = inner_.awaiting();
        this_thread.current = &p;
        p.control().word.clear(frame_flags::takes_stop);
        if (inner_.stops()) return stopped;
        try {
            if constexpr (std::is_void_v<result>) {
                inner_.await_resume();
                return outcome<result>(std::in_place);
            } else if constexpr (std::is_reference_v<result>) {
                return outcome<result>(std::in_place, std::addressof(inner_.await_resume()));
            } else {
                return outcome<result>(std::in_place, inner_.await_resume());
            }
        } catch (...) {
            return outcome<result>(std::current_exception());
        }
    }

private:
    inner_type inner_;
};

/// What makes `co_await as_outcome(request)` work.
template <typename Request>
class with_outcome {
public:
    using may_stop_its_awaiter = void;

    auto await_outcome_in(promise_base& p, std::source_location where) && {
        return outcome_awaiter<Request>(p, static_cast<Request&&>(*this), where);
    }
};

}  // namespace coflux::detail

// The await of a combinator as an outcome: what it throws, and the stop of its children, are values.
#pragma once

#include <coroutine>
#include <exception>
#include <type_traits>
#include <utility>

#include <coflux/base/address_of.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/outcome.hpp>

namespace coflux::detail {

/// `Inner` has `awaiting()`, and `stops()` says whether the children's end is a stop.
template <typename Inner>
class [[nodiscard]] outcome_awaiter {
    using result = decltype(std::declval<Inner&>().await_resume());

public:
    template <typename Bind>
    outcome_awaiter(promise_base& p, Bind bind) : inner_(bind()) {
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
                return outcome<result>(std::in_place, detail::address_of(inner_.await_resume()));
            } else {
                return outcome<result>(std::in_place, inner_.await_resume());
            }
        } catch (...) {
            return outcome<result>(std::current_exception());
        }
    }

private:
    Inner inner_;
};

/// The common part of the operations of combinators: each is awaited once, as it is or by as_outcome().
template <typename Operation>
struct with_outcome {
    using single_use = void;
    using may_stop_its_awaiter = void;

    struct on_outcome {
        static auto bind(promise_base& p, auto&... arguments) {
            const auto bind_inner = [&] { return Operation::bind(p, arguments...); };
            return outcome_awaiter<decltype(bind_inner())>(p, bind_inner);
        }
    };
};

}  // namespace coflux::detail

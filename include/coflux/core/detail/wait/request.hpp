// An operation before it is awaited: an awaiter to be, and its arguments.
#pragma once

#include <cstddef>
#include <source_location>
#include <type_traits>
#include <utility>

#include <coflux/base/config.hpp>
#include <coflux/core/detail/handle/await_access.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>

namespace coflux::detail {

/// The arguments of a request: a std::tuple of them costs each file that includes the library more than all else here.
template <std::size_t I, typename T>
struct argument {
    T value;
};
template <typename Positions, typename... Args>
struct argument_pack;
template <std::size_t... I, typename... Args>
struct argument_pack<std::index_sequence<I...>, Args...> : argument<I, Args>... {};
template <std::size_t I, typename T>
[[nodiscard]] COFLUX_INLINE constexpr T& argument_at(argument<I, T>& a) noexcept {
    return a.value;
}

/// The operand of a co_await that `Operation` serves: made where the operation is named, bound to the awaiting
/// coroutine where it is awaited.
///
/// Shapes: Args are references to what outlives the await, or what the operation holds itself. `Operation` is an
/// awaiter, constructible from lvalues of them, after the promise if it takes that; or it makes the awaiter, by a
/// static `bind(p, arguments...)`. Its type `on_outcome`, if it has one, is the same for an await by as_outcome(). It
/// may have the types that await_access lists, too. A function that returns a request is [[nodiscard]], with its own
/// consequence.
///
/// An operation that takes what it waits for has two steps, for a select in which it may lose; its `has_two_steps` is
/// the operation itself. `claim(arguments...)` gives the request of the first: that waits until it is there and nobody
/// else can take it, or keeps it, and gives it back where it is destroyed. `finish(arguments...)` or `finish(kept,
/// arguments...)` takes it, and gives the result.
template <typename Operation, typename... Args>
class request {
public:
    // NOLINTNEXTLINE(google-explicit-constructor): what names an operation returns its arguments
    constexpr COFLUX_INLINE request(Args... args) noexcept((... && std::is_nothrow_constructible_v<Args, Args>))
        : args_{{std::forward<Args>(args)}...} {}

protected:
    using argument_list = argument_pack<std::index_sequence_for<Args...>, Args...>;
    [[nodiscard]] argument_list& arguments() const noexcept { return args_; }

private:
    friend struct await_access;
    using operation = Operation;
    using positions = std::index_sequence_for<Args...>;

    COFLUX_INLINE auto await_in(promise_base& p, std::source_location) const {
        return make<Operation>(p, std::index_sequence_for<Args...>());
    }
    auto await_outcome_in(promise_base& p, std::source_location) const
        requires requires { typename Operation::on_outcome; }
    {
        return make<typename Operation::on_outcome>(p, std::index_sequence_for<Args...>());
    }
    template <std::size_t... I>
    auto claim(std::index_sequence<I...>) const {
        return Operation::claim(argument_at<I>(args_)...);
    }
    template <std::size_t... I, typename... Kept>
    decltype(auto) finish(std::index_sequence<I...>, Kept&&... kept) const {
        return Operation::finish(std::forward<Kept>(kept)..., argument_at<I>(args_)...);
    }
    template <typename Made, std::size_t... I>
    COFLUX_INLINE auto make(promise_base& p, std::index_sequence<I...>) const {
        if constexpr (requires { Made::bind(p, argument_at<I>(args_)...); }) {
            return Made::bind(p, argument_at<I>(args_)...);
        } else if constexpr (std::is_constructible_v<Made, promise_base&, Args&...>) {
            return Made(p, argument_at<I>(args_)...);
        } else {
            return Made(argument_at<I>(args_)...);
        }
    }

    mutable argument_list args_;  // what the operation holds goes into its await
};

}  // namespace coflux::detail

template <typename Operation, typename... Args>
struct std::tuple_size<coflux::detail::request<Operation, Args...>>
    : coflux::detail::size_before_await<coflux::detail::request<Operation, Args...>> {};

// when_any: waits for the first of several to end.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <ranges>
#include <type_traits>
#include <utility>
#include <variant>

#include <coflux/combine/detail/some_of.hpp>
#include <coflux/core/indexed.hpp>

namespace coflux {
namespace detail {

/// The alternative of a variant for a child that gives T.
template <typename T>
using alternative =
    std::conditional_t<std::is_void_v<T>, std::monostate,
                       std::conditional_t<std::is_lvalue_reference_v<T>,
                                          std::reference_wrapper<std::remove_reference_t<T>>, std::remove_cvref_t<T>>>;

template <typename T>
indexed<T> take_indexed(std::size_t index, frame_control& c) {
    if constexpr (std::is_void_v<T>) {
        consume<void>(c);
        return indexed<void>(index);
    } else {
        return indexed<T>(index, consume<T>(c));
    }
}

/// The first end decides; which one it was is a part of the result.
struct first_of_any {
    static constexpr some_errors errors = some_errors::decide;
    static constexpr const char* name = "when_any";

    static constexpr std::size_t wanted(std::size_t) noexcept { return 1; }
    template <typename... T>
    static std::variant<alternative<T>...> of_tuple(auto& some) {
        const std::size_t winner = some.ranked(0);
        using result = std::variant<alternative<T>...>;
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            constexpr std::array<result (*)(frame_control&), sizeof...(T)> take{+[](frame_control& won) {
                return result(std::in_place_index<I>, consume_element<T, alternative<T>>(won));
            }...};
            return take[winner](some.taken(winner));
        }(std::index_sequence_for<T...>{});
    }
    template <typename T, typename Awaiter>
    static indexed<T> of_range(Awaiter& some) {
        const std::size_t winner = some.ranked(0);
        return take_indexed<T>(winner, some.taken(winner));
    }
};

}  // namespace detail

/// Waits until one has ended, stops the other children, and waits for them, too: `auto first = co_await
/// coflux::when_any(std::move(a), std::move(b)); if (first.index() == 0) use(std::get<0>(first));`
///
/// Shapes: forks and tasks (moved), calls, views and any other awaitable; what is not running yet is started at once,
/// in order. At least one.
/// Returns: a std::variant whose index says which one it was: the value, std::monostate for void,
/// std::reference_wrapper for a reference. If several have ended before, the first in order.
/// Resumes: the awaiting coroutine, once, after the last child ended: nothing runs on behind its back.
/// Errors: if the first that ends fails, its error, with those of the other children in other_errors(). The error of a
/// losing child is an error of the awaiting coroutine's scope, like that of any child that was not awaited;
/// first_success drops it.
/// Stops: a stop point; a stop loses the results. A stopped child decides nothing; if all are stopped, so is the
/// awaiting coroutine. A stop that comes later stops all children, wherever they were made, and when_any ends with
/// them; a value that a child gives nevertheless is given. A sleep ends when a worker runs it: limit by timeout() what
/// computes for long and asks its stop token.
/// Threads: the children may end on any.
/// Costs: no allocation for forks and tasks; one frame for each other awaitable. Three locked instructions a child, and
/// a stop request for each losing child. The values of losing children are destroyed.
/// Lifetime: a foreign awaitable that knows no stop request is waited for.
template <typename... As>
    requires(sizeof...(As) != 1 || !(... && std::ranges::input_range<As>))
[[nodiscard("when_any does nothing until it is awaited: co_await it")]]
detail::some_request<detail::first_of_any, As...> when_any(As&&... awaited COFLUX_LIFETIMEBOUND) noexcept {
    return detail::some_request<detail::first_of_any, As...>(std::forward<As>(awaited)...);
}

/// when_any() of a range, which is consumed: `auto [index, value] = co_await coflux::when_any(std::move(forks));`
///
/// Shapes: an input range of awaitables that is not empty.
/// Returns: an indexed<T>: the index in the range, and the value; indexed<void> has the index alone.
/// Errors: std::invalid_argument for an empty range; then nothing was taken from it.
/// Costs: one block from the environment's resource, 64 bytes a child; a vector of handles if the range does not hold
/// its forks in random-access order or was not given away.
template <std::ranges::input_range Range>
[[nodiscard("when_any does nothing until it is awaited: co_await it")]]
detail::some_range_request<detail::first_of_any, Range> when_any(Range&& range COFLUX_LIFETIMEBOUND) noexcept {
    return detail::some_range_request<detail::first_of_any, Range>(detail::as_chosen, std::forward<Range>(range));
}

}  // namespace coflux

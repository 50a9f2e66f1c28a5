// Ranges of what the combinators wait for, as handles: forks and tasks as they are, everything else wrapped
// (core/wrapper.hpp).
//
// All frames are had before the first of them begins, so that an allocation that fails has no effect.
#pragma once

#include <memory_resource>
#include <ranges>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <coflux/core/detail/handle/wrapper.hpp>
#include <coflux/core/detail/promise/end.hpp>

namespace coflux::detail {

/// Keeps an operand that does not outlive the step in which a range gives it.
template <typename A>
fork<await_result<A>, wrapping_executor> wrapped_value(environment&, A awaited) {
    co_return co_await std::move(awaited);
}

template <typename Range>
using handles_of = std::pmr::vector<std::remove_cvref_t<decltype(as_handle(
    std::declval<promise_base&>(), std::declval<std::ranges::range_value_t<Range>>()))>>;

/// A range that is given away and has its forks or tasks in itself, in random-access order: it is used in place.
template <typename Range>
concept holds_handles =
    is_owned_handle<std::ranges::range_value_t<Range>> && std::ranges::random_access_range<Range> &&
    std::ranges::sized_range<Range> && std::is_lvalue_reference_v<std::ranges::range_reference_t<Range>> &&
    std::is_move_constructible_v<std::remove_cvref_t<Range>> && !std::is_lvalue_reference_v<Range>;

/// The elements of a range of another kind as handles, for `operation`; the wrappers among them have not begun. Pre:
/// the scope of `p` is open.
template <typename Range>
handles_of<Range> handles_in(promise_base& p, const char* operation, Range& range) {
    handles_of<Range> handles(p.memory_resource());
    if constexpr (std::ranges::sized_range<Range>) handles.reserve(std::ranges::size(range));
    for (auto&& awaited : range) {
        using element = std::ranges::range_reference_t<Range>;
        static_assert(std::is_reference_v<element> || std::is_move_constructible_v<std::remove_cvref_t<element>>,
                      "coflux: a range of calls cannot be given: a call is awaited where it is made; let the range "
                      "give forks, or give the calls as arguments");
        check_handle(operation, "element", handles.size(), awaited);
        if constexpr (std::is_reference_v<element> || is_owned_handle<std::remove_cvref_t<element>>) {
            handles.push_back(as_handle(p, std::move(awaited)));
        } else {
            handles.emplace_back(
                await_access::release(wrapped_value<std::remove_cv_t<element>>(p, std::move(awaited))));
        }
    }
    return handles;
}

/// Replaces void where there must be an object.
template <typename T>
using element_for = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

template <typename T, typename R = element_for<T>>
R consume_element(frame_control& c) {
    if constexpr (std::is_void_v<T>) {
        consume<void>(c);
        return R();
    } else {
        return R(consume<T>(c));
    }
}

}  // namespace coflux::detail

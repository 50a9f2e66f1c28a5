// first_success: the first value that one of several gives.
#pragma once

#include <ranges>
#include <utility>

#include <coflux/combine/detail/one_value.hpp>

namespace coflux {
namespace detail {

struct first_success_rule {
    static constexpr some_errors errors = some_errors::wait;
    static constexpr const char* name = "first_success";
};

}  // namespace detail

/// Waits until one has given a value, stops the other children, and waits for them, too: `auto page = co_await
/// coflux::first_success(fetch(here, mirror_a), fetch(here, mirror_b));`
///
/// Shapes: those of when_any; all give the same type, which may be void.
/// Returns: the first value. One of timeout() or deadline() that says that the time was up is none: it is given only if
/// no child gave another, and none failed.
/// Resumes: as when_any does.
/// Errors: a child that fails decides nothing. If there is a value, the errors count as observed and are dropped; if
/// none gave one, the first in the order of the arguments is thrown, with the rest in other_errors().
/// Stops: as when_any; if some failed and the rest were stopped, the errors are thrown.
/// Threads, Costs: those of when_any.
template <typename... As>
    requires(sizeof...(As) != 1 || !(... && std::ranges::input_range<As>))
[[nodiscard("first_success does nothing until it is awaited: co_await it")]]
detail::some_request<detail::one_value<detail::first_success_rule>, As...>
first_success(As&&... awaited COFLUX_LIFETIMEBOUND) noexcept {
    return detail::some_request<detail::one_value<detail::first_success_rule>, As...>(std::forward<As>(awaited)...);
}

/// first_success() of a range, which is consumed.
///
/// Errors: std::invalid_argument for an empty range; then nothing was taken from it.
template <std::ranges::input_range Range>
[[nodiscard("first_success does nothing until it is awaited: co_await it")]]
detail::some_range_request<detail::one_value<detail::first_success_rule>, Range>
first_success(Range&& range COFLUX_LIFETIMEBOUND) noexcept {
    return detail::some_range_request<detail::one_value<detail::first_success_rule>, Range>(detail::as_chosen,
                                                                                            std::forward<Range>(range));
}

}  // namespace coflux

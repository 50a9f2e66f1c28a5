// race: the result of the first of several to end.
#pragma once

#include <ranges>
#include <utility>

#include <coflux/combine/detail/one_value.hpp>

namespace coflux {
namespace detail {

struct race_rule {
    static constexpr some_errors errors = some_errors::decide;
    static constexpr const char* name = "race";
};

}  // namespace detail

/// when_any where it does not matter which one it was: `int x = co_await coflux::race(std::move(a), std::move(b));`
///
/// Shapes: those of when_any; all give the same type, which may be void.
/// Returns: the value.
/// Errors, Stops, Threads, Costs: those of when_any.
template <typename... As>
    requires(sizeof...(As) != 1 || !(... && std::ranges::input_range<As>))
[[nodiscard("race does nothing until it is awaited: co_await it")]]
detail::some_request<detail::one_value<detail::race_rule>, As...> race(As&&... awaited COFLUX_LIFETIMEBOUND) noexcept {
    return detail::some_request<detail::one_value<detail::race_rule>, As...>(std::forward<As>(awaited)...);
}

/// race() of a range, which is consumed.
///
/// Errors: std::invalid_argument for an empty range; then nothing was taken from it.
template <std::ranges::input_range Range>
[[nodiscard("race does nothing until it is awaited: co_await it")]]
detail::some_range_request<detail::one_value<detail::race_rule>, Range>
race(Range&& range COFLUX_LIFETIMEBOUND) noexcept {
    return detail::some_range_request<detail::one_value<detail::race_rule>, Range>(detail::as_chosen,
                                                                                   std::forward<Range>(range));
}

}  // namespace coflux

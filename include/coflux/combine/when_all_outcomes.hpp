// when_all_outcomes: waits for all of several, and gives how each of them ended.
#pragma once

#include <ranges>
#include <utility>

#include <coflux/combine/detail/all_of.hpp>
#include <coflux/core/outcome.hpp>

namespace coflux {
namespace detail {

/// Each child's end as a value.
struct outcomes_of_all {
    static constexpr bool takes_stops = true;
    template <typename T>
    using in_tuple = outcome<T>;
    template <typename T>
    using in_range = outcome<T>;

    template <typename T, typename R>
    static R take(frame_control& c) {
        return consume_outcome<T>(c);
    }
};

}  // namespace detail

/// Waits for all and gives an outcome of each: `auto [a, b] = co_await coflux::when_all_outcomes(std::move(f), std::move(g));`
///
/// Shapes: those of when_all.
/// Returns: a tuple of outcomes in the order of the arguments. Resumes: the awaiting coroutine, once, after the last child
/// ended.
/// Errors: none of a child's: it is an outcome, and counts as observed. The others are not stopped.
/// Stops: a stop point; a stop loses the outcomes, but no error. A stopped child is an outcome and stops nobody.
/// Costs: those of when_all.
template <typename... As>
    requires(sizeof...(As) != 1 || !(... && std::ranges::input_range<As>))
[[nodiscard("when_all_outcomes does nothing until it is awaited: co_await it")]]
detail::all_request<detail::outcomes_of_all, As...> when_all_outcomes(As&&... awaited) noexcept {
    return detail::all_request<detail::outcomes_of_all, As...>(std::forward<As>(awaited)...);
}

/// The same for a range, which is consumed.
///
/// Returns: a std::pmr::vector of outcomes in the order of the range, in the environment's resource.
/// Costs: the vector, and a vector of handles if the range cannot be used in place.
template <std::ranges::input_range Range>
[[nodiscard("when_all_outcomes does nothing until it is awaited: co_await it")]]
detail::all_range_request<detail::outcomes_of_all, Range> when_all_outcomes(Range&& range) noexcept {
    return detail::all_range_request<detail::outcomes_of_all, Range>(std::forward<Range>(range));
}

}  // namespace coflux

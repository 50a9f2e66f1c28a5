// when_all_outcomes: waits for all of several, and gives how each of them ended.
#pragma once

#include <ranges>
#include <utility>

#include <coflux/combine/detail/all_of.hpp>
#include <coflux/core/outcome.hpp>

namespace coflux {
namespace detail {

/// An outcome that is still in its frame. It becomes one where that is to be, so that nothing moves that might throw.
template <typename T>
struct untaken_outcome {
    frame_control& frame;

    operator outcome<T>() && noexcept { return consume_outcome<T>(frame); }
};

/// Each child's end as a value.
struct outcomes_of_all {
    static constexpr const char* name = "when_all_outcomes";
    static constexpr bool takes_stops = true;
    template <typename T>
    using in_tuple = outcome<T>;
    template <typename T>
    using in_range = outcome<T>;

    template <typename T, typename>
    static untaken_outcome<T> take(frame_control& c) noexcept {
        return {c};
    }
};

}  // namespace detail

/// Waits for all and gives an outcome of each: `auto [a, b] = co_await coflux::when_all_outcomes(std::move(f),
/// std::move(g));`
///
/// Shapes: those of when_all.
/// Returns: a tuple of outcomes in the order of the arguments.
/// Resumes: the awaiting coroutine, once, after the last child ended.
/// Errors: none of a child's: it is an outcome, and counts as observed; so is what the copy or move of a value throws.
/// The other children are not stopped.
/// Stops: as when_all, but that a stopped child is an outcome; a stop before it waits loses the outcomes, but no error.
/// Costs: those of when_all.
template <typename... As>
    requires(sizeof...(As) != 1 || !(... && std::ranges::input_range<As>))
[[nodiscard("when_all_outcomes does nothing until it is awaited: co_await it")]]
detail::all_request<detail::outcomes_of_all, As...> when_all_outcomes(As&&... awaited COFLUX_LIFETIMEBOUND) noexcept {
    return detail::all_request<detail::outcomes_of_all, As...>(std::forward<As>(awaited)...);
}

/// when_all_outcomes() of a range, which is consumed.
///
/// Returns: for a std::array of forks or tasks a std::array, for another range and for an empty array a
/// std::pmr::vector in the environment's resource: of the outcomes in the order of the range.
/// Errors: std::bad_alloc where there is no memory for the vector; the outcomes are then lost.
/// Costs: for a std::array no allocation; else the vector, and a vector of handles if the range cannot be used in
/// place.
template <std::ranges::input_range Range>
[[nodiscard("when_all_outcomes does nothing until it is awaited: co_await it")]]
detail::all_range_request<detail::outcomes_of_all, Range>
when_all_outcomes(Range&& range COFLUX_LIFETIMEBOUND) noexcept {
    return detail::all_range_request<detail::outcomes_of_all, Range>(std::forward<Range>(range));
}

}  // namespace coflux

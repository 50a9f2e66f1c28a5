// when_all: waits for all of several coroutines or other awaitables.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory_resource>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/combine/detail/all_of.hpp>
#include <coflux/combine/detail/some_of.hpp>
#include <coflux/scope/error_policy.hpp>

namespace coflux {
namespace detail {

/// Values; the first error is thrown, and a stopped child stops the waiter.
struct values_of_all {
    static constexpr const char* name = "when_all";
    static constexpr bool takes_stops = false;
    template <typename T>
    using in_tuple = element_for<T>;
    /// A vector holds no references: it has an object that converts to one.
    template <typename T>
    using in_range = std::conditional_t<std::is_lvalue_reference_v<T>,
                                        std::reference_wrapper<std::remove_reference_t<T>>, std::remove_cvref_t<T>>;

    template <typename T, typename R>
    static R take(frame_control& c) {
        if constexpr (std::is_void_v<R>) {
            consume<T>(c);
        } else {
            return consume_element<T, R>(c);
        }
    }
};

/// Values; the first child that gives none decides, and the other children are stopped. `FixedSize`: of the std::array
/// that they come from; 0: another range.
template <std::size_t FixedSize = 0>
struct values_or_first_error {
    static constexpr some_errors errors = some_errors::decide;
    static constexpr const char* name = "when_all";

    static constexpr std::size_t wanted(std::size_t of) noexcept { return of; }

    template <typename... T>
    static auto of_tuple(auto& all) {
        return [&all]<std::size_t... I>(std::index_sequence<I...>) {
            return std::tuple<values_of_all::in_tuple<T>...>{
                values_of_all::take<T, values_of_all::in_tuple<T>>(all.taken(I))...};
        }(std::index_sequence_for<T...>{});
    }
    template <typename T>
    static auto of_range(auto& all) {
        using element = values_of_all::in_range<T>;
        if constexpr (std::is_void_v<element>) {
            for (std::size_t i = 0; i != all.wanted(); ++i) values_of_all::take<T, void>(all.taken(i));
        } else if constexpr (FixedSize != 0) {
            return [&all]<std::size_t... I>(std::index_sequence<I...>) {
                return std::array<element, FixedSize>{values_of_all::take<T, element>(all.taken(I))...};
            }(std::make_index_sequence<FixedSize>());
        } else {
            std::pmr::vector<element> results(all.awaiting().memory_resource());
            results.reserve(all.wanted());
            for (std::size_t i = 0; i != all.wanted(); ++i)
                results.emplace_back(values_of_all::take<T, element>(all.taken(i)));
            return results;
        }
    }
};

template <error_policy Policy, typename... As>
inline constexpr bool stops_siblings = Policy == error_policy::stop_on_error && sizeof...(As) != 0;

template <typename... As>
inline constexpr bool begins_with_policy = false;
template <error_policy Policy, typename... As>
inline constexpr bool begins_with_policy<fixed_policy<Policy>, As...> = true;
template <typename... As>
inline constexpr bool begins_with_policy<error_policy, As...> = true;

template <error_policy Policy, typename... As>
using all_of_request = std::conditional_t<stops_siblings<Policy, As...>, some_request<values_or_first_error<>, As...>,
                                          all_request<values_of_all, As...>>;

}  // namespace detail

/// Waits for all: `auto [x, y] = co_await coflux::when_all(std::move(a), std::move(b));`
///
/// Shapes: forks and tasks (moved), calls, views and any other awaitable; what is not running yet is started at once,
/// in order.
/// Returns: a tuple of the values in the order of the arguments, std::monostate for void.
/// Resumes: the awaiting coroutine, once, after the last child ended.
/// Errors: after all have ended, the first error in the order of the arguments; the rest in other_errors(). An error
/// does not stop the other children: that is the default of the error_policy here, collect_all. With
/// `when_all(stop_on_error, std::move(a), std::move(b))` the first child that fails, or is stopped, has the other
/// children stopped; once all have ended, its error is thrown, with the rest in other_errors().
/// Stops: a stop point before it waits; then the results are lost. One that comes while it waits stops all children,
/// wherever they were made, and does not cut the wait short. If all have given values nevertheless, these count. A
/// stopped child stops the awaiting coroutine once all have ended.
/// Costs: no allocation for forks and tasks; one frame for each other awaitable. As many joins as single awaits, no
/// counter; with stop_on_error those of when_any.
template <typename... As>
    requires(!detail::begins_with_policy<std::remove_cvref_t<As>...> &&
             (sizeof...(As) != 1 || !(... && std::ranges::input_range<As>)))
[[nodiscard("when_all does nothing until it is awaited: co_await it")]]
detail::all_of_request<error_policy::collect_all, As...> when_all(As&&... awaited COFLUX_LIFETIMEBOUND) noexcept {
    return detail::all_of_request<error_policy::collect_all, As...>(std::forward<As>(awaited)...);
}
template <error_policy Policy, typename... As>
    requires(sizeof...(As) != 1 || !(... && std::ranges::input_range<As>))
[[nodiscard("when_all does nothing until it is awaited: co_await it")]]
detail::all_of_request<Policy, As...> when_all(detail::fixed_policy<Policy>,
                                               As&&... awaited COFLUX_LIFETIMEBOUND) noexcept {
    return detail::all_of_request<Policy, As...>(std::forward<As>(awaited)...);
}

// Not for one that is known when it runs.
template <std::same_as<error_policy> Policy, typename... As>
detail::all_of_request<error_policy::collect_all, As...> when_all(Policy, As&&... awaited) noexcept {
    static_assert(detail::never<Policy>,
                  "coflux: when_all is compiled for one policy: write when_all(coflux::stop_on_error, …)");
    return detail::all_of_request<error_policy::collect_all, As...>(std::forward<As>(awaited)...);
}

/// when_all() of a range, which is consumed: `auto values = co_await coflux::when_all(std::move(forks));`
///
/// Shapes: an input range of awaitables but calls; a random-access range of forks or tasks is used in place, and given
/// away: std::move(range).
/// Returns: for a std::array of forks or tasks a std::array, for another range and for an empty array a
/// std::pmr::vector in the environment's resource: of the values in the order of the range. Nothing for void,
/// std::reference_wrapper for a reference, as views give them.
/// Costs: with stop_on_error those of when_n. Else for a std::array no allocation, and little more than awaits by hand
/// from the youngest on; for another range the vector, and a vector of handles if it cannot be used in place. Frames
/// whose results fit into a word go as the children end.
template <std::ranges::input_range Range>
[[nodiscard("when_all does nothing until it is awaited: co_await it")]]
detail::all_range_request<detail::values_of_all, Range> when_all(Range&& range COFLUX_LIFETIMEBOUND) noexcept {
    return detail::all_range_request<detail::values_of_all, Range>(std::forward<Range>(range));
}
template <error_policy Policy, std::ranges::input_range Range>
[[nodiscard("when_all does nothing until it is awaited: co_await it")]]
auto when_all(detail::fixed_policy<Policy>, Range&& range COFLUX_LIFETIMEBOUND) noexcept {
    if constexpr (Policy == error_policy::stop_on_error) {
        using results = detail::values_or_first_error<detail::array_size<Range>>;
        return detail::some_range_request<results, Range>(detail::as_chosen, std::forward<Range>(range));
    } else {
        return when_all(std::forward<Range>(range));
    }
}

}  // namespace coflux

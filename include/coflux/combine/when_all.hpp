// when_all: waits for all of several coroutines or other awaitables.
#pragma once

#include <functional>
#include <ranges>
#include <type_traits>
#include <utility>

#include <coflux/combine/detail/all_of.hpp>

namespace coflux {
namespace detail {

/// Values; the first error is thrown, and a stopped child stops the waiter.
struct values_of_all {
    static constexpr const char* name = "when_all";
    static constexpr bool takes_stops = false;
    template <typename T>
    using in_tuple = element_for<T>;
    /// A vector holds no references: it has what stands for one, and converts to it.
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

}  // namespace detail

/// Waits for all: `auto [x, y] = co_await coflux::when_all(std::move(a), std::move(b));`
///
/// Shapes: forks and tasks (moved), calls, views and any other awaitable; what is not running yet is started at once,
/// in order.
/// Returns: a tuple of the values in the order of the arguments, std::monostate for void.
/// Resumes: the awaiting coroutine, once, after the last child ended.
/// Errors: after all have ended, the first error in the order of the arguments; the rest in other_errors(). The other
/// children are not stopped.
/// Stops: a stop point before it waits; then the results are lost. One that comes while it waits tells all children,
/// wherever they were made, and does not cut the wait short. If all have given values nevertheless, these count. A
/// stopped child stops the awaiting coroutine once all have ended.
/// Costs: no allocation for forks and tasks; one frame for each other awaitable. As many joins as single awaits, no
/// counter.
template <typename... As>
    requires(sizeof...(As) != 1 || !(... && std::ranges::input_range<As>))
[[nodiscard("when_all does nothing until it is awaited: co_await it")]]
detail::all_request<detail::values_of_all, As...> when_all(As&&... awaited) noexcept {
    return detail::all_request<detail::values_of_all, As...>(std::forward<As>(awaited)...);
}

/// when_all() of a range, which is consumed: `auto values = co_await coflux::when_all(std::move(forks));`
///
/// Shapes: an input range of awaitables; a random-access range of forks or tasks is used in place, and given away:
/// std::move(range).
/// Returns: a std::pmr::vector of the values in the order of the range, in the environment's resource; nothing for
/// void, std::reference_wrapper for a reference, as views give them.
/// Costs: the vector, and a vector of handles if the range cannot be used in place.
template <std::ranges::input_range Range>
[[nodiscard("when_all does nothing until it is awaited: co_await it")]]
detail::all_range_request<detail::values_of_all, Range> when_all(Range&& range) noexcept {
    return detail::all_range_request<detail::values_of_all, Range>(std::forward<Range>(range));
}

}  // namespace coflux

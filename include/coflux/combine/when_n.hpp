// when_n: waits for the first values of several.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory_resource>
#include <ranges>
#include <utility>
#include <vector>

#include <coflux/combine/detail/some_of.hpp>
#include <coflux/combine/when_any.hpp>
#include <coflux/core/indexed.hpp>

namespace coflux {
namespace detail {

struct first_of_n {
    static constexpr some_errors errors = some_errors::decide;
    static constexpr const char* name = "when_n";

    template <typename T, typename Awaiter>
    static std::pmr::vector<indexed<T>> of_range(Awaiter& some) {
        std::pmr::vector<indexed<T>> results(some.awaiting().memory_resource());
        results.reserve(some.wanted());
        for (std::size_t rank = 0; rank < some.wanted(); ++rank) {
            const std::size_t i = some.ranked(rank);
            results.push_back(take_indexed<T>(i, some.taken(i)));
        }
        return results;
    }
};

}  // namespace detail

/// Waits until `n` of a range have given a value, stops the other children, and waits for them, too: `for (auto&
/// [index, value] : co_await coflux::when_n(std::move(replicas), 2))`
///
/// Shapes: an input range of awaitables, which is consumed.
/// Returns: a std::pmr::vector of indexed<T>, in the order in which they ended (those that have ended before come
/// first, in the order of the range), in the environment's resource.
/// Resumes: as when_any does.
/// Errors: a child that fails before there are `n` values decides: its error is thrown, with those of the other
/// children in other_errors(). The error of a child that fails later is an error of the awaiting coroutine's scope. `n`
/// of 0, or more than there are: std::invalid_argument, and nothing was taken from the range.
/// Stops: as when_any; when so many were stopped that there cannot be `n` values, the other children are stopped, and
/// the awaiting coroutine in turn.
/// Costs: those of when_any for a range, and the vector.
template <std::ranges::input_range Range>
[[nodiscard("when_n does nothing until it is awaited: co_await it")]]
detail::some_range_request<detail::first_of_n, Range> when_n(Range&& range COFLUX_LIFETIMEBOUND,
                                                             std::size_t n) noexcept {
    return detail::some_range_request<detail::first_of_n, Range>(n, std::forward<Range>(range));
}

// Not in the other order.
template <std::integral N, std::ranges::input_range Range>
detail::some_range_request<detail::first_of_n, Range> when_n(N, Range&& range) noexcept {
    static_assert(detail::never<N>,
                  "coflux: the range comes first, then the number: write when_n(std::move(range), n)");
    return detail::some_range_request<detail::first_of_n, Range>(0, std::forward<Range>(range));
}

}  // namespace coflux

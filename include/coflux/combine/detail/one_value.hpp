// The choice of one value among children that all give the same type.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>

#include <coflux/combine/detail/some_of.hpp>

namespace coflux::detail {

/// `Combinator` has `errors` and `name`.
template <typename Combinator>
struct one_value : Combinator {
    static constexpr std::size_t wanted(std::size_t) noexcept { return 1; }
    template <typename First, typename... Rest>
    static First of_tuple(auto& some) {
        static_assert((... && std::is_same_v<First, Rest>),
                      "coflux: all of these must give the same type; when_any tells different ones apart");
        return consume<First>(some.taken(some.ranked(0)));
    }
    template <typename T, typename Awaiter>
    static T of_range(Awaiter& some) {
        return consume<T>(some.taken(some.ranked(0)));
    }
};

}  // namespace coflux::detail

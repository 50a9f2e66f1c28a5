// call_each: a stage that may wait, for a look-up in another system.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <coflux/base/config.hpp>
#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/stream/key.hpp>

namespace coflux::stream {

namespace detail {

template <typename T>
struct result_of_call {};
template <typename T>
struct result_of_call<call<T>> {
    using type = T;
};

/// A region that begins without a call.
struct no_call {
    template <typename In>
    using output = In;
    template <typename In>
    struct check {
        static constexpr bool ok = true;
    };
};

/// The region goes on with the slots of the one before.
struct in_place {};

template <typename T>
struct routing<in_place, T> {
    using key_type = no_key;
    static constexpr bool one_worker = false;
    static constexpr bool is_stateful = false;
    static constexpr bool keeps_slots = true;
    static no_key key_of(const in_place&, const record<T>&) { return {}; }
    static std::uint32_t slot(const in_place&, const record<T>& r, std::uint32_t, std::uint32_t&) { return r.slot; }
};

}  // namespace detail

/// `call_each(16, f)`: each value becomes `co_await f(here, value)`. At most 16 calls wait at a time for each worker;
/// those of one slot, and so of one key, one after the other.
///
/// Shapes: `f(environment&, const T&)` gives a `call<U>`; U is no reference. It is a stage of a flow; behind
/// other stages it begins a new region, and a stage with a state behind it needs a partitioner again.
/// Errors: std::invalid_argument for 0 calls; in a job, as those of a stage: the record is tried again, or given up.
/// Stops: a stop reaches the calls that wait.
/// Costs: a call, if it does not wait; a batch waits for its last call.
template <typename F>
struct call_each {
    F f;
    std::size_t in_flight;

    explicit call_each(F g) : call_each(1, std::move(g)) {}
    call_each(std::size_t most_in_flight, F g) : f(std::move(g)), in_flight(most_in_flight) {
        if (in_flight == 0) throw std::invalid_argument("coflux: call_each() of 0 calls at a time");
    }
    // Not in the other order.
    template <std::integral N>
    call_each(F g, N) : call_each(std::move(g)) {
        static_assert(coflux::detail::never<N>,
                      "coflux: the number comes first, then the function: write call_each(16, f)");
    }

    template <typename In>
    using output = typename detail::result_of_call<std::invoke_result_t<F&, environment&, const In&>>::type;
    template <typename In>
    struct check {
        static constexpr bool ok = requires { typename output<In>; };
        static void say() {
            static_assert(
                ok, "coflux: the function of call_each() is f(environment&, const T&) for the flow's values T, and "
                    "gives a coflux::call<U>; map(f) is for one that waits for nothing");
        }
    };
};

}  // namespace coflux::stream

// What an operation is before it is awaited: an awaiter to be, and its arguments.
#pragma once

#include <cstddef>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

#include <coflux/base/config.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>

namespace coflux::detail {

/// The operand of a co_await that `Awaiter` serves: made where the operation is named, bound to the awaiting coroutine
/// where it is awaited.
///
/// Shapes: Args are references to what outlives the await, or what the operation holds itself. `Awaiter` is
/// constructible from lvalues of them, after the promise if it takes that. What gives one is [[nodiscard]], with its
/// own consequence.
template <typename Awaiter, typename... Args>
class request {
public:
    // NOLINTNEXTLINE(google-explicit-constructor): what names an operation returns its arguments
    constexpr COFLUX_INLINE request(Args... args) noexcept : args_(std::forward<Args>(args)...) {}

    COFLUX_INLINE Awaiter await_in(promise_base& p, std::source_location where) noexcept {
        p.set_await_location(where);
        return make(p, std::index_sequence_for<Args...>());
    }

protected:
    [[nodiscard]] const std::tuple<Args...>& arguments() const noexcept { return args_; }

private:
    template <std::size_t... I>
    COFLUX_INLINE Awaiter make(promise_base& p, std::index_sequence<I...>) noexcept {
        if constexpr (std::is_constructible_v<Awaiter, promise_base&, Args&...>) {
            return Awaiter(p, std::get<I>(args_)...);
        } else {
            return Awaiter(std::get<I>(args_)...);
        }
    }

    std::tuple<Args...> args_;
};

}  // namespace coflux::detail

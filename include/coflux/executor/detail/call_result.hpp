// The result or exception of a function that one thread has called and another one asks for.
#pragma once

#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include <coflux/base/address_of.hpp>
#include <coflux/core/detail/promise/end.hpp>
#include <coflux/core/outcome.hpp>

namespace coflux::detail {

/// The result of a call, once it has been made.
template <typename T>
class call_result {
    static_assert(
        !std::is_rvalue_reference_v<T>,
        "coflux: a function that is called on another thread cannot return an rvalue reference: what it refers "
        "to would be gone; return the value");
    static_assert(std::is_void_v<T> || std::is_lvalue_reference_v<T> || std::is_move_constructible_v<T>,
                  "coflux: a function that is called on another thread gives its result to this one, so that must be "
                  "movable");

public:
    call_result() noexcept {}  // NOLINT(modernize-use-equals-default): the union has no value yet
    call_result(const call_result&) = delete;
    call_result& operator=(const call_result&) = delete;
    ~call_result() {
        if (has_) kept_.~outcome<T>();
    }

    /// Keeps the result of `call()`. False if it threw.
    template <typename Call>
    bool keep(Call call) noexcept {
        if constexpr (std::is_reference_v<T>) {
            emplace([&call] { return caught_outcome<T>([&call] { return detail::address_of(call()); }); });
        } else {
            emplace([&call]() { return caught_outcome<T>([&call]() -> T { return call(); }); });
        }
        return kept_.has_value();
    }
    void fail(const std::exception_ptr& error) noexcept {
        emplace([&error] { return outcome<T>(error); });
    }
    T take() { return std::move(kept_).value(); }

private:
    /// In place, whether it can be moved or not.
    template <typename Make>
    void emplace(Make make) noexcept {
        ::new (static_cast<void*>(detail::address_of(kept_))) outcome<T>(make());
        has_ = true;
    }

    union {
        outcome<T> kept_;
    };
    bool has_ = false;
};

}  // namespace coflux::detail

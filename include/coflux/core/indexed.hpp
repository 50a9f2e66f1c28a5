// indexed: a result, and which of several gave it.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <coflux/base/address_of.hpp>
#include <coflux/core/outcome.hpp>

namespace coflux {

/// The result of when_any and when_n for a range: the value and its index in the range.
///
/// Shapes: `T` is an object type or a reference. `auto [index, value] = co_await coflux::when_any(std::move(forks));`
template <typename T>
class indexed {
public:
    template <typename U>
        requires std::is_constructible_v<T, U>
    indexed(std::size_t index, U&& value) : index_(index),
                                            value_(keep(std::forward<U>(value))) {}

    /// The index in the range that was waited for, from 0.
    [[nodiscard]] std::size_t index() const noexcept { return index_; }

    [[nodiscard]] std::add_lvalue_reference_t<T> value() & noexcept {
        if constexpr (std::is_reference_v<T>) {
            return *value_;
        } else {
            return value_;
        }
    }
    [[nodiscard]] std::add_lvalue_reference_t<std::add_const_t<T>> value() const& noexcept {
        if constexpr (std::is_reference_v<T>) {
            return *value_;
        } else {
            return value_;
        }
    }
    [[nodiscard]] T value() && {
        if constexpr (std::is_reference_v<T>) {
            return static_cast<T>(*value_);
        } else {
            return std::move(value_);
        }
    }

    // For structured bindings.
    template <std::size_t I>
    [[nodiscard]] decltype(auto) get() & noexcept {
        if constexpr (I == 0) {
            return index();
        } else {
            return value();
        }
    }
    template <std::size_t I>
    [[nodiscard]] decltype(auto) get() const& noexcept {
        if constexpr (I == 0) {
            return index();
        } else {
            return value();
        }
    }
    template <std::size_t I>
    [[nodiscard]] decltype(auto) get() && {
        if constexpr (I == 0) {
            return index();
        } else {
            return std::move(*this).value();
        }
    }

private:
    template <typename U>
    static decltype(auto) keep(U&& value) noexcept {
        if constexpr (std::is_reference_v<T>) {
            return detail::address_of(value);
        } else {
            return std::forward<U>(value);
        }
    }

    std::size_t index_;
    detail::kept_result<T> value_;
};

/// The index alone, of something that gives no value.
template <>
class indexed<void> {
public:
    explicit indexed(std::size_t index) noexcept : index_(index) {}
    [[nodiscard]] std::size_t index() const noexcept { return index_; }

private:
    std::size_t index_;
};

}  // namespace coflux

template <typename T>
    requires(!std::is_void_v<T>)
struct std::tuple_size<coflux::indexed<T>> : std::integral_constant<std::size_t, 2> {};
template <std::size_t I, typename T>
    requires(!std::is_void_v<T>)
struct std::tuple_element<I, coflux::indexed<T>> {
    using type = std::conditional_t<I == 0, std::size_t, T>;
};

// limited: what an operation with a limit gives.
#pragma once

#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include <coflux/base/address_of.hpp>
#include <coflux/base/assert.hpp>
#include <coflux/core/outcome.hpp>

namespace coflux {

/// The result of timeout() and deadline(): the value of the operation, or that its time was up.
///
/// It reads as a std::optional of the value, and converts to one. For void it is true if the operation ended. Where an
/// `if` may ask the value itself (a bool, a pointer, a std::optional, an outcome), it may not ask this, nor compare it:
/// ask timed_out(), and then `*result`. A limit over as_result() is an io_result in which a time that was up is one of
/// the errors, std::errc::timed_out; timed_out() tells it from a time-out that the system reports.
///
/// Shapes: `T` is what the operation gives: an object type, a reference, or void.
/// Errors: value() throws std::bad_optional_access if the time was up; `*` and `->` then are checked errors.
/// Example: 19_time.cpp
template <typename T>
class [[nodiscard("the limit may have cut the operation off: look at timed_out()")]] limited {
    static constexpr bool is_reference = std::is_reference_v<T>;
    using bare = std::remove_cvref_t<T>;
    using object = std::conditional_t<is_reference, std::remove_reference_t<T>, bare>;
    using seen = std::conditional_t<is_reference, object, const object>;
    using as_optional = std::optional<std::conditional_t<is_reference, std::reference_wrapper<object>, bare>>;

public:
    using value_type = T;

    /// Its time was up.
    limited() noexcept = default;
    limited(std::nullopt_t) noexcept {}  // NOLINT(google-explicit-constructor): as std::optional
    /// A reference is kept by its address.
    template <typename... Args>
    explicit limited(std::in_place_t, Args&&... args) : kept_(std::in_place, std::forward<Args>(args)...) {}

    [[nodiscard]] bool timed_out() const noexcept { return !kept_.has_value(); }
    [[nodiscard]] bool has_value() const noexcept { return kept_.has_value(); }
    explicit operator bool() const noexcept {
        static_assert(!detail::has_own_truth<bare>,
                      "coflux: `if (result)` would ask whether it was in time, and not the value, which may itself be "
                      "false: ask result.timed_out(), and then *result");
        return has_value();
    }

    [[nodiscard]] object& operator*() & noexcept { return checked(*this); }
    [[nodiscard]] seen& operator*() const& noexcept { return checked(*this); }
    /// It outlives the result, which may be a temporary.
    [[nodiscard]] T operator*() && noexcept(std::is_nothrow_constructible_v<T, T&&>) {
        return static_cast<T&&>(checked(*this));
    }
    [[nodiscard]] object* operator->() noexcept { return detail::address_of(checked(*this)); }
    [[nodiscard]] seen* operator->() const noexcept { return detail::address_of(checked(*this)); }
    [[nodiscard]] object& value() & { return in(kept_.value()); }
    [[nodiscard]] seen& value() const& { return in(kept_.value()); }
    [[nodiscard]] T value() && { return static_cast<T&&>(in(kept_.value())); }
    /// The value, or `fallback` if the time was up.
    template <typename U>
    [[nodiscard]] bare value_or(U&& fallback) const& {
        return has_value() ? bare(**this) : static_cast<bare>(std::forward<U>(fallback));
    }
    template <typename U>
    [[nodiscard]] bare value_or(U&& fallback) && {
        return has_value() ? bare(*std::move(*this)) : static_cast<bare>(std::forward<U>(fallback));
    }

    // NOLINTBEGIN(google-explicit-constructor): it reads as one
    operator as_optional() const& { return has_value() ? as_optional(**this) : std::nullopt; }
    operator as_optional() && { return has_value() ? as_optional(*std::move(*this)) : std::nullopt; }
    // NOLINTEND(google-explicit-constructor)

    friend bool operator==(const limited& l, std::nullopt_t) noexcept {
        check_comparison();
        return l.timed_out();
    }
    template <typename U>
    friend bool operator==(const limited& l, const std::optional<U>& o) {
        check_comparison();
        return l.has_value() ? o.has_value() && *l == *o : !o.has_value();
    }
    template <typename U>
    friend bool operator==(const limited& l, const U& value) {
        check_comparison();
        return l.has_value() && *l == value;
    }

private:
    template <typename Bare = bare>
    static consteval void check_comparison() {
        static_assert(
            !detail::has_own_truth<Bare>,
            "coflux: `result == std::nullopt` or `result != false` would not tell a time that was up from the "
            "value, which may itself be empty or false: ask result.timed_out(), and compare *result");
    }

    // A reference is kept as a pointer.
    template <typename Kept>
    static auto& in(Kept& kept) noexcept {
        if constexpr (is_reference) {
            return *kept;
        } else {
            return kept;
        }
    }
    template <typename Self>
    static auto& checked(Self& self) noexcept {
        COFLUX_VERIFY(self.has_value(), "the value of an operation whose time was up");
        return in(*self.kept_);
    }

    std::optional<detail::kept_result<T>> kept_;
};
/// The result of an operation without a value: true if it ended in time.
template <>
class [[nodiscard("the limit may have cut the operation off: look at timed_out()")]] limited<void> {
public:
    using value_type = void;

    limited() noexcept = default;
    limited(std::nullopt_t) noexcept {}  // NOLINT(google-explicit-constructor): as the others
    explicit limited(std::in_place_t) noexcept : in_time_(true) {}

    [[nodiscard]] bool timed_out() const noexcept { return !in_time_; }
    [[nodiscard]] bool has_value() const noexcept { return in_time_; }
    operator bool() const noexcept { return in_time_; }  // NOLINT(google-explicit-constructor): there is nothing else

private:
    bool in_time_ = false;
};

}  // namespace coflux

// How something ended: with a value, with an error, or stopped.
#pragma once

#include <exception>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <coflux/base/assert.hpp>
#include <coflux/core/detail/scope/failure.hpp>
#include <coflux/fwd.hpp>

namespace coflux {

/// An await that a stop delivered holds it in place of a value.
struct stopped_t {};
inline constexpr stopped_t stopped{};

/// The exception of get() of a task and value() of an outcome after a stop: there is no value to give.
class task_stopped : public std::exception {
public:
    [[nodiscard]] const char* what() const noexcept override { return "coflux: it was stopped, and has no value"; }
};

namespace detail {

template <typename T>
inline constexpr bool is_limited = false;
template <typename T>
inline constexpr bool is_limited<limited<T>> = true;

/// A value that an `if` asks for its own sake: a bool, a pointer, or what may have a value or none, as std::optional.
/// Not the guard of a lock, which owns one wherever it is given.
template <typename T>
inline constexpr bool has_own_truth = std::is_same_v<T, bool> || std::is_pointer_v<T>;
template <typename T>
    requires std::is_class_v<T> && std::is_constructible_v<bool, T&> &&
                 (requires(T& t) { *t; } || requires(T& t) { t.has_value(); })
inline constexpr bool has_own_truth<T> = true;

/// A type that a coroutine may return.
template <typename T>
consteval bool is_result() {
    static_assert(
        !std::is_rvalue_reference_v<T>,
        "coflux: a coroutine cannot return an rvalue reference: what it refers to would be gone; return the value");
    static_assert(
        !std::is_array_v<T> && !std::is_function_v<T>,
        "coflux: a coroutine cannot return an array or a function: return a std::array, or a pointer or reference");
    return true;
}

/// How a result of type T is kept: void as monostate, a reference as a pointer.
template <typename T>
using kept_result =
    std::conditional_t<std::is_void_v<T>, std::monostate,
                       std::conditional_t<std::is_reference_v<T>, std::add_pointer_t<T>, std::remove_cv_t<T>>>;

/// The result of a look at a kept result: a reference to it.
template <typename T>
using seen_result = std::conditional_t<std::is_void_v<T> || std::is_reference_v<T>, T,
                                       std::add_lvalue_reference_t<std::add_const_t<std::remove_cv_t<T>>>>;

}  // namespace detail

/// The end of a coroutine as a value: exactly one of value, error, stopped; `co_await coflux::as_outcome(f)` returns
/// it.
///
/// An `if` asks whether there is a value. Where it may ask the value itself (a bool, a pointer, a std::optional, a
/// limited, which is a value also where the time was up), it may not ask the outcome: ask has_value(), and then `*o`.
///
/// Shapes: `T` is what the coroutine returns: an object type, a reference, or void.
/// Errors: value() rethrows the error, with what came with it in other_errors(), and throws task_stopped after a stop;
/// error() without one, and `*o` without a value, are checked errors.
template <typename T>
class [[nodiscard]] outcome {
public:
    outcome(stopped_t) noexcept : end_(std::in_place_index<2>) {}
    /// With what came with it, if that is the error that this thread threw last.
    explicit outcome(std::exception_ptr error) noexcept : end_(std::in_place_index<1>, std::move(error)) {}
    explicit outcome(const detail::failure& f) noexcept : end_(std::in_place_index<1>, f.error(), f.others()) {}
    template <typename... Args>
    explicit outcome(std::in_place_t, Args&&... args) : end_(std::in_place_index<0>, std::forward<Args>(args)...) {}

    [[nodiscard]] bool has_value() const noexcept { return end_.index() == 0; }
    [[nodiscard]] bool has_error() const noexcept { return end_.index() == 1; }
    [[nodiscard]] bool is_stopped() const noexcept { return end_.index() == 2; }
    explicit operator bool() const noexcept {
        static_assert(!detail::has_own_truth<std::remove_cvref_t<T>>,
                      "coflux: `if (outcome)` would ask whether there is a value, and not the value, which may itself "
                      "be false, empty, or a time that was up: ask outcome.has_value(), and then *outcome");
        return has_value();
    }

    /// The value; throws the error if there is one, and task_stopped after a stop.
    T value() && {
        if (has_error()) std::get<1>(end_).rethrow();
        if (is_stopped()) throw task_stopped();
        if constexpr (std::is_reference_v<T>) {
            return static_cast<T>(*std::get<0>(end_));
        } else if constexpr (!std::is_void_v<T>) {
            return std::move(std::get<0>(end_));
        }
    }
    /// The value, which stays in the outcome; throws as value() && does.
    detail::seen_result<T> value() const& {
        if (has_error()) std::get<1>(end_).rethrow();
        if (is_stopped()) throw task_stopped();
        if constexpr (!std::is_void_v<T>) return **this;
    }
    /// The value.
    /// Pre: has_value(), checked.
    detail::seen_result<T> operator*() const&
        requires(!std::is_void_v<T>)
    {
        COFLUX_VERIFY(has_value(), "operator* of an outcome that has no value");
        if constexpr (std::is_reference_v<T>) {
            return static_cast<T>(**std::get_if<0>(&end_));
        } else {
            return *std::get_if<0>(&end_);
        }
    }
    T operator*() &&
        requires(!std::is_void_v<T>) {
            COFLUX_VERIFY(has_value(), "operator* of an outcome that has no value");
            return std::move(*this).value();
        }
        /// The error.
        /// Pre: has_error().
        [[nodiscard]] const std::exception_ptr& error() const noexcept {
        COFLUX_VERIFY(has_error(), "error() of an outcome that has none");
        return std::get_if<1>(&end_)->error();
    }
    /// The errors that came with it: of others that failed in the scope whose first error it is. Empty if it came
    /// alone, and if there is none.
    /// Errors: std::bad_alloc.
    [[nodiscard]] std::vector<std::exception_ptr> other_errors() const {
        const auto* const kept = std::get_if<1>(&end_);
        return kept != nullptr ? kept->others().list() : std::vector<std::exception_ptr>();
    }

private:
    std::variant<detail::kept_result<T>, detail::kept_error, stopped_t> end_;
};

}  // namespace coflux

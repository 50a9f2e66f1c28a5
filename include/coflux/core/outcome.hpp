// How something ended: with a value, with an error, or stopped.
#pragma once

#include <exception>
#include <type_traits>
#include <utility>
#include <variant>

#include <coflux/base/assert.hpp>

namespace coflux {

/// What an await delivered by stop holds instead of a value.
struct stopped_t {};
inline constexpr stopped_t stopped{};

namespace detail {

/// How a result of type T is kept: void as monostate, a reference as a pointer.
template <typename T>
using kept_result =
    std::conditional_t<std::is_void_v<T>, std::monostate,
                       std::conditional_t<std::is_reference_v<T>, std::add_pointer_t<T>, std::remove_cv_t<T>>>;

}  // namespace detail

/// The end of a coroutine as a value: exactly one of value, error, stopped; `co_await coflux::as_outcome(f)` returns
/// it.
///
/// Shapes: `T` is what the coroutine returns: an object type, a reference, or void.
/// Errors: value() rethrows the error; asking for what is not there is a checked error.
template <typename T>
class [[nodiscard]] outcome {
public:
    outcome(stopped_t) noexcept : end_(std::in_place_index<2>) {}
    explicit outcome(std::exception_ptr error) noexcept : end_(std::in_place_index<1>, std::move(error)) {}
    template <typename... Args>
    explicit outcome(std::in_place_t, Args&&... args) : end_(std::in_place_index<0>, std::forward<Args>(args)...) {}

    [[nodiscard]] bool has_value() const noexcept { return end_.index() == 0; }
    [[nodiscard]] bool has_error() const noexcept { return end_.index() == 1; }
    [[nodiscard]] bool is_stopped() const noexcept { return end_.index() == 2; }
    explicit operator bool() const noexcept { return has_value(); }

    /// The value; throws the error if there is one.
    T value() && {
        if (has_error()) std::rethrow_exception(std::get<1>(end_));
        COFLUX_VERIFY(has_value(), "value() of an outcome that was stopped");
        if constexpr (std::is_reference_v<T>) {
            return static_cast<T>(*std::get<0>(end_));
        } else if constexpr (!std::is_void_v<T>) {
            return std::move(std::get<0>(end_));
        }
    }
    /// The error. Pre: has_error().
    [[nodiscard]] const std::exception_ptr& error() const noexcept {
        COFLUX_VERIFY(has_error(), "error() of an outcome that has none");
        return *std::get_if<1>(&end_);
    }

private:
    std::variant<detail::kept_result<T>, std::exception_ptr, stopped_t> end_;
};

}  // namespace coflux

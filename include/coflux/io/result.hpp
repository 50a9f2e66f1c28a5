// as_result: the errors of I/O as values.
#pragma once

#include <coroutine>
#include <cstddef>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/io/detail/io_limit.hpp>
#include <coflux/io/detail/io_operation.hpp>

namespace coflux {

/// The value of an operation, or the error of the system.
template <typename T>
class [[nodiscard]] io_result {
public:
    // NOLINTBEGIN(google-explicit-constructor): what an operation returns
    io_result(T value) noexcept(std::is_nothrow_move_constructible_v<T>) : value_(std::move(value)) {}
    io_result(std::error_code error) noexcept : error_(error) {}
    // NOLINTEND(google-explicit-constructor)

    [[nodiscard]] bool has_value() const noexcept { return value_.has_value(); }
    [[nodiscard]] explicit operator bool() const noexcept { return has_value(); }
    /// Errors: std::system_error if there is none.
    [[nodiscard]] T& value() & {
        check();
        return *value_;
    }
    [[nodiscard]] const T& value() const& {
        check();
        return *value_;
    }
    [[nodiscard]] T&& value() && {
        check();
        return std::move(*value_);
    }
    /// Pre: has_value().
    [[nodiscard]] T& operator*() noexcept { return *value_; }
    [[nodiscard]] const T& operator*() const noexcept { return *value_; }
    [[nodiscard]] T* operator->() noexcept { return &*value_; }
    [[nodiscard]] const T* operator->() const noexcept { return &*value_; }
    /// What went wrong; none where it has a value.
    [[nodiscard]] const std::error_code& error() const noexcept { return error_; }

private:
    void check() const {
        if (!value_.has_value()) throw std::system_error(error_, "coflux: the value of an operation that failed");
    }

    std::optional<T> value_;
    std::error_code error_;
};
template <>
class [[nodiscard]] io_result<void> {
public:
    io_result() noexcept = default;
    // NOLINTNEXTLINE(google-explicit-constructor): what an operation returns
    io_result(std::error_code error) noexcept : error_(error) {}

    [[nodiscard]] bool has_value() const noexcept { return !error_; }
    [[nodiscard]] explicit operator bool() const noexcept { return has_value(); }
    /// Errors: std::system_error if it failed.
    void value() const {
        if (error_) throw std::system_error(error_, "coflux: an operation that failed");
    }
    [[nodiscard]] const std::error_code& error() const noexcept { return error_; }

private:
    std::error_code error_;
};

namespace detail {

/// The await of an operation whose errors are values.
template <typename Operation>
class [[nodiscard]] as_result_awaiter : public Operation {
public:
    using Operation::Operation;
    using single_use = void;
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) {
        if constexpr (std::is_base_of_v<io_operation, Operation>) {
            return this->suspend(refused_);
        } else {
            return Operation::await_suspend(h);
        }
    }
    auto await_resume() {
        using result = decltype(this->resume_with_result());
        if constexpr (std::is_base_of_v<io_operation, Operation>) {
            if (refused_) [[unlikely]] {
                this->resumed();
                return result(refused_);
            }
        }
        return this->resume_with_result();
    }

private:
    std::error_code refused_;  // the system could not let it wait
};

/// What an operation of I/O returns.
template <typename Operation, typename... Args>
class io_request : public request<Operation, Args...> {
public:
    using request<Operation, Args...>::request;
    using single_use = void;

    /// The same, with its errors as values.
    [[nodiscard("co_await it")]] io_request<as_result_awaiter<Operation>, Args...> with_result() && {
        return with_result(std::index_sequence_for<Args...>());
    }
    /// The same, with a limit.
    [[nodiscard("co_await it")]] request<limited_awaiter<Operation>, limit_time, Args...> with_limit(limit_time t) && {
        return with_limit(t, std::index_sequence_for<Args...>());
    }

private:
    template <std::size_t... I>
    io_request<as_result_awaiter<Operation>, Args...> with_result(std::index_sequence<I...>) {
        return {std::forward<Args>(argument_at<I>(this->arguments()))...};
    }
    template <std::size_t... I>
    request<limited_awaiter<Operation>, limit_time, Args...> with_limit(limit_time t, std::index_sequence<I...>) {
        return {t, std::forward<Args>(argument_at<I>(this->arguments()))...};
    }
};

}  // namespace detail

/// `co_await as_result(stream.read_some(buffer))`: an io_result in place of an exception.
///
/// Shapes: an operation of I/O, in the expression that makes it.
/// Returns: io_result of what the operation gives, or the error: also of a system that cannot let it wait, which has no
/// descriptor for an event source, say. A stop is no error: it stops the coroutine as ever. A mistake of the program,
/// as options that contradict one another, is thrown all the same (std::invalid_argument).
/// Costs: none; an error costs neither a throw nor an allocation.
template <typename Operation, typename... Args>
[[nodiscard("co_await it")]] auto as_result(detail::io_request<Operation, Args...>&& operation) {
    return std::move(operation).with_result();
}

// Not of anything else. Its type is deduced, so that a compiler looks into it first.
template <typename A>
auto as_result(A&&) {
    static_assert(detail::never<A>, "coflux: as_result() takes an operation of I/O, in the expression that makes it; "
                                    "a limit stands outside of it: timeout(as_result(operation), d)");
}

}  // namespace coflux

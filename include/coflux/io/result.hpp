// as_result: system errors as values.
#pragma once

#include <coroutine>
#include <cstddef>
#include <optional>
#include <source_location>
#include <system_error>
#include <type_traits>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/core/as_outcome.hpp>
#include <coflux/core/detail/handle/await_access.hpp>
#include <coflux/core/detail/handle/wrapper.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/core/errors.hpp>
#include <coflux/io/detail/io_limit.hpp>
#include <coflux/io/detail/io_operation.hpp>
#include <coflux/time/limited.hpp>

namespace coflux {

/// The value of an operation, or the error of the system.
///
/// An `if` asks whether there is a value. Where it may ask the value itself (a bool, a pointer, a std::optional), it may
/// not ask the result: ask has_value(), and then `*result`.
template <typename T>
class [[nodiscard]] io_result {
public:
    // NOLINTBEGIN(google-explicit-constructor): what an operation returns
    io_result(T value) noexcept(std::is_nothrow_move_constructible_v<T>) : value_(std::move(value)) {}
    io_result(std::error_code error) noexcept : error_(error) {}
    // NOLINTEND(google-explicit-constructor)

    [[nodiscard]] bool has_value() const noexcept { return value_.has_value(); }
    [[nodiscard]] explicit operator bool() const noexcept {
        static_assert(
            !detail::has_own_truth<T>,
            "coflux: `if (result)` would ask whether there is a value, and not the value, which may itself be "
            "false or empty: ask result.has_value(), and then *result");
        return has_value();
    }
    /// Errors: std::system_error if there is none.
    [[nodiscard]] T& value() & {
        check();
        return *value_;
    }
    [[nodiscard]] const T& value() const& {
        check();
        return *value_;
    }
    [[nodiscard]] T value() && {
        check();
        return std::move(*value_);
    }
    /// Pre: has_value().
    [[nodiscard]] T& operator*() & noexcept { return *value_; }
    [[nodiscard]] const T& operator*() const& noexcept { return *value_; }
    [[nodiscard]] T operator*() && noexcept(std::is_nothrow_move_constructible_v<T>) { return std::move(*value_); }
    [[nodiscard]] T* operator->() noexcept { return &*value_; }
    [[nodiscard]] const T* operator->() const noexcept { return &*value_; }
    /// The error; none where it has a value.
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

/// The result of a limit over as_result(): an io_result in which a time that was up is one of the errors,
/// std::errc::timed_out. The system reports that error, too; timed_out() is true for the limit alone.
template <typename T>
class [[nodiscard]] limited<io_result<T>> : public io_result<T> {
public:
    using value_type = io_result<T>;

    limited() noexcept : limited(std::nullopt) {}
    // NOLINTNEXTLINE(google-explicit-constructor): as the others
    limited(std::nullopt_t) noexcept : io_result<T>(std::make_error_code(std::errc::timed_out)), timed_out_(true) {}
    limited(std::in_place_t, io_result<T>&& in_time) noexcept(std::is_nothrow_move_constructible_v<io_result<T>>)
        : io_result<T>(std::move(in_time)) {}

    [[nodiscard]] bool timed_out() const noexcept { return timed_out_; }

private:
    bool timed_out_ = false;
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
        } else if constexpr (requires { this->suspend_with_result(); }) {
            return this->suspend_with_result();
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

/// An operation of I/O before its await: it may be given a limit, or give its errors as values.
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

/// A type that an io_result may have.
template <typename Value>
consteval bool has_result() {
    static_assert(!std::is_reference_v<Value>,
                  "coflux: as_result() gives a value: await what gives a reference in a call");
    static_assert(
        !std::is_same_v<Value, std::error_code>,
        "coflux: as_result() of what gives a std::error_code could not tell the value from an error: await it "
        "plainly");
    static_assert(!is_limited<Value>,
                  "coflux: as_result() takes what has no limit; put the limit outside of it: timeout(as_result(x), d)");
    return true;
}

/// The result of `give()`, or its system error.
/// Errors: all others that it throws.
template <typename Value, typename Give>
io_result<Value> caught_result(Give give) {
    try {
        if constexpr (std::is_void_v<Value>) {
            give();
            return {};
        } else {
            return give();
        }
    } catch (const std::system_error& e) {
        // A result has no place for other errors, and one without a code would be a success.
        if (!other_errors().empty() || !e.code()) throw;
        return e.code();
    }
}

/// The await of anything else whose system errors are values. A stop goes on as in the plain await.
template <typename A>
class [[nodiscard]] caught_result_awaiter {
    using inner_type = decltype(bind_await(std::declval<promise_base&>(), std::declval<A>(), std::source_location{}));
    using value = decltype(std::declval<inner_type&>().await_resume());
    static_assert(has_result<value>());

public:
    caught_result_awaiter(promise_base& p, A&& awaited, std::source_location where)
        : inner_(bind_inner_await(p, std::forward<A>(awaited), where)) {}

    [[nodiscard]] bool await_ready() { return inner_.await_ready(); }
    template <typename P>
    auto await_suspend(std::coroutine_handle<P> h) {
        return inner_.await_suspend(h);
    }
    io_result<value> await_resume() {
        return caught_result<value>([this]() -> decltype(auto) { return inner_.await_resume(); });
    }

private:
    inner_type inner_;
};

template <typename T>
struct value_of_outcome;
template <typename T>
struct value_of_outcome<outcome<T>> {
    using type = T;
};

/// The same under as_outcome(): a stop and other errors are values, too.
template <typename A>
class [[nodiscard]] result_outcome_awaiter {
    using inner_type = decltype(bind_outcome(std::declval<promise_base&>(), std::declval<A>(), std::source_location{}));
    using value = typename value_of_outcome<decltype(std::declval<inner_type&>().await_resume())>::type;
    static_assert(has_result<value>());

public:
    result_outcome_awaiter(promise_base& p, A&& awaited, std::source_location where)
        : inner_(bind_outcome(p, std::forward<A>(awaited), where)) {}

    [[nodiscard]] bool await_ready() { return inner_.await_ready(); }
    template <typename P>
    auto await_suspend(std::coroutine_handle<P> h) {
        return inner_.await_suspend(h);
    }
    outcome<io_result<value>> await_resume() noexcept {
        outcome<value> ended = inner_.await_resume();
        if (ended.is_stopped()) return stopped;
        return caught_outcome<io_result<value>>(
            [&] { return caught_result<value>([&]() -> decltype(auto) { return std::move(ended).value(); }); });
    }

private:
    inner_type inner_;
};

template <typename A>
class [[nodiscard("co_await it")]] result_request {
    static_assert(!single_use_lvalue<A>, "coflux: this handle can be awaited once: write as_result(std::move(handle))");

public:
    explicit result_request(A&& awaited) noexcept : awaited_(std::forward<A>(awaited)) {}
    result_request(const result_request&) = delete;
    result_request& operator=(const result_request&) = delete;

private:
    friend struct await_access;
    using single_use = void;
    using may_stop_its_awaiter = void;
    using operand = A;

    [[nodiscard]] environment& home(promise_base& p) const noexcept
        requires(await_access::has_home<A>())
    {
        return await_access::home(awaited_, p);
    }
    caught_result_awaiter<A> await_in(promise_base& p, std::source_location where) && {
        return caught_result_awaiter<A>(p, std::forward<A>(awaited_), where);
    }
    result_outcome_awaiter<A> await_outcome_in(promise_base& p, std::source_location where) && {
        return result_outcome_awaiter<A>(p, std::forward<A>(awaited_), where);
    }

    A&& awaited_;
};

}  // namespace detail

/// `co_await as_result(stream.read_some(buffer))`, `co_await as_result(load(here, path))`: an io_result in place of a
/// system error.
///
/// Shapes: an operation of I/O, in the expression that makes it; a call, a fork or task (moved), a combinator, or any
/// other awaitable that gives a value or nothing. A limit is outside: timeout(as_result(x), d).
/// Returns: io_result of what is awaited, or the error_code of the std::system_error that it throws: for an operation
/// of I/O also of a system that cannot let it wait, which has no descriptor for an event source, or no thread for a
/// blocking pool, say. A class that is derived from std::system_error gives its code alone.
/// Errors: all others are thrown: a mistake of the program, as options that contradict one another
/// (std::invalid_argument), a system error that other errors came with (other_errors()) or whose code is 0, for which a
/// result has no room, and of what is no operation of I/O one that does not let it wait.
/// Stops: as the plain await: a stop is no error, and stops the coroutine as ever. as_outcome(as_result(x)) gives an
/// outcome of the io_result, with the stop and all other errors as values.
/// Costs: of an operation of I/O none; an error costs neither a throw nor an allocation. Anything else throws its
/// error, which is caught here.
template <typename Operation, typename... Args>
[[nodiscard("co_await it")]] auto as_result(detail::io_request<Operation, Args...>&& operation) {
    return std::move(operation).with_result();
}
template <typename A>
[[nodiscard("co_await it")]] detail::result_request<A> as_result(A&& awaited COFLUX_LIFETIMEBOUND) noexcept {
    return detail::result_request<A>(std::forward<A>(awaited));
}

}  // namespace coflux

template <typename Operation, typename... Args>
struct std::tuple_size<coflux::detail::io_request<Operation, Args...>>
    : coflux::detail::size_before_await<coflux::detail::io_request<Operation, Args...>> {};

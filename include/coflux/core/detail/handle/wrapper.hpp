// Makes a fork of an awaitable that is none: combinators and timeouts run it beside other children, stop it and join
// it.
#pragma once

#include <coroutine>
#include <cstddef>
#include <ranges>
#include <source_location>
#include <type_traits>
#include <utility>

#include <coflux/base/address_of.hpp>
#include <coflux/core/detail/handle/await_access.hpp>
#include <coflux/core/detail/promise/await.hpp>
#include <coflux/core/fork.hpp>
#include <coflux/core/task.hpp>

namespace coflux::detail {

/// Executor of the forks that wrap what is not a fork: they begin in place, once all frames are had.
struct wrapping_executor {
    static constexpr bool starts_inline = true;
    static constexpr bool starts_deferred = true;
};

/// Destroys a wrapping fork that has not begun.
void destroy_unbegun(frame_control& c) noexcept;

/// Owns a wrapping fork: destroys one that has not begun, leaves one that has to its scope.
template <typename T>
class wrapper {
public:
    using value_type = T;

    explicit wrapper(frame_control& c) noexcept : control_(&c) { promise_base::of(c).give_at_birth(); }
    wrapper(wrapper&& other) noexcept : control_(std::exchange(other.control_, nullptr)), begun_(other.begun_) {}
    wrapper(const wrapper&) = delete;
    wrapper& operator=(const wrapper&) = delete;
    ~wrapper() {
        if (control_ == nullptr) return;
        begun_ ? promise_base::drop(*control_) : destroy_unbegun(*control_);
    }

    /// Runs it until it suspends or ends, on behalf of `creator`.
    void begin(promise_base& creator) noexcept {
        begun_ = true;
        promise_base::of(*control_).begin_in_creator(control_->frame());
        this_thread.current = &creator;
    }
    [[nodiscard]] frame_control& release() noexcept { return *std::exchange(control_, nullptr); }
    [[nodiscard]] frame_control& used() const noexcept { return *control_; }
    [[nodiscard]] frame_control* frame() const noexcept { return control_; }
    [[nodiscard]] const void* address() const noexcept { return control_; }

private:
    frame_control* control_;
    bool begun_ = false;
};

template <typename Handle>
void begin_if_wrapper(Handle& handle, promise_base& creator) noexcept {
    if constexpr (requires { handle.begin(creator); }) handle.begin(creator);
}

template <typename A>
inline constexpr bool is_owned_handle = false;
template <typename T, typename E>
inline constexpr bool is_owned_handle<fork<T, E>> = true;
template <typename T, typename E>
inline constexpr bool is_owned_handle<task<T, E>> = true;

/// A range of handles that may be awaited once each, used as an lvalue.
template <typename Range>
concept single_use_lvalue_range =
    std::is_lvalue_reference_v<Range> && single_use_lvalue<std::ranges::range_reference_t<Range>>;

/// `position` of the argument, or of the element in the range, counts from 1 in messages.
[[noreturn]] COFLUX_COLD void fail_argument(const char* operation, const char* kind, std::size_t position,
                                            const char* why) noexcept;
/// fail_argument() for a handle that names no coroutine.
[[noreturn]] COFLUX_COLD void fail_used_up(const char* operation, const char* kind, std::size_t position) noexcept;

/// Checks the handle that `operation` was given as its argument or element `position`, from 0 (law 11).
template <typename A>
COFLUX_INLINE void check_handle(const char* operation, const char* kind, std::size_t position,
                                const A& given) noexcept {
    if constexpr (is_owned_handle<A>) {
        if (!given.valid()) [[unlikely]]
            fail_used_up(operation, kind, position);
    }
}

/// Checks all arguments, before anything is taken from them. No two may be the same handle either.
template <std::size_t Position = 0, typename First, typename... Rest>
COFLUX_INLINE void check_arguments(const char* operation, const First& first, const Rest&... rest) noexcept {
    check_handle(operation, "argument", Position, first);
    if constexpr (is_owned_handle<First>) {
        const void* const self = detail::address_of(first);
        if ((... || (self == detail::address_of(rest)))) [[unlikely]]
            fail_argument(operation, "argument", Position, "is a handle that is given a second time");
    }
    if constexpr (sizeof...(Rest) != 0) check_arguments<Position + 1>(operation, rest...);
}

inline void check_arguments(const char*) noexcept {}  // of when_all()

/// The operands of an operation that stops those which lose.
template <typename... As>
consteval void check_losers() {
    static_assert(
        !(... || await_access::loses_its_lock<As>()),
        "coflux: an operation that loses would leave the guard without its lock: write changed.wait_for(guard, "
        "d) for a limit, or await changed.wait(guard) in a coroutine that takes the lock itself");
}

/// Checks a range that has its handles in itself.
template <typename Range>
void check_elements(const char* operation, const Range& handles) noexcept {
    std::size_t position = 0;
    for (const auto& h : handles) check_handle(operation, "element", position++, h);
}

/// The type that awaiting an A gives.
template <typename A>
using awaited_type =
    std::remove_cvref_t<decltype(bind_await(std::declval<promise_base&>(), std::declval<A>(), std::source_location{}))>;
template <typename A>
using await_result = decltype(std::declval<awaited_type<A>&>().await_resume());

/// An awaitable that knows where a wrapping fork of it is made.
template <typename A>
concept has_home = await_access::has_home<A>();

/// The fork that awaits it. A call is then a part of the fork, which is what is stopped.
template <typename A>
fork<await_result<A>, wrapping_executor> wrapped(environment&, borrowed<std::remove_reference_t<A>> awaited) {
    co_return co_await std::forward<A>(awaited.get());
}

/// `awaited`, which `p` will wait for.
/// Pre: the scope of `p` is open.
template <typename A>
decltype(auto) as_handle(promise_base& p, A&& awaited) {
    static_assert(!single_use_lvalue<A>,
                  "coflux: this handle can be awaited once: hand it over with std::move(handle)");
    if constexpr (is_owned_handle<std::remove_cvref_t<A>>) {
        return std::forward<A>(awaited);  // where it is: if a wrapper cannot be made, the caller still has its handle
    } else {
        using kind = wrapper<await_result<A>>;
        const borrowed<std::remove_reference_t<A>> given(awaited);
        if constexpr (has_home<std::remove_cvref_t<A>>) {
            if (environment& in = await_access::home(awaited, p); &in != &p) {
                kind elsewhere(await_access::release(wrapped<A>(in, given)));
                promise_base::of(elsewhere.used()).use_executor_of(p);
                return elsewhere;
            }
        }
        return kind(await_access::release(wrapped<A>(p, given)));
    }
}

}  // namespace coflux::detail

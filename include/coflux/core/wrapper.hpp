// What is no fork, made one: combinators and timeouts run it beside others, stop it and join it.
#pragma once

#include <coroutine>
#include <source_location>
#include <type_traits>
#include <utility>

#include <coflux/core/await_transform.hpp>
#include <coflux/core/fork.hpp>
#include <coflux/core/task.hpp>

namespace coflux::detail {

/// Executor of the forks that wrap what is not a fork: they begin in place, once all frames are had.
struct wrapping_executor {
    static constexpr bool starts_inline = true;
    static constexpr bool starts_deferred = true;
};

/// Owns a wrapping fork: destroys one that has not begun, leaves one that has to its scope.
template <typename T>
class wrapper {
public:
    using value_type = T;

    explicit wrapper(frame_control& c) noexcept : control_(&c) {}
    wrapper(wrapper&& other) noexcept : control_(std::exchange(other.control_, nullptr)), begun_(other.begun_) {}
    wrapper(const wrapper&) = delete;
    wrapper& operator=(const wrapper&) = delete;
    ~wrapper() {
        if (control_ == nullptr) return;
        begun_ ? promise_base::drop(*control_) : control_->frame().destroy();
    }

    /// Runs it until it suspends or ends, on behalf of `creator`.
    void begin(promise_base& creator) noexcept {
        begun_ = true;
        run(control_->frame());
        this_thread.current = &creator;
    }
    [[nodiscard]] frame_control& release() noexcept { return *std::exchange(control_, nullptr); }
    [[nodiscard]] frame_control& used() const noexcept { return *control_; }

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

/// The type that awaiting an A gives.
template <typename A>
using awaited_type =
    std::remove_cvref_t<decltype(bind_await(std::declval<promise_base&>(), std::declval<A>(), std::source_location{}))>;
template <typename A>
using await_result = decltype(std::declval<awaited_type<A>&>().await_resume());

/// The await in a wrapping fork: a call then belongs to the fork, which is what is told to stop.
template <typename A>
struct [[nodiscard]] adopting_request {
    A&& awaited;

    decltype(auto) await_in(promise_base& p, std::source_location where) && {
        if constexpr (requires { awaited.adopted_by(p); }) awaited.adopted_by(p);
        return bind_await(p, std::forward<A>(awaited), where);
    }
};

template <typename A>
fork<await_result<A>, wrapping_executor> wrapped(environment&, borrowed<std::remove_reference_t<A>> awaited) {
    co_return co_await adopting_request<A>{std::forward<A>(awaited.get())};
}

template <typename A>
decltype(auto) as_handle(environment& here, A&& awaited) {
    static_assert(!single_use_lvalue<A>,
                  "coflux: this handle can be awaited once: hand it over with std::move(handle)");
    if constexpr (is_owned_handle<std::remove_cvref_t<A>>) {
        return std::forward<A>(awaited);  // where it is: if a wrapper cannot be made, the caller still has its handle
    } else {
        return wrapper<await_result<A>>(wrapped<A>(here, borrowed<std::remove_reference_t<A>>(awaited)).release());
    }
}

}  // namespace coflux::detail

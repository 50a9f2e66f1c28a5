// The awaits of the ends of channels whose waiters stand in an atomic, a permit count or a version wait.
#pragma once

#include <coroutine>
#include <cstddef>
#include <optional>
#include <utility>

#include <coflux/base/config.hpp>
#include <coflux/channel/detail/shared_state.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/request.hpp>

namespace coflux::detail {

/// Base of all of them.
///
/// Shapes: `Wait` is made of the promise and what it waits at. It has `is_there()`, true if there is nothing to wait
/// for; `wait()`, what await_suspend returns; `resumed()`, called first once the coroutine goes on; and `state()`.
template <typename Wait>
class channel_end_awaiter : protected Wait {
public:
    using Wait::Wait;
    [[nodiscard]] COFLUX_INLINE bool await_ready() noexcept { return Wait::is_there(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) { return Wait::wait(); }
};

/// Receives what there is: `take()` of the Wait.
template <typename Wait>
class [[nodiscard]] receive_awaiter : public channel_end_awaiter<Wait> {
public:
    using channel_end_awaiter<Wait>::channel_end_awaiter;
    COFLUX_INLINE auto await_resume() noexcept(noexcept(this->take())) {
        (void)this->resumed();
        return this->take();
    }
};

/// Receives up to `max` values, each by `use(T&&)`.
template <typename Wait, typename Use>
class [[nodiscard]] batch_awaiter : public channel_end_awaiter<Wait> {
public:
    template <typename State>
    batch_awaiter(promise_base& p, State& s, std::size_t max, Use use) noexcept
        : channel_end_awaiter<Wait>(p, s),
          max_(max),
          use_(std::move(use)) {}
    COFLUX_INLINE std::size_t await_resume() {
        (void)this->resumed();
        return this->state().receive(max_, use_);
    }

private:
    std::size_t max_;
    Use use_;
};

/// Sends a value once there is a slot for it. Shapes: resumed() of the Wait is false if the channel is closed.
template <typename Wait, typename T>
class [[nodiscard]] send_awaiter : public channel_end_awaiter<Wait> {
public:
    template <typename State>
    send_awaiter(promise_base& p, State& s, T& value) noexcept : channel_end_awaiter<Wait>(p, s),
                                                                 value_(value) {}
    COFLUX_INLINE bool await_resume() noexcept { return this->resumed() && this->state().send(value_); }

private:
    T& value_;
};

/// Keeps a slot for a `Permit`. Shapes: `Wait` as for send_awaiter.
template <typename Wait, typename Permit>
class [[nodiscard]] reserve_awaiter : public channel_end_awaiter<Wait> {
public:
    using channel_end_awaiter<Wait>::channel_end_awaiter;
    std::optional<Permit> await_resume() noexcept {
        if (!this->resumed() || !this->state().reserve()) return std::nullopt;
        return std::optional<Permit>(std::in_place, state_handle(this->state()));
    }
};

}  // namespace coflux::detail

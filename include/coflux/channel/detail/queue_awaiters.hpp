// The awaits of the ends of channels whose waiters are in an atomic, a permit count or a version wait.
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
/// for; `ready_if(is_there())`, what await_ready returns; `wait()`, what await_suspend returns; `resumed()`, called
/// first once the coroutine goes on; and `state()`.
template <typename Wait>
class channel_end_awaiter : protected Wait {
public:
    using Wait::Wait;
    [[nodiscard]] COFLUX_INLINE bool await_ready() noexcept { return Wait::ready_if(Wait::is_there()); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) { return Wait::wait(); }
};

/// Waits until there is something to receive, and takes nothing. It stays there: one coroutine at a time receives.
template <typename Wait>
class [[nodiscard]] look_awaiter : public channel_end_awaiter<Wait> {
public:
    using channel_end_awaiter<Wait>::channel_end_awaiter;
    void await_resume() noexcept { (void)this->resumed(); }
};

/// Receives what there is: `take()` of the Wait.
template <typename Wait>
class [[nodiscard]] receive_awaiter : public channel_end_awaiter<Wait> {
public:
    using channel_end_awaiter<Wait>::channel_end_awaiter;
    using has_two_steps = receive_awaiter;
    template <typename... Where>
    static auto claim(Where&... where) noexcept {
        return request<look_awaiter<Wait>, Where&...>(where...);
    }
    /// As take() of the Wait.
    template <typename State, typename... Where>
    static auto finish(State& s, Where&... where) {
        if constexpr (requires { s.receive_one(); }) {
            return s.receive_one();
        } else {
            return s.take(where...);
        }
    }

    [[nodiscard("it may be closed, or a value has come: use the result")]] COFLUX_INLINE auto
    await_resume() noexcept(noexcept(this->take())) {
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
    using has_two_steps = batch_awaiter;
    template <typename State>
    static auto claim(State& s, std::size_t&, Use&) noexcept {
        return request<look_awaiter<Wait>, State&>(s);
    }
    template <typename State>
    static std::size_t finish(State& s, std::size_t max, Use& use) {
        return s.receive(max, use);
    }

    COFLUX_INLINE std::size_t await_resume() {
        (void)this->resumed();
        return this->state().receive(max_, use_);
    }

private:
    std::size_t max_;
    Use use_;
};

/// Keeps a slot for a `Permit`. Shapes: resumed() of the Wait is false if the channel is closed.
template <typename Wait, typename Permit>
class [[nodiscard]] reserve_awaiter : public channel_end_awaiter<Wait> {
public:
    using channel_end_awaiter<Wait>::channel_end_awaiter;
    [[nodiscard("the slot is given back at once: keep the permit")]] std::optional<Permit> await_resume() noexcept {
        if (!this->resumed() || !this->state().reserve()) return std::nullopt;
        return std::optional<Permit>(std::in_place, state_handle(this->state()));
    }
};

/// Sends a value once there is a slot for it. Shapes: `Wait`, `Permit` as for reserve_awaiter.
template <typename Wait, typename T, typename Permit>
class [[nodiscard]] send_awaiter : public channel_end_awaiter<Wait> {
public:
    template <typename State>
    send_awaiter(promise_base& p, State& s, T& value) noexcept : channel_end_awaiter<Wait>(p, s),
                                                                 value_(value) {}
    [[nodiscard("it may be closed, and nothing was sent: use the result")]] COFLUX_INLINE bool await_resume() noexcept {
        return this->resumed() && this->state().send(value_);
    }
    using has_two_steps = send_awaiter;
    template <typename State>
    static auto claim(State& s, T&) noexcept {
        return request<reserve_awaiter<Wait, Permit>, State&>(s);
    }
    template <typename State>
    static bool finish(std::optional<Permit> slot, State&, T& value) noexcept {
        if (slot) slot->send(std::move(value));
        return slot.has_value();
    }

private:
    T& value_;
};

}  // namespace coflux::detail

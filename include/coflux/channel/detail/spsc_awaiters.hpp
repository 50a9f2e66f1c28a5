// How the ends of an spsc channel wait.
#pragma once

#include <coroutine>
#include <cstddef>
#include <optional>
#include <utility>

#include <coflux/channel/detail/queue_awaiters.hpp>
#include <coflux/channel/detail/shared_state.hpp>
#include <coflux/channel/detail/spsc_state.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/request.hpp>

namespace coflux::detail {

template <typename T>
class [[nodiscard]] spsc_send_awaiter : spsc_send_wait {
public:
    spsc_send_awaiter(promise_base& p, spsc_state<T>& s, T& value) noexcept
        : spsc_send_wait(p, s),
          state_(s),
          value_(value) {}
    [[nodiscard]] COFLUX_INLINE bool await_ready() noexcept { return is_there(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) { return wait(); }
    COFLUX_INLINE bool await_resume() noexcept {
        resumed();
        return state_.has_room() && state_.send(value_, false);
    }

private:
    spsc_state<T>& state_;
    T& value_;
};

template <typename T, typename Permit>
class [[nodiscard]] spsc_reserve_awaiter : spsc_send_wait {
public:
    spsc_reserve_awaiter(promise_base& p, const state_handle<spsc_state<T>>& s) noexcept
        : spsc_send_wait(p, *s),
          state_(s) {}
    [[nodiscard]] bool await_ready() noexcept { return is_there(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) { return wait(); }
    std::optional<Permit> await_resume() noexcept {
        resumed();
        if (!state_->has_room() || !state_->reserve()) return std::nullopt;
        return std::optional<Permit>(std::in_place, state_);
    }

private:
    const state_handle<spsc_state<T>>& state_;
};

template <typename T>
class [[nodiscard]] spsc_wait : public spsc_receive_wait {
public:
    spsc_wait(promise_base& p, spsc_state<T>& s) noexcept : spsc_receive_wait(p, s), state_(s) {}
    [[nodiscard]] COFLUX_INLINE bool await_ready() noexcept { return is_there(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) { return wait(); }

protected:
    spsc_state<T>& state_;
};

/// `Held` is a reference to the caller's value, or the copy.
template <typename T, typename Held>
using spsc_send_request = request<spsc_send_awaiter<T>, spsc_state<T>&, Held>;
template <typename T, typename Permit>
using spsc_reserve_request = request<spsc_reserve_awaiter<T, Permit>, const state_handle<spsc_state<T>>&>;
template <typename T>
using spsc_receive_request = request<receive_awaiter<spsc_wait<T>>, spsc_state<T>&>;
template <typename T, typename Use>
using spsc_batch_request = request<batch_awaiter<spsc_wait<T>, Use>, spsc_state<T>&, std::size_t, Use>;

}  // namespace coflux::detail

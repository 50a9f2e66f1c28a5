// How the ends of an spsc channel wait.
#pragma once

#include <coroutine>
#include <cstddef>
#include <optional>
#include <source_location>
#include <utility>

#include <coflux/channel/detail/shared_state.hpp>
#include <coflux/channel/detail/spsc_state.hpp>
#include <coflux/core/promise_base.hpp>

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

/// `Held` is a reference to the caller's value, or the copy.
template <typename T, typename Held>
class [[nodiscard("co_await it: nothing is sent until then")]] spsc_send_request {
public:
    spsc_send_request(spsc_state<T>& s, Held&& value) noexcept : state_(s), value_(std::forward<Held>(value)) {}
    spsc_send_request(const spsc_send_request&) = delete;
    spsc_send_request& operator=(const spsc_send_request&) = delete;

    COFLUX_INLINE spsc_send_awaiter<T> await_in(promise_base& p, std::source_location where) && noexcept {
        p.awaits_at(where);
        return spsc_send_awaiter<T>(p, state_, value_);
    }

private:
    spsc_state<T>& state_;
    Held value_;
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

template <typename T, typename Permit>
struct [[nodiscard("co_await it: nothing is reserved until then")]] spsc_reserve_request {
    const state_handle<spsc_state<T>>& state;

    spsc_reserve_awaiter<T, Permit> await_in(promise_base& p, std::source_location where) const noexcept {
        p.awaits_at(where);
        return spsc_reserve_awaiter<T, Permit>(p, state);
    }
};

template <typename T>
class [[nodiscard]] spsc_awaiter : public spsc_receive_wait {
public:
    spsc_awaiter(promise_base& p, spsc_state<T>& s) noexcept : spsc_receive_wait(p, s), state_(s) {}
    [[nodiscard]] COFLUX_INLINE bool await_ready() noexcept { return is_there(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) { return wait(); }

protected:
    spsc_state<T>& state_;
};

template <typename T>
class [[nodiscard]] spsc_receive_awaiter : public spsc_awaiter<T> {
public:
    using spsc_awaiter<T>::spsc_awaiter;
    COFLUX_INLINE std::optional<T> await_resume() noexcept {
        this->resumed();
        return this->state_.receive_one();
    }
};

template <typename T, typename Use>
class [[nodiscard]] spsc_batch_awaiter : public spsc_awaiter<T> {
public:
    spsc_batch_awaiter(promise_base& p, spsc_state<T>& s, std::size_t max, Use use) noexcept
        : spsc_awaiter<T>(p, s),
          max_(max),
          use_(std::move(use)) {}
    COFLUX_INLINE std::size_t await_resume() {
        this->resumed();
        return this->state_.receive(max_, use_);
    }

private:
    std::size_t max_;
    Use use_;
};

template <typename T>
struct [[nodiscard("co_await it: nothing is received until then")]] spsc_receive_request {
    spsc_state<T>& state;

    COFLUX_INLINE spsc_receive_awaiter<T> await_in(promise_base& p, std::source_location where) const noexcept {
        p.awaits_at(where);
        return spsc_receive_awaiter<T>(p, state);
    }
};

template <typename T, typename Use>
struct [[nodiscard("co_await it: nothing is received until then")]] spsc_batch_request {
    spsc_state<T>& state;
    std::size_t max;
    Use use;

    COFLUX_INLINE spsc_batch_awaiter<T, Use> await_in(promise_base& p, std::source_location where) const noexcept {
        p.awaits_at(where);
        return spsc_batch_awaiter<T, Use>(p, state, max, use);
    }
};

}  // namespace coflux::detail

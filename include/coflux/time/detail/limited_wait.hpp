// Waiting for one coroutine that a timer may stop: what timeout and deadline do, without types.
#pragma once

#include <coroutine>

#include <coflux/core/detail/frame/frame.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/stop_relay.hpp>
#include <coflux/time/detail/time_limit.hpp>

namespace coflux::detail {

class limited_wait : private waiter {
public:
    limited_wait(const limited_wait&) = delete;
    limited_wait& operator=(const limited_wait&) = delete;

protected:
    limited_wait(promise_base& p, clock_tick deadline) noexcept : deadline_(deadline) {
        coroutine = &p;
        ended = &limited_wait::child_ended;
    }
    ~limited_wait();

    /// Before what is waited for begins, if it has not: from now on it is stopped when its time is up, at once if that
    /// has passed.
    /// Errors: as time_limit::arm(); then nothing has happened.
    void arm_limit(frame_control& child);
    /// From now on its frame is this object's.
    void take_over(frame_control& child) noexcept { child_ = &child; }

    [[nodiscard]] bool is_ready() const noexcept { return child_->done() && !child_->word.ended_stopped(); }
    [[nodiscard]] std::coroutine_handle<> wait() noexcept;
    /// After the wait: the frame, whose result is the caller's to take; nullptr if time was up and it stopped.
    /// Errors: std::bad_alloc, if a stop could not be passed on: then it was stopped at once, and has ended.
    [[nodiscard]] frame_control* resumed();

    // For outcome_awaiter, after the wait.
    [[nodiscard]] bool stops() const noexcept { return child_->word.ended_stopped() && !late_ && !relay_.has_failed(); }
    [[nodiscard]] promise_base& awaiting() const noexcept { return *coroutine; }

private:
    static std::coroutine_handle<> child_ended(waiter& self, frame_control& child, const void* here) noexcept;
    static void request_stop(void* self, std::size_t) noexcept;
    static void go_on_after_stop(void* self) noexcept;
    std::coroutine_handle<> go_on(const void* here) noexcept;
    [[nodiscard]] bool limit_is_over() noexcept;

    clock_tick deadline_;
    frame_control* child_ = nullptr;
    time_limit* limit_ = nullptr;  // armed, or late and to be freed
    relay_if_needed relay_;
    bool settled_ = false;  // the limit knows of the end
    bool late_ = false;     // a stop of the child was requested because time was up
};

}  // namespace coflux::detail

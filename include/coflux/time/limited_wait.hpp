// Waiting for one coroutine that a timer may stop: what timeout and deadline do, without types.
#pragma once

#include <coroutine>
#include <exception>

#include <coflux/core/promise_base.hpp>
#include <coflux/core/waiter.hpp>
#include <coflux/time/time_limit.hpp>

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

    /// What is waited for; from now on its frame is this object's.
    void limits(frame_control& child) noexcept { child_ = &child; }

    [[nodiscard]] bool is_ready() const noexcept { return child_->done() && !child_->word.ended_stopped(); }
    [[nodiscard]] std::coroutine_handle<> wait();
    /// After the wait: the frame, whose result is the caller's to take; nullptr if time was up and it stopped.
    [[nodiscard]] frame_control* resumed();

private:
    static std::coroutine_handle<> child_ended(waiter& self, frame_control& child, const void* here) noexcept;
    std::coroutine_handle<> go_on(const void* here) noexcept;

    clock_tick deadline_;
    frame_control* child_ = nullptr;
    time_limit* limit_ = nullptr;  // armed, or late and to be freed
    std::exception_ptr
        no_timer_;       // why there is none: the child was told to stop, and this comes out when it has ended
    bool late_ = false;  // the child was told to stop because time was up, or there is no timer
};

}  // namespace coflux::detail

// Going on with another coroutine in constant stack, on every compiler and at every level of optimisation (law 6).
//
// With guaranteed tail calls a transfer is the handle itself. Without (g++), every 64th consecutive transfer goes
// through a loop: the one that resumed this coroutine if it knows about it, else one that is started on the spot,
// inside await_suspend, where the awaiting coroutine is already suspended. So the stack has at most 64 resumptions, and
// one loop a nested start.
#pragma once

#include <coroutine>
#include <utility>

#include <coflux/base/config.hpp>
#include <coflux/base/no_coroutine.hpp>
#include <coflux/core/detail/thread/thread_state.hpp>

namespace coflux::detail {

/// Takes the first of thread_state::resumed, else of thread_state::woken.
/// Pre: has_woken().
std::coroutine_handle<> take_woken() noexcept;
inline bool has_woken() noexcept {
    return !this_thread.woken.empty() || !this_thread.resumed.empty();
}
/// Behind all that thread_state::resumed has.
inline void resume_by_loop(proxy_frame& p) noexcept {
    this_thread.resumed.push_back(p);
}

/// Resumes `h` and all that it goes on with, from outside any coroutine or inside an await_suspend.
inline void run(std::coroutine_handle<> h, thread_state& t = this_thread) noexcept {
    const bool outer = std::exchange(t.looping, true);
    const unsigned transfers = std::exchange(t.transfers, 0U);
    void* const pending = std::exchange(t.next, nullptr);
    for (;;) {
        h.resume();
        t.transfers = 0;
        if (void* const next = std::exchange(t.next, nullptr)) {
            h = std::coroutine_handle<>::from_address(next);
        } else if (!outer && has_woken()) [[unlikely]] {
            t.nested_limit = t.open_nested_limit;  // no other coroutine is on this stack
            h = take_woken();
        } else {
            break;
        }
    }
    t.next = pending;
    t.transfers = transfers;
    t.looping = outer;
}

/// Goes on with `h` from a plain function that was called in place of a resumption.
inline void run_next(std::coroutine_handle<> h) noexcept {
    thread_state& t = this_thread;
    if (t.looping && t.next == nullptr) {
        t.next = h.address();
    } else {
        run(h);
    }
}

/// run_next() inside a call that a running coroutine makes: that coroutine is the current one again afterwards.
inline void run_aside(std::coroutine_handle<> h) noexcept {
    thread_state& t = this_thread;
    const environment* const current = t.current;
    const environment* const below = std::exchange(t.below, nullptr);
    run(h);
    t.current = current;
    t.below = below;
}

/// While it lives, a coroutine that would be resumed in place on this thread (because no executor runs it) waits: until
/// its end, or for the loop below on this stack if there is one. For code that wakes coroutines in the middle of
/// something.
class resumption_pause {
public:
    resumption_pause() noexcept : outer_(std::exchange(this_thread.looping, true)) {}
    ~resumption_pause() {
        thread_state& t = this_thread;
        t.looping = outer_;
        if (outer_) return;
        if (void* const next = std::exchange(t.next, nullptr)) run_aside(std::coroutine_handle<>::from_address(next));
        if (has_woken()) run_aside(take_woken());
    }
    resumption_pause(const resumption_pause&) = delete;
    resumption_pause& operator=(const resumption_pause&) = delete;

private:
    bool outer_;
};

/// The handle that an await_suspend returns to go on with `h`.
COFLUX_INLINE std::coroutine_handle<> transfer(std::coroutine_handle<> h) noexcept {
#if !COFLUX_TAIL_CALLS
    if (++this_thread.transfers >= 64) [[unlikely]] {
        run_next(h);
        return no_coroutine();
    }
#endif
    return h;
}

}  // namespace coflux::detail

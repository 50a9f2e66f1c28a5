// The slow paths of an await of a frame: the nested run that is left, and the wait for what runs elsewhere.
#include <coflux/core/detail/join/await_frame.hpp>

#include <coflux/base/assert.hpp>

#include "core/detail/readable_name.hpp"

namespace coflux::detail {

/// There is news of stops somewhere: true if this coroutine may be stopped, or if it is still inside the call that made
/// it. The awaited coroutine must not run in that call.
bool promise_base::must_suspend_first() noexcept {
    return control().word.has(frame_flags::inline_start) || is_stop_requested();
}

/// A coroutine that began nested on its awaiter's stack suspends. From now on it is like any other: control goes back
/// to the awaiter, which waits for it as it would for any other.
void promise_base::leave_nested_run() noexcept {
    frame_control& c = control();
    // [nested.leaves.joins]
    c.join.leave_nested();
    // The caller of a call may be woken while it is still being suspended.
    // [nested.leaves.moves]
    if (c.word.counted() == counting::none) c.word.set(frame_flags::moved);
    this_thread.nested_limit = no_room;
}

/// The coroutine that began nested on this one's stack has suspended, and this coroutine runs again.
void promise_base::regain_control() noexcept {
    this_thread.current = this;
    this_thread.nested_limit = this_thread.open_nested_limit;
}

namespace {

/// The operation that `p` awaits ended while `p` was being suspended.
COFLUX_COLD std::coroutine_handle<> resume_after(promise_base& p, ending end) noexcept {
    this_thread.current = &p;
    return transfer(promise_base::wake(p, end, identity_of(p.runs_on())));
}

}  // namespace

/// After clear_current().
std::coroutine_handle<> promise_base::await_running(frame_control& child) noexcept {
    if (join_frame(child, *this) == join_result::registered) return std::noop_coroutine();
    return resume_after(*this, child.word.end());
}

std::coroutine_handle<> promise_base::await_begun(frame_control& callee) noexcept {
    // [nested.await_begun.suspends]
    (void)begin_suspend();  // a stop comes too late: the call has begun, gets the stop itself, and has no other waiter
    clear_current();
    return await_running(callee);
}

void promise_base::fail_awaits_itself() noexcept {
    this_thread.current = this;
    fail(__FILE__, __LINE__, "&awaited != this", "%s awaits itself: it would never end",
         readable_name(control().location().function_name()).c_str());
}

}  // namespace coflux::detail

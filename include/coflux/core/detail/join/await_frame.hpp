// How a coroutine awaits a frame: nested on its own stack, by transfer into a popped child, or registered in its word.
//
// The page docs/design/fork_join.md has the argument.
#pragma once

#include <coroutine>

#include <coflux/base/config.hpp>
#include <coflux/base/stack.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>

namespace coflux::detail {

/// Every await is a stop point: one whose coroutine may be stopped suspends first.
COFLUX_INLINE bool promise_base::may_run_nested(std::uint32_t requests) noexcept {
    return stack_address() > this_thread.nested_limit &&
           (!may_be_stopped(requests) || !rematerialized_this()->must_suspend_first());
}

/// The coroutine that ran nested on this one's stack has given control back: true if it has ended.
COFLUX_INLINE bool promise_base::ended_nested() noexcept {
    // [nested.ended.elsewhere]
    if (this_thread.nested_limit == no_room) [[unlikely]] {
        rematerialized_this()->regain_control();
        return false;
    }
    this_thread.current = rematerialized_this();
    return true;
}

template <nested_frame Frame>
COFLUX_INLINE bool promise_base::run_fork_nested(frame_control* child) noexcept {
    // relaxed: as in begin_suspend().
    if (!may_run_nested(stop_requests.load(memory_order_relaxed))) return false;
    const promise_base* const self = rematerialized_this();
    // The child of another coroutine is counted there. A child of this coroutine that another coroutine made is in this
    // sum, too.
    if (!of(*child).parent_.is_unshared(self)) [[unlikely]]
        return false;
    if (!this_thread.queues->pop_if_newest(child->frame())) return false;
    child->join.nest<Frame>(self);
    child->frame().resume();
    if (!ended_nested()) [[unlikely]]
        return false;
    own_.children.release_by_owner();
    return true;
}

template <nested_frame Frame>
COFLUX_INLINE bool promise_base::run_call_nested(frame_control* callee) noexcept {
    const std::uint32_t requests = stop_requests.load(memory_order_relaxed);
    if (!may_run_nested(requests)) [[unlikely]] {
        callee->join.begin_unawaited_call();
        return false;
    }
    promise_base* const self = rematerialized_this();
    of(*callee).use_executor_of(*this);
    // [call.nested.counts]
    of(*callee).own_.stops_seen = requests;  // this coroutine was found clean then, or later
    of(*callee).become_part_of(*self);
    callee->join.begin_nested<Frame>(self);
    callee->frame().resume();
    return ended_nested();
}

/// True if `child` has not begun, and was popped, as the newest of this worker's forks: it goes on with `awaiter`.
template <typename Awaiter>
COFLUX_INLINE bool promise_base::pop_for(frame_control& child, Awaiter& awaiter) noexcept {
    worker* const w = this_thread.queues;
    if (w == nullptr || !w->pop_if_newest(child.frame())) return false;
    child.join.await_popped(awaiter);
    return true;
}

template <typename Awaiter>
COFLUX_INLINE join_result promise_base::join_frame(frame_control& child, Awaiter& awaiter) noexcept {
    check_not_self(child);
    return child.join.await(awaiter);
}

COFLUX_INLINE join_result promise_base::await_elsewhere(frame_control& child, waiter& w) noexcept {
    clear_current();
    return join_frame(child, w);
}

COFLUX_INLINE join_result promise_base::await_frame(frame_control& child, waiter& w) noexcept {
    if (!child.join.is_shared() && pop_for(child, w)) return join_result::popped;
    return await_elsewhere(child, w);
}

COFLUX_INLINE std::coroutine_handle<> promise_base::await_child(frame_control& child) noexcept {
    if (begin_suspend() == suspension::stop) [[unlikely]]
        return stop_here();
    if (pop_for(child, *this)) [[likely]]
        return transfer(child.frame());
    clear_current();
    return await_running(child);
}

}  // namespace coflux::detail

// The end of a coroutine, on its fast paths; src/core/detail/promise/completion.cpp has the others.
//
// The page docs/design/fork_join.md has the argument.
#pragma once

#include <coroutine>
#include <cstdint>

#include <coflux/base/config.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>

namespace coflux::detail {

/// If a child is left, it leaves the nested run at once: a second look may find none.
COFLUX_INLINE bool promise_base::frees_itself() noexcept {
    frame_control& c = control();
    if (!c.join.frees_itself()) return false;
    if (c.word.has(frame_flags::scope_open) && has_children()) [[unlikely]] {
        rematerialized_this()->leave_nested_run();
        return false;
    }
    return true;
}

COFLUX_INLINE void promise_base::keep_result_and_free(std::uint64_t result) noexcept {
    frame_control* c = &control();
    // To the optimiser the control is a part of the promise, whose last stores are never read.
    asm("" : "+r"(c));
    this_thread.current = c->join.own().coroutine();
    c->result = result;
    c->word.set(frame_flags::destroyed);
}

COFLUX_INLINE std::coroutine_handle<> promise_base::notify_waiters_after_clear() noexcept {
    return clear_current(), transfer(rematerialized_this()->notify_waiters());
}

/// The end of a call on its caller's executor. It is awaited, or it would not have begun; what the caller wrote is this
/// thread's own.
COFLUX_INLINE std::coroutine_handle<> promise_base::call_ended(frame_control& c) noexcept {
    const join_snapshot own = c.join.own();
    if (own.done()) return std::noop_coroutine();  // nested: the caller goes on below
    return transfer(own.only_coroutine()->handle());
}

/// The end of a child that its parent may be suspended for, in a plain await or by one waiter: then the parent has its
/// count back, and goes on.
COFLUX_INLINE std::coroutine_handle<> promise_base::ended_as_child(frame_control& c, bool is_own) noexcept {
    const join_snapshot seen = c.join.seen_by_end();
    if (seen.done()) return std::noop_coroutine();  // nested: the awaiter goes on below
    if (is_own) [[likely]] {
        if (seen.is_awaited_by(static_cast<promise_base*>(parent_.get()))) [[likely]] {
            promise_base& w = static_cast<promise_base&>(*parent_);
            --w.own_.children;
            if (runs_on() == w.runs_on()) [[likely]]
                return transfer(w.handle());
            return rematerialized_this()->hand_over(w);
        }
        if (seen.has_one_waiter() && c.word.end() == ending::value) {
            waiter& w = *seen.youngest();
            if (w.coroutine == parent_.get()) {
                --parent_->own_.children;
                c.join.forget_awaiter();
                clear_current();
                return transfer(w.ended(w, c, identity_of(executor_)));
            }
        }
    }
    return notify_waiters_after_clear();
}

template <ending_kind Kind>
COFLUX_INLINE std::coroutine_handle<> promise_base::body_ended() noexcept {
    frame_control& c = control();
    const frame_word word = c.word;
    if constexpr (Kind == ending_kind::may_be_inline) {
        if (word.is_exactly(counting::by_owner, frame_flags::inline_start)) {
            // The handle is not out yet, and the creator waits on this very thread: nothing to count, no waiter to
            // tell.
            c.join.begin_ended();
            return std::noop_coroutine();
        }
    }
    if constexpr (Kind == ending_kind::call) {
        if (!word.has(frame_flags::scope_open | frame_flags::moved)) [[likely]]
            return call_ended(c);
    }
    if (word.has(frame_flags::scope_open) && has_children()) [[unlikely]]
        return rematerialized_this()->join_children();
    if constexpr (Kind == ending_kind::call) {
        if (!word.has(frame_flags::moved)) [[likely]]
            return call_ended(c);
        return notify_waiters_after_clear();
    } else {
        if constexpr (Kind == ending_kind::may_be_inline) {
            if (word.has(frame_flags::inline_start)) return rematerialized_this()->end_inline();
        }
        return ended_as_child(c, word.is_counted_by_owner());
    }
}

}  // namespace coflux::detail

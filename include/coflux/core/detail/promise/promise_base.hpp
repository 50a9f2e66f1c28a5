// The part of a promise that knows neither result nor coroutine type. Its fast paths are defined where they are told:
// the start in start.hpp, the await in await.hpp, the end in end.hpp.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <utility>

#include <coflux/base/config.hpp>
#include <coflux/base/stack.hpp>
#include <coflux/core/detail/frame/frame.hpp>
#include <coflux/core/detail/promise/coroutine_kind.hpp>
#include <coflux/core/detail/thread/transfer.hpp>
#include <coflux/core/detail/thread/worker.hpp>
#include <coflux/core/environment.hpp>

namespace coflux::detail {

/// Base of every promise. At offset 0 of the promise, which no compiler puts further than 16 bytes into the frame,
/// because results are stored without over-alignment (end.hpp).
class promise_base : public environment {
public:
    [[nodiscard]] COFLUX_INLINE std::coroutine_handle<> handle() noexcept {
        void* frame = std::coroutine_handle<promise_base>::from_promise(*this).address();
        COFLUX_HIDE_ORIGIN(frame);
        return std::coroutine_handle<>::from_address(frame);
    }
    /// `this`, found by way of its frame. A coroutine has its frame's address in a register; where it needs the
    /// promise's too, in each of its awaits, the optimiser would keep that in a second one, and save and restore it
    /// wherever the coroutine runs.
    [[nodiscard]] COFLUX_INLINE promise_base* rematerialized_this() noexcept {
        void* frame = handle().address();
        COFLUX_REMATERIALIZE(frame);
        return &std::coroutine_handle<promise_base>::from_address(frame).promise();
    }
    [[nodiscard]] COFLUX_INLINE frame_control& control() noexcept { return frame_control::of(handle()); }
    [[nodiscard]] static promise_base& of(frame_control& c) noexcept {
        return std::coroutine_handle<promise_base>::from_address(&c + 1).promise();
    }
    [[nodiscard]] const executor_entry* runs_on() const noexcept { return executor_; }
    using environment::is_stop_requested;
    [[nodiscard]] environment* parent() const noexcept { return parent_.get(); }
    [[nodiscard]] const environment_data& data() const noexcept { return *data_; }
    /// A call takes its caller's executor.
    COFLUX_INLINE void use_executor_of(const promise_base& caller) noexcept { executor_ = caller.runs_on(); }
    /// Where `caller` makes a coroutine that runs this call, which has not begun. One of an environment object that is
    /// not above `caller` stays below that, from which it has its memory, its deadline and its stop; what a generator
    /// makes its children in has none of its own.
    [[nodiscard]] environment& home(promise_base& caller) const noexcept;
    /// The call begins, in an await that suspends `caller`.
    COFLUX_INLINE void begin_as_part_of(promise_base& caller) noexcept {
        use_executor_of(caller);
        // [call.begin.counts]
        own_.begin(caller.own_.stops_seen.own());  // which does not start inline, or has left that
        become_part_of(caller);
    }
    /// Before the call begins: `caller` awaits it.
    COFLUX_INLINE void become_part_of(promise_base& caller) noexcept {
        // [call.part.made_here]
        if (is_unshared_child_of(caller)) [[likely]]
            return;
        if (parent_.is_none()) return take_environment_of(caller);
        leave_maker_for(caller);
    }
    /// Before it begins: it lives in `data` from now on, which outlives it. The deadline of one operation needs it.
    void use_data(const environment_data& data) noexcept { data_ = data_ref(data, data.frames == nullptr); }
    /// Before it begins: a stop from above reaches neither it nor what is below.
    void shield() noexcept { marks_.fetch_or(is_shielded, memory_order_relaxed); }  // it is published later
    /// The operation that it was given to tells its awaiter of the end, though no waiter may be in the join word yet.
    void give() noexcept {
        parent_.give();  // relaxed: a child that ends meanwhile, and does not see it, ended before the await
    }
    /// give() of one that an operation makes for itself, before it begins.
    void give_at_birth() noexcept { parent_.give(); }
    [[nodiscard]] bool is_given_away() const noexcept { return parent_.is_given(); }
    /// Made in `p` itself, and without views or callbacks.
    [[nodiscard]] COFLUX_INLINE bool is_unshared_child_of(const promise_base& p) const noexcept {
        return parent_.is_unshared(&p);
    }
    /// While no thread runs it.
    void use_executor(const executor_entry& e) noexcept { executor_ = &e; }
    /// The coroutine goes to another executor.
    void move_to(const executor_entry* e) noexcept {
        executor_ = e;
        control().word.set(frame_flags::moved);
    }

    /// Begins the new coroutine, which is suspended in front of its body, in the call that makes it; later if the stack
    /// has no room for it (docs/design/fork_join.md).
    COFLUX_INLINE void begin_in_creator(std::coroutine_handle<> h) noexcept;
    /// While it is in thread_state::begins: the coroutine behind it.
    [[nodiscard]] promise_base* next_to_begin() const noexcept { return next_to_begin_; }
    [[nodiscard]] static COFLUX_INLINE bool has_room_to_begin() noexcept {
        return !stack_is_below(this_thread.room_to_begin);
    }

    COFLUX_INLINE void unhandled_exception() noexcept { rematerialized_this()->body_failed(); }

    // --- awaits ---

    /// Every await of the coroutine begins here: remembers its location, for the live tree.
    COFLUX_INLINE void set_await_location(std::source_location where) noexcept { control().where = where; }

    /// Every await that really suspends: from now on another thread may resume the coroutine, unless it must stop.
    [[nodiscard]] COFLUX_INLINE suspension begin_suspend() noexcept {
        // relaxed: where they differ, is_stop_requested() looks again, and pairs with request_stop().
        if (may_be_stopped(stop_requests.load(memory_order_relaxed))) [[unlikely]]
            return rematerialized_this()->begin_suspend_slowly();
        // [nested.suspends.leaves]
        if (control().join.is_nested()) rematerialized_this()->leave_nested_run();
        return suspension::proceed;
    }

    /// Control goes back to the loop or to the creator and not to another coroutine of ours. After begin_suspend().
    static COFLUX_INLINE void clear_current() noexcept {
        this_thread.current = std::exchange(this_thread.below, nullptr);
    }

    /// Before it waits for a coroutine whose stop is its own. An as_outcome() in the same expression may have completed
    /// and not resumed (COFLUX_LATE_RESULTS).
    COFLUX_INLINE void clear_takes_stop() noexcept {
        if constexpr (COFLUX_LATE_RESULTS) control().word.clear(frame_flags::takes_stop);
    }

    /// The coroutine asks for its context: it is an environment for children from now on.
    COFLUX_INLINE environment& open_scope() noexcept {
        frame_control& c = control();
        if (!c.word.has(frame_flags::scope_open)) c.word.set(frame_flags::scope_open);
        this_thread.current = this;
        return *this;
    }

    /// The coroutine waits for the first time: its scope is where the record of that is kept.
    void open_for_waits() noexcept { control().word.set(frame_flags::scope_open); }

    // Defined in core/detail/promise/await.hpp.

    /// Before an await of `child`, a fork: if it is the newest of this worker's forks, and so has not begun, it runs
    /// here and now, nested on this coroutine's stack. True if it has ended there, with a value; else the caller waits
    /// for it as for any fork.
    /// `Given`: it has been given to the operation that this coroutine awaits.
    template <nested_frame Frame, bool Given = false>
    COFLUX_INLINE bool run_fork_nested(frame_control* child) noexcept;
    /// run_fork_nested() for a call, which this coroutine alone knows.
    template <nested_frame Frame>
    COFLUX_INLINE bool run_call_nested(frame_control& callee) noexcept;
    /// Suspends for the end of `child`, which is not done, in a plain await: nested if it has not begun and is the
    /// newest of this worker's forks.
    COFLUX_INLINE std::coroutine_handle<> await_child(frame_control& child) noexcept;
    /// The same by a waiter `w` of this coroutine, which has begun to suspend. Popped, the child is to be transferred
    /// into; else the coroutine is not current any more.
    COFLUX_INLINE join_result await_frame(frame_control& child, waiter& w) noexcept;
    /// await_frame() that leaves the child where it is.
    COFLUX_INLINE join_result await_elsewhere(frame_control& child, waiter& w) noexcept;
    /// await_elsewhere() where other children are waited for, too: the coroutine stays current if it is. `awaiter` is a
    /// waiter, or this coroutine in a plain await.
    template <typename Awaiter>
    COFLUX_INLINE join_result join_frame(frame_control& child, Awaiter& awaiter) noexcept;
    /// Before a wait for `child`, which has not ended: a checked error if that is this coroutine itself.
    void check_not_self(const frame_control& child) noexcept {
        if (&child == &control()) [[unlikely]]
            fail_awaits_itself();
    }
    /// Suspends for the end of a call that has begun.
    std::coroutine_handle<> await_begun(frame_control& callee) noexcept;

    /// Ends the coroutine at the await in whose await_suspend this is called: returns what await_suspend must return.
    std::coroutine_handle<> stop_here() noexcept;

    /// Makes this suspended coroutine end as stopped when it is resumed next.
    void begin_unwind() noexcept;

    /// After the body: no more children; if one is left, the last goes on.
    children_left close_scope() noexcept;
    /// Gives back a count of the children of `of`, a coroutine, which a thread that is none of them has taken. If it
    /// was the last, the coroutine goes on.
    static void release_kept(environment& of) noexcept;
    /// After the last child: a child's unobserved error becomes this coroutine's. Where a stop from above cut a child
    /// off, a value becomes a stop.
    void finish_scope() noexcept;

    // --- the end ---

    // Defined in core/detail/promise/end.hpp.

    /// The body ended with a value, nested on the stack of an awaiter that wants no frame, and no child is left: the
    /// coroutine frees itself.
    [[nodiscard]] COFLUX_INLINE bool frees_itself() noexcept;
    /// Before it frees itself, and its parameters die: they die for its awaiter. `result` waits in the control.
    COFLUX_INLINE void keep_result_and_free(std::uint64_t result) noexcept;
    /// The body ended and control().word.end() says how: waits for the children, then wakes the waiters. Returns the
    /// coroutine that goes on.
    template <ending_kind Kind>
    COFLUX_INLINE std::coroutine_handle<> body_ended() noexcept;

    /// The scope is joined: wakes the waiters. After clear_current().
    std::coroutine_handle<> notify_waiters() noexcept;
    /// Continues `w`, suspended in an await of something that ended so, from a thread that is on executor `here`.
    /// Like resume_from() it returns the coroutine that goes on here, not yet as a transfer.
    static std::coroutine_handle<> wake(promise_base& w, ending end, const void* here) noexcept;

    /// Queues or returns `w` for resumption: here if this is its executor, through its own otherwise.
    static std::coroutine_handle<> resume_from(promise_base& w, const void* here) noexcept;

    /// Frees the frame of a coroutine that ended with a value nested on its awaiter's stack, or never began.
    COFLUX_INLINE static void free_plainly(frame_control& c) noexcept {
        if (const std::size_t size_class = c.word.freed_as(); size_class != 0) [[likely]] {
            deallocate_class(&c, size_class);
        } else {
            destroy_aside(c);
        }
    }
    /// Destroys a frame that ended, and its memory.
    COFLUX_INLINE static void destroy(frame_control& c) noexcept {
        if (c.word.has(frame_flags::destroyed)) [[unlikely]]
            return free_ended(c);
        c.frame().destroy();
    }
    /// destroy() for a fast path, whose registers it keeps.
    COFLUX_ASIDE static void destroy_aside(frame_control& c) noexcept;
    /// The handle of an unfinished or finished coroutine is given up: the frame goes now or when it ends.
    COFLUX_ASIDE static void drop(frame_control& c) noexcept;
    /// drop() where the handle just dies: a checked error if the coroutine borrows, has not ended, and is not joined in
    /// time by itself.
    COFLUX_ASIDE static void drop_checked(frame_control& c) noexcept;
    /// The handle has taken the result of a finished coroutine.
    COFLUX_INLINE static void consumed(frame_control& c) noexcept {
        if (c.join.is_shared()) [[unlikely]]
            return drop_reference(c);
        destroy(c);
    }
    static void drop_reference(frame_control& c) noexcept;
    /// Destroys what ended and was waited for. An error that its awaiter did not come to take is its scope's.
    COFLUX_ASIDE static void discard_ended(frame_control& c) noexcept;
    /// Frees the frames that thread_state::to_free has above `down_to`: before the memory goes away that they may be
    /// in. The loop that is below on this stack frees the others.
    static void free_left_over(const frame_control* down_to) noexcept;

    /// Switches a frame to a list of waiters; only its handle may do so. `extra` references besides handle and
    /// coroutine.
    static void share(frame_control& c, std::uint32_t extra) noexcept;

protected:
    COFLUX_INLINE promise_base(environment& parent, const executor_entry* e, bool starts_inline) noexcept
        : environment(parent, e, starts_inline) {}
    COFLUX_INLINE explicit promise_base(environment& parent) noexcept : environment(parent) {}
    COFLUX_INLINE explicit promise_base(awaiters_environment of) noexcept : environment(of) {}

    /// The coroutine does not begin as a part of its awaiter.
    void take_stops_seen_of_parent() noexcept { own_.stops_seen = parent_->own_.stops_seen & stop_count_mask; }

    // Set by the new coroutine before another thread knows it.
    /// It has a parameter that is borrowed.
    void mark_as_borrowing() noexcept {
        if (!detail::is_lender(*parent_.own())) mark(borrows);
    }
    /// It is a task: its handle waits for it, unless it is made in a coroutine.
    COFLUX_ASIDE void mark_as_task() noexcept;
    /// While it is destroyed, and before what its frame still holds is: a child that the destructors of results and
    /// parameters make is detected. One that is stopped waits for them.
    COFLUX_INLINE void end_scope() noexcept {
        if (!control().word.has(frame_flags::retain)) own_.children.end();
    }

    /// Counts the new coroutine with its parent's children. One that starts inline in its parent's own call is counted
    /// when it suspends: until then the parent cannot end; and one that is queued when it is.
    template <start_kind Kind>
    COFLUX_INLINE void count_in(frame_control& c) noexcept;
    /// Counts the new coroutine, and queues it for its first resumption.
    COFLUX_INLINE void count_and_start(std::coroutine_handle<> h) noexcept;
    /// Queues the new coroutine for its first resumption.
    COFLUX_INLINE void start(std::coroutine_handle<> h) noexcept;

private:
    void mark(std::uint32_t m) noexcept { marks_.store(marks_.load(memory_order_relaxed) | m, memory_order_relaxed); }

    COFLUX_INLINE void start_on(const executor_entry* own, std::coroutine_handle<> h) noexcept;
    COFLUX_INLINE void count_by_owner() noexcept { parent_.own()->own_.children.add_by_owner(); }

    /// True if there may be news of a stop, or the coroutine is still inside the call that made it.
    [[nodiscard]] COFLUX_INLINE bool may_be_stopped(std::uint32_t requests) const noexcept {
        return requests != own_.stops_seen.own();
    }
    [[nodiscard]] COFLUX_INLINE bool may_go_on(std::uint32_t requests) noexcept;
    [[nodiscard]] COFLUX_INLINE bool has_room_for_call() noexcept;
    [[nodiscard]] COFLUX_INLINE bool ended_nested() noexcept;
    template <typename Awaiter>
    static COFLUX_INLINE bool pop_for(frame_control& child, Awaiter& awaiter) noexcept;
    /// True if finish_scope() has something to do.
    [[nodiscard]] COFLUX_INLINE bool has_more_to_finish() const noexcept {
        // relaxed: the child that left a failure, or was cut off, has been released since.
        return (marks_.load(memory_order_relaxed) & (has_failures | has_waits | cut_off)) != 0;
    }
    /// True if the scope, which is open, has children left, or failures of some, or some were cut off.
    [[nodiscard]] COFLUX_INLINE bool has_children() const noexcept {
        return own_.children.may_have_any() || has_more_to_finish();
    }
    COFLUX_INLINE std::coroutine_handle<> notify_waiters_after_clear() noexcept;
    COFLUX_INLINE static std::coroutine_handle<> call_ended(frame_control& c) noexcept;
    COFLUX_INLINE std::coroutine_handle<> ended_as_child(frame_control& c, bool is_own) noexcept;

    /// The call, which has no parent yet, or another one, becomes a part of `caller`.
    COFLUX_INLINE void take_environment_of(promise_base& caller) noexcept {
        // [call.part.record]
        caller.open_for_waits();  // the record of what waits in the call will be the caller's
        // [call.part.parent]
        parent_.become(&caller);
        // [call.part.data]
        data_ = caller.data_;
    }
    /// take_environment_of(), unless the call was made in an environment object that is not above `caller`.
    COFLUX_ASIDE void leave_maker_for(promise_base& caller) noexcept;
    COFLUX_ASIDE void leave_object_for(promise_base& caller) noexcept;
    COFLUX_ASIDE void start_elsewhere(std::coroutine_handle<> h) noexcept;
    COFLUX_ASIDE void begin_slowly(std::coroutine_handle<> h) noexcept;
    COFLUX_COLD void body_failed() noexcept;
    [[noreturn]] COFLUX_COLD void fail_awaits_itself() noexcept;
    COFLUX_ASIDE suspension begin_suspend_slowly() noexcept;
    COFLUX_ASIDE bool must_suspend_first() noexcept;
    COFLUX_ASIDE bool finds_room_for_call() noexcept;
    COFLUX_ASIDE void leave_nested_run() noexcept;
    COFLUX_ASIDE void regain_control() noexcept;
    [[nodiscard]] static bool stays_in(const environment& object, const promise_base& caller) noexcept;
    void leave_inline_start() noexcept;
    void end_inline_start() noexcept;
    static void free_unowned(frame_control& c) noexcept;
    std::coroutine_handle<> await_running(frame_control& child) noexcept;
    std::coroutine_handle<> join_children() noexcept;
    std::coroutine_handle<> hand_over(promise_base& w) noexcept;
    std::coroutine_handle<> end_inline() noexcept;
    COFLUX_ASIDE void count_in_atomically(frame_control& c) noexcept;
    COFLUX_ASIDE void count_and_start_atomically(std::coroutine_handle<> h) noexcept;
    static void free_ended(frame_control& c) noexcept;
};

}  // namespace coflux::detail

// The core's state of each thread.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <type_traits>

#include <coflux/base/config.hpp>
#include <coflux/base/intrusive_list.hpp>
#include <coflux/base/stack.hpp>
#include <coflux/memory/frame_pool.hpp>

namespace coflux {

class environment;

namespace detail {

class event_host;
class thread_driver;
class timer_queue;
class wait_operation;
class promise_base;
class worker;
struct frame_control;
struct stop_walk;

/// A frame that a foreign operation resumes in place of a coroutine. Begins like a coroutine frame of either compiler:
/// the pointers that resume() and destroy() call.
struct proxy_frame {
    void (*resume)(void*);
    void (*destroy)(void*);
    promise_base* coroutine;
    proxy_frame* next = nullptr;  // in thread_state::resumed
};

/// A value in place of an address where the stack has no room; no address of a stack is as high.
enum stack_limit : std::uintptr_t {
    no_room = ~std::uintptr_t{0},  ///< as nested_limit: a nested run has suspended, and control is not back
    nested_closed = no_room - 1,   ///< none has, and none of a fork may begin
};

/// A fork or task that a coroutine has made in the environment that it was itself made in, and that no operation has
/// taken over yet.
struct untold_sibling {
    const frame_control* frame = nullptr;  ///< not to be looked at: it may be gone; nullptr: there is none
    const environment* maker = nullptr;
    std::source_location made_at;  ///< where it is defined
    std::source_location maker_at;
};

/// State of one thread; trivially destructible, so that access needs no guard.
struct thread_state {
    /// The coroutine that runs on this thread right now, or nullptr. Never names a coroutine that runs elsewhere: it
    /// distinguishes a parent's own creations, which need no atomic, from those of another coroutine
    /// (docs/design/environment.md).
    const environment* current;
    /// A coroutine whose call an inline start left in place of an end: `current` again when control goes back to it.
    const environment* below;
    /// The worker that this thread is, or nullptr.
    worker* queues;
    const void* executor;   ///< that of `queues`, or nullptr
    timer_queue* timers;    ///< the timers that this thread looks at, or nullptr
    event_host* events;     ///< the event source that this thread looks at, or nullptr
    thread_driver* driver;  ///< what this thread's blocking waits and clock go through, or nullptr: the system
    void* next;             ///< frame that the loop below on this stack resumes next
    unsigned transfers;     ///< transfers since that loop had control; only where tail calls are not guaranteed
    bool looping;           ///< a loop below on this stack will resume `next`
    /// Woken waits of coroutines that no executor runs, oldest first: the outermost loop on this stack resumes them.
    intrusive_chain<wait_operation> woken;
    intrusive_chain<proxy_frame> resumed;  ///< coroutines that a foreign operation resumed while `next` was taken
    stop_walk* stopping;  ///< a stop request further down this stack, which takes over what requests here have claimed
    /// How far down the stack an await may begin a child nested on its coroutine. Nowhere outside workers, and from
    /// where a coroutine that began so suspends until control is back with the code below it
    /// (docs/design/fork_join.md).
    std::uintptr_t nested_limit = no_room;
    std::uintptr_t open_nested_limit = no_room;  ///< `nested_limit` where no coroutine has suspended
    /// Where an await may also begin a call so, outside workers: on the thread's own stack. Empty until a call asks,
    /// and while nested_limit is no_room or a creator is `below`.
    stack_window calls;
    /// How far down the stack a coroutine may begin in the call that makes it; no_room until the first one asks.
    std::uintptr_t room_to_begin = no_room;
    stack_bounds stack;  ///< the thread's own; nothing until the first coroutine asks. Coroutines may run on another.
    /// Coroutines that found no such room, youngest first: the outermost loop on this stack begins them. In `resumed`
    /// while it has any.
    proxy_frame begins{nullptr, nullptr, nullptr};
    /// Frames whose last handle died where the stack had no room: the code that frees a frame further up frees them,
    /// too.
    frame_control* to_free = nullptr;
    bool frees = false;  ///< a handle further up the stack frees a frame
    // For messages, where no coroutine is current:
    const frame_control* ends = nullptr;   ///< the coroutine whose end runs code of users: callbacks, destructors
    const environment* ends_in = nullptr;  ///< its parent; has a value while `ends` has
    bool keeps_timers = false;             ///< the thread of the timers: a blocking wait there may wait for itself
    // Without NDEBUG, for note_sibling():
    const environment* begun = nullptr;  ///< a coroutine that has begun here and awaited nothing yet
    std::source_location begun_at;       ///< where that is
    untold_sibling sibling;              ///< what such a coroutine has made last
    const environment* meant = nullptr;  ///< what outer() has named
    /// Identities of the priorities of the pool whose worker this thread is: executors without queues and timers of
    /// their own.
    const void* priorities[2] = {};

    /// No coroutine may begin nested, until control is back further down this stack.
    void close_nested(stack_limit why) noexcept {
        nested_limit = why;
        calls = {};
    }

    /// True if the coroutines of the executor with this identity may wait in `timers` and `events`.
    [[nodiscard]] bool serves(const void* identity) const noexcept {
        return identity == executor ||
               (identity != nullptr && (identity == priorities[0] || identity == priorities[1]));
    }
};

COFLUX_SHARED inline constinit thread_local thread_state this_thread{};

/// Without NDEBUG: an operation takes `c` over, and a stop reaches it there: what was noted of it is no mistake.
COFLUX_INLINE void note_taken_over([[maybe_unused]] const frame_control& c) noexcept {
#ifndef NDEBUG
    if (this_thread.sibling.frame == &c) [[unlikely]]
        this_thread.sibling = {};
#endif
}
/// Without NDEBUG: tells on stderr of what this thread has noted, once for each place, and forgets it.
COFLUX_COLD void tell_of_sibling() noexcept;

/// The result of the coroutine that has just freed itself nested on its awaiter's stack.
COFLUX_INLINE std::uint64_t& thread_result() noexcept {
    return this_frame_cache.word_left;
}

static_assert(std::is_trivially_destructible_v<thread_state>);

}  // namespace detail
}  // namespace coflux

// Recursions on the thread's stack that become loops where that has no room: coroutines that begin in
// the calls that make them, and frames that hold the last handle of other frames.
//
// The page docs/design/fork_join.md has the argument.
#include <coflux/core/detail/promise/promise_base.hpp>

#include <algorithm>
#include <utility>

#include "core/detail/scope/environment_tree.hpp"

namespace coflux::detail {
namespace {

/// The answer of promise_base::has_room_to_begin() for a caller that found none: the room may not have been known yet,
/// or this is not the thread's own stack, of which nothing is known.
bool has_room_after_all() noexcept {
    thread_state& t = this_thread;
    if (t.room_to_begin == no_room) {
        t.stack = bounds_of_this_stack();
        t.room_to_begin = t.stack.room();
    }
    return promise_base::has_room_to_begin() || !t.stack.has(stack_address());
}

/// A root is made by code that is no coroutine, as a destructor: it cannot wait for what begins later.
bool is_of_a_root(const promise_base& p) noexcept {
    const environment& e = *p.parent();
    return environment_tree::is_object(e) && environment_tree::owner(e) == nullptr;
}

}  // namespace

/// An await of this coroutine finds no room for a call: true if there is some after all, because no loop of a worker is
/// on this stack, and nothing on it waits for control.
bool promise_base::finds_room_for_call() noexcept {
    thread_state& t = this_thread;
    if (t.open_nested_limit < nested_closed || t.below != nullptr) return false;
    if (t.open_nested_limit == no_room) t.open_nested_limit = t.nested_limit = nested_closed;  // the first that asks
    // A call that has come to the end of the window in nested runs goes on by transfer.
    if (t.nested_limit == no_room || control().word.has(frame_flags::inline_start) || control().join.is_nested())
        return false;
    const std::uintptr_t at = stack_address();
    if (!has_room_after_all() || !t.stack.has(at)) return false;
    const std::uintptr_t low = std::max(at - stack_for_awaits, t.room_to_begin);
    t.calls = {low, t.stack.high - low};
    return true;
}

/// Where a loop is below, it begins the coroutines that found no room, once control is back with it: with its
/// parent, which awaits it or has ended. Where no loop is below, the coroutine begins here, below a loop of its
/// own: what it makes in turn has that loop.
void promise_base::begin_slowly(std::coroutine_handle<> h) noexcept {
    if (has_room_after_all() || is_of_a_root(*this)) return run(h);
    thread_state& t = this_thread;
    const executor_entry* const own = runs_on();
    const bool at_home = own == nullptr || own->identity == t.executor;
    if (at_home && !t.looping) return run_aside(h);
    frame_control& c = control();
    c.where = std::source_location();  // the owner of the handle may ask before its first await
    end_inline_start();
    if (!at_home) return own->post(h);
    if (t.begins.coroutine == nullptr) resume_by_loop(t.begins);
    next_to_begin_ = std::exchange(t.begins.coroutine, this);
}

void promise_base::free_unowned(frame_control& c) noexcept {
    thread_state& t = this_thread;
    if (t.frees) {
        if (has_room_to_begin() || has_room_after_all()) [[likely]]
            return destroy(c);
        c.join.set_next_to_free(t.to_free);
        t.to_free = &c;
        return;
    }
    t.frees = true;
    destroy(c);
    free_left_over(nullptr);
    t.frees = false;
}

void promise_base::free_left_over(const frame_control* down_to) noexcept {
    thread_state& t = this_thread;
    while (t.to_free != nullptr && t.to_free != down_to) {
        frame_control& c = *t.to_free;
        t.to_free = c.join.next_to_free();
        destroy(c);
    }
}

}  // namespace coflux::detail

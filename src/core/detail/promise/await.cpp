// The slow paths of an await: the nested run that is left, the wait for what runs elsewhere, and handles that are used
// wrongly.
#include <coflux/core/detail/promise/await.hpp>

#include <source_location>

#include <coflux/base/assert.hpp>
#include <coflux/base/no_coroutine.hpp>

#include "core/detail/readable_name.hpp"
#include "core/detail/scope/environment_tree.hpp"

namespace coflux::detail {

suspension promise_base::begin_suspend_slowly() noexcept {
    if (control().word.has(frame_flags::inline_start)) {
        leave_inline_start();
        // No coroutine may run in the call that made it.
        if (this_thread.nested_limit != no_room) this_thread.close_nested(nested_closed);
    }
    // [nested.begin_suspend_slowly.leaves]
    if (control().join.is_nested()) leave_nested_run();
    return is_stop_requested() ? suspension::stop : suspension::proceed;
}

/// A coroutine that started inline suspends, or ends in another way than at once with a value: from now on it is
/// like any other.
void promise_base::leave_inline_start() noexcept {
    end_inline_start();
    // The coroutine in whose call we run: it is current again when control goes back to it.
    if (control().word.is_counted_by_owner()) this_thread.below = parent_.get();
}

void promise_base::end_inline_start() noexcept {
    frame_control& c = control();
    c.word.clear(frame_flags::inline_start);
    c.join.begin();
    own_.stops_seen = own_.stops_seen & stop_count_mask;
    // The parent is below us on this stack.
    if (c.word.is_counted_by_owner()) parent_->own_.children.add_by_owner();
}

/// True if a call that was made in `object` stays there, where `caller` awaits it: a stop of `object`, its deadline and
/// its memory are not all above `caller`.
bool promise_base::stays_in(const environment& object, const promise_base& caller) noexcept {
    if (environment_tree::owner(object) == &caller) return true;  // as most are: it is below
    if (object.is_of_generator()) return false;                   // which has none of its own
    for (const environment_data* above = &caller.data(); above != nullptr; above = above->around) {
        // [call.stays_in.above]
        if (above == &data_of(object)) return false;
    }
    // [call.stays_in.beside]
    return true;
}

environment& promise_base::home(promise_base& caller) const noexcept {
    if (parent_.is_none() || !environment_tree::is_object(*parent_) || parent_->is_of_generator()) return caller;
    return stays_in(*parent_, caller) ? *parent_ : caller;
}

void promise_base::leave_maker_for(promise_base& caller) noexcept {
    if (environment_tree::is_object(*parent_)) return leave_object_for(caller);  // last: so this needs no stack frame
    take_environment_of(caller);
}

void promise_base::leave_object_for(promise_base& caller) noexcept {
    // [call.leaves.stays]
    if (stays_in(*parent_, caller)) return take_stops_seen_of_parent();
    take_environment_of(caller);
}

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
    this_thread.close_nested(no_room);
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
    if (join_frame(child, *this) == join_result::registered) return no_coroutine();
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

// --- handles that are used wrongly

namespace {

[[noreturn]] COFLUX_COLD void fail_at(const std::source_location& at, const char* expression,
                                      const char* message) noexcept {
    fail(at.file_name(), static_cast<int>(at.line()), expression, "%s", message);
}

}  // namespace

namespace {

/// Where the coroutine of this thread awaits something, or did last; nothing if there is none.
std::source_location location_of_current() noexcept {
    const environment* const e = this_thread.current;
    return e == nullptr || environment_tree::is_object(*e)
               ? std::source_location()
               : environment_tree::coroutine(*const_cast<environment*>(e)).control().location();
}

constexpr const char* used_up =
    "a handle was used after it was awaited, moved from or attached, or before it had a coroutine";

}  // namespace

void fail_empty() noexcept {
    const std::source_location last = location_of_current();
    if (last.line() != 0) fail_at(last, "valid(), after the coroutine's await at this location", used_up);
    fail(__FILE__, __LINE__, "valid()", "%s", used_up);
}

void fail_empty(promise_base& p, std::source_location where) noexcept {
    p.set_await_location(where);  // the back-trace is to begin here, and not at the last await that was right
    fail_at(where, "valid(), of what is awaited", used_up);
}

void fail_awaited_twice(promise_base& p) noexcept {
    fail_at(p.control().location(), "!done()", "a call was awaited twice");
}

}  // namespace coflux::detail

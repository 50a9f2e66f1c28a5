// The slow paths of a coroutine's start, and its handles.
//
// The page docs/design/fork_join.md has the states and the argument.
#include <coflux/core/detail/promise/promise_base.hpp>

#include "core/detail/readable_name.hpp"
#include "core/detail/scope/environment_tree.hpp"
#include "core/detail/scope/scope_children.hpp"
#include "core/detail/scope/scope_failures.hpp"

namespace coflux::detail {

void promise_base::destroy_aside(frame_control& c) noexcept {
    destroy(c);
}

void promise_base::start_elsewhere(std::coroutine_handle<> h) noexcept {
    runs_on()->post(h);
}

suspension promise_base::begin_suspend_slowly() noexcept {
    if (control().word.has(frame_flags::inline_start)) {
        leave_inline_start();
        // No coroutine may run in the call that made it.
        if (this_thread.nested_limit != no_room) this_thread.nested_limit = nested_closed;
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

void promise_base::count_in_atomically(frame_control& c) noexcept {
    if (scope_children::add_atomically(*parent_) == child_added::too_late) [[unlikely]] {
        const std::source_location at = c.location();
        fail(__FILE__, __LINE__, "open()",
             "%s was made in the environment of a coroutine that has ended, or in one that has been joined: by the "
             "destructor of a parameter or of a result? Those outlive the scope",
             readable_name(at.function_name()).c_str());
    }
    if (c.word.has(frame_flags::listed)) scope_children::list(*parent_, c);
}

void promise_base::count_and_start_atomically(std::coroutine_handle<> h) noexcept {
    frame_control& c = control();
    c.word.count_atomically();
    count_in_atomically(c);
    start(h);
}

void promise_base::drop(frame_control& c) noexcept {
    switch (c.join.detach()) {
    case handle_end::shared: return drop_reference(c);
    case handle_end::untaken: return discard_ended(c);
    case handle_end::runs: return;
    case handle_end::ended: return free_unowned(c);
    }
}

void promise_base::drop_checked(frame_control& c) noexcept {
    if (c.join.may_run() && (of(c).marks_.load(memory_order_relaxed) & borrows) != 0) [[unlikely]] {
        const std::source_location at = c.location();
        fail(
            __FILE__, __LINE__, "done()",
            "the handle of a coroutine that borrows died before the coroutine has ended: %s, at %s:%u. What it borrows "
            "(coflux::borrowed, or the object of a member function) may die next: make it in the scope of a "
            "coflux::with_scope, await it, or say .attach() if that outlives the scope that the coroutine belongs to",
            readable_name(at.function_name()).c_str(), at.file_name(), static_cast<unsigned>(at.line()));
    }
    drop(c);
}

void promise_base::mark_as_task() noexcept {
    if (environment_tree::is_object(*parent_) && environment_tree::owner(*parent_) == nullptr) mark(is_root);
}

void promise_base::discard_ended(frame_control& c) noexcept {
    if (c.word.has(frame_flags::has_error) && !c.error->observed()) scope_failures::record(*of(c).parent(), *c.error);
    destroy(c);
}

void promise_base::drop_reference(frame_control& c) noexcept {
    // acq_rel pairs with the other drops: the thread that frees sees all uses.
    // [join.drop_reference]
    if (c.references().fetch_sub(1, memory_order_acq_rel) == 1) free_unowned(c);
}

void promise_base::share(frame_control& c, std::uint32_t extra) noexcept {
    // [nested.shares.parent]
    c.join.share(c.references(), extra, [&c]() noexcept { of(c).parent_.share(); });
}

}  // namespace coflux::detail

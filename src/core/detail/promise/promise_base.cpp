// The slow paths of a coroutine's start and awaits, and its handles; its end is in completion.cpp.
//
// The page docs/design/fork_join.md has the states and the argument.
#include <coflux/core/detail/promise/promise_base.hpp>

#include "core/detail/readable_name.hpp"
#include "core/detail/scope/environment_access.hpp"

namespace coflux::detail {

using frame_state::tags;

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
    if (control().is_nested()) leave_nested_run();
    return is_stop_requested() ? suspension::stop : suspension::proceed;
}

/// There is news of stops somewhere: true if this coroutine may be told to stop, or if it is still inside the call that
/// made it. What it awaits must not run in that call.
bool promise_base::must_suspend_first() noexcept {
    return control().word.has(frame_flags::inline_start) || is_stop_requested();
}

/// A coroutine that began nested on its awaiter's stack suspends. From now on it is like any other: control goes back
/// to the awaiter, which waits for it as it would for any other.
void promise_base::leave_nested_run() noexcept {
    frame_control& c = control();
    // relaxed: a thread that comes to know the coroutine does so by what this thread publishes later.
    c.state.store(0, memory_order_relaxed);
    // The caller of a call may be told while it still goes to sleep.
    if (c.word.counted() == counting::none) c.word.set(frame_flags::moved);
    this_thread.nested_limit = no_room;
}

/// What began nested on this coroutine's stack has suspended, and this coroutine runs again.
void promise_base::regain_control() noexcept {
    this_thread.current = this;
    this_thread.nested_limit = this_thread.open_nested_limit;
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
    c.begin_as(0);
    own_.stops_seen = own_.stops_seen & stop_count_mask;
    // The parent is below us on this stack.
    if (c.word.is_counted_by_owner() && ++parent_->own_.children == 0) fold_children();
}

void promise_base::fold_children() noexcept {
    environment& e = *parent_;
    e.remaining_.fetch_add(scope_fold, memory_order_relaxed);  // pairs with nothing: the sum of both counts stays
    e.own_.children = -scope_fold;
}

environment& promise_base::home(promise_base& caller) const noexcept {
    return environment_access::is_object(*parent_) && !parent_->is_of_generator() ? *parent_ : caller;
}

void promise_base::set_caller(promise_base& caller) noexcept {
    if (environment& in = home(caller); &in != &caller && &in != caller.parent()) return;
    caller.open_for_waits();  // the record of what waits in the call will be the caller's
    parent_.become(&caller);
    data_ = caller.data_;
    own_.stops_seen = caller.own_.stops_seen & stop_count_mask;
}

void promise_base::count_in_atomically(frame_control& c) noexcept {
    if (environment_access::take_tickets(*parent_) == 0) [[unlikely]] {
        const std::source_location at = c.location();
        fail(
            __FILE__, __LINE__, "open()",
            "%s was made in the environment of a coroutine that has ended, or in one that has been joined: by the destructor of a "
            "parameter or of a result? Those outlive the scope",
            readable_name(at.function_name()).c_str());
    }
    if (c.word.has(frame_flags::listed)) environment_access::list(*parent_, c);
}

void promise_base::count_and_start_atomically(std::coroutine_handle<> h) noexcept {
    frame_control& c = control();
    c.word.count_atomically();
    count_in_atomically(c);
    start(h);
}

namespace {

/// What `p` awaits ended while it went to sleep.
COFLUX_COLD std::coroutine_handle<> goes_on(promise_base& p, ending end) noexcept {
    this_thread.current = &p;
    return transfer(promise_base::wake(p, end, identity_of(p.runs_on())));
}

}  // namespace

/// After clear_current().
std::coroutine_handle<> promise_base::await_elsewhere(frame_control& child) noexcept {
    check_not_self(child);
    std::uintptr_t s = 0;
    // release: the child's end sees this coroutine suspended; acquire: if it has ended, its result is visible.
    if (child.state.compare_exchange_strong(s, reinterpret_cast<std::uintptr_t>(this) | frame_state::direct,
                                            memory_order_acq_rel, memory_order_acquire)) {
        return std::noop_coroutine();
    }
    return goes_on(*this, child.word.end());
}

std::coroutine_handle<> promise_base::await_begun(frame_control& callee) noexcept {
    (void)begin_suspend();  // a stop comes too late: the call has begun, gets the stop itself, and has no other waiter
    clear_current();
    return await_elsewhere(callee);
}

std::coroutine_handle<> promise_base::wake(promise_base& w, ending end, const void* here) noexcept {
    if (end == ending::stopped && !w.control().word.has(frame_flags::takes_stop)) w.begin_unwind();
    return resume_from(w, here);
}

std::coroutine_handle<> promise_base::resume_from(promise_base& w, const void* here) noexcept {
    const executor_entry* const own = w.runs_on();
    if (own == nullptr || own->identity == here) return w.handle();
    own->post(w.handle());
    return std::noop_coroutine();
}

void promise_base::drop(frame_control& c) noexcept {
    std::uintptr_t s = c.state.load(memory_order_acquire);  // pairs with the fetch_or of tell()
    if ((s & frame_state::list) != 0) return drop_reference(c);
    if (c.is_untaken()) return discard_ended(c);
    if ((s & frame_state::done) == 0) {
        // acq_rel: either the end sees `detached` and frees, or we see `done` and all it wrote, and free.
        s = c.state.fetch_or(frame_state::detached, memory_order_acq_rel);
        if ((s & frame_state::done) == 0) return;
    }
    free_unowned(c);
}

void promise_base::drop_checked(frame_control& c) noexcept {
    // acquire pairs with the fetch_or of tell(): if it has ended, it looks at nothing any more.
    if ((c.state.load(memory_order_acquire) & frame_state::done) == 0 && !c.is_untaken() &&
        (of(c).marks_.load(memory_order_relaxed) & borrows) != 0) [[unlikely]] {
        const std::source_location at = c.location();
        fail(
            __FILE__, __LINE__, "done()",
            "the handle of a coroutine that borrows died before the coroutine has ended: %s, at %s:%u. What it borrows "
            "(coflux::borrowed) may die next: make it in the scope of a coflux::with_scope, await it, or say .attach() if that "
            "outlives the scope that the coroutine belongs to",
            readable_name(at.function_name()).c_str(), at.file_name(), static_cast<unsigned>(at.line()));
    }
    drop(c);
}

void promise_base::mark_as_task() noexcept {
    if (environment_access::is_object(*parent_) && environment_access::owner(*parent_) == nullptr) mark(is_root);
}

void promise_base::discard_ended(frame_control& c) noexcept {
    if (c.word.has(frame_flags::has_error) && !c.error->observed())
        environment_access::record(*of(c).parent(), *c.error);
    destroy(c);
}

void promise_base::drop_reference(frame_control& c) noexcept {
    // acq_rel pairs with the other drops: the thread that frees sees all uses.
    if (c.references().fetch_sub(1, memory_order_acq_rel) == 1) free_unowned(c);
}

void promise_base::share(frame_control& c, std::uint32_t extra) noexcept {
    std::uintptr_t s = c.state.load(memory_order_acquire);  // pairs with the fetch_or of tell()
    if ((s & frame_state::list) != 0) {
        c.references().fetch_add(extra, memory_order_relaxed);
        return;
    }
    if ((s & frame_state::done) != 0) {
        c.references().store(1 + extra,
                             memory_order_relaxed);  // pairs with nothing: only the handle can reach the frame
        c.state.fetch_or(frame_state::list,
                         memory_order_release);  // pairs with the loads of the threads that share the handle
        return;
    }
    of(c).parent_.share();
    c.references().store(2 + extra, memory_order_relaxed);          // published by the fetch_or
    s = c.state.fetch_or(frame_state::list, memory_order_acq_rel);  // pairs with the fetch_or of tell()
    if ((s & frame_state::done) != 0)
        c.references().fetch_sub(1, memory_order_relaxed);  // it ended without seeing the list
}

bool promise_base::add_waiter(frame_control& c, waiter& w) noexcept {
    std::uintptr_t s = c.state.load(memory_order_acquire);  // pairs with the fetch_or of tell()
    while ((s & frame_state::done) == 0) {
        w.next = reinterpret_cast<waiter*>(pointer_of(s));
        // release: the end sees the waiter; acquire: if the coroutine has ended, its result is visible.
        if (c.state.compare_exchange_weak(s, reinterpret_cast<std::uintptr_t>(&w) | (s & tags), memory_order_acq_rel,
                                          memory_order_acquire))
            return true;
    }
    return false;
}

}  // namespace coflux::detail

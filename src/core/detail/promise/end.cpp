// The end of a coroutine: waiting for children, waking waiters, giving up handles; and that of a stopped one.
//
// The page docs/design/fork_join.md has the states and the argument. The order within one end is always: unlist,
// publish, callbacks, wake, release from the parent's count. After a waiter is woken the frame may be gone; after the
// release the parent may be gone, and all that its environment names.
#include <coflux/core/detail/promise/end.hpp>

#include <exception>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/base/no_coroutine.hpp>
#include <coflux/core/detail/thread/thread_state.hpp>

#include "core/detail/readable_name.hpp"
#include "core/detail/scope/environment_tree.hpp"
#include "core/detail/scope/scope_children.hpp"
#include "core/detail/scope/scope_failures.hpp"
#include "core/detail/scope/scope_stops.hpp"
#include "core/detail/wait/wait_records.hpp"

namespace coflux::detail {
namespace {

/// While it lives, code of users runs for the end of `c`, child of `parent`: messages name it.
class end_for_messages {
public:
    end_for_messages(const frame_control& c, const environment* parent) noexcept
        : ends_(std::exchange(this_thread.ends, &c)),
          ends_in_(std::exchange(this_thread.ends_in, parent)) {}
    ~end_for_messages() {
        this_thread.ends = ends_;
        this_thread.ends_in = ends_in_;
    }
    end_for_messages(const end_for_messages&) = delete;
    end_for_messages& operator=(const end_for_messages&) = delete;

private:
    const frame_control* ends_;
    const environment* ends_in_;
};

/// Collects the coroutines that go on: the first on this thread, the rest through their own executors. Where a
/// coroutine that awaits another one is below, all of them go through their executors.
class successors {
public:
    COFLUX_NOINLINE void add(std::coroutine_handle<> h) noexcept {
        if (h == no_coroutine()) return;
        promise_base& w = promise_base::of(frame_control::of(h));
        const bool in_an_await = this_thread.nested_limit != this_thread.open_nested_limit && w.runs_on() != nullptr;
        if (!found_ && !in_an_await) {
            first_ = h;
            found_ = true;
            return;
        }
        if (w.runs_on() != nullptr) {
            w.runs_on()->post(h);
        } else {
            run_next(h);
        }
    }
    [[nodiscard]] std::coroutine_handle<> first() const noexcept { return first_; }

private:
    std::coroutine_handle<> first_ = no_coroutine();
    bool found_ = false;
};

// Out of line: in position-independent code notify_end() would keep the address of this_thread in a register.
COFLUX_NOINLINE void destroy_at_end(frame_control& c, const environment* parent) noexcept {
    const end_for_messages named(c, parent);
    promise_base::destroy(c);
}
COFLUX_NOINLINE void call_back(waiter& w, frame_control& c, environment* parent, const void* here) noexcept {
    const end_for_messages named(c, parent);
    w.scope = parent;
    w.ended(w, c, here);
}

waiter* oldest_first(waiter* youngest) noexcept {
    waiter* oldest = nullptr;
    while (youngest != nullptr) {
        waiter* const next = youngest->next;
        youngest->next = oldest;
        oldest = youngest;
        youngest = next;
    }
    return oldest;
}

void append(waiter*& first, waiter* behind) noexcept {
    waiter** link = &first;
    while (*link != nullptr) link = &(*link)->next;
    *link = behind;
}

/// True if the child was the last of a scope that is closed: that scope is complete.
bool release_from(environment& e) noexcept {
    return scope_children::count(e).release() == children_left::none;
}

/// Releases a child of `parent`; returns the coroutine whose scope this completes, if there is one.
environment* release(counting counted, environment* parent, successors& next, const void* here) noexcept {
    if (counted == counting::none) return nullptr;
    if (!environment_tree::is_object(*parent)) return release_from(*parent) ? parent : nullptr;
    // A child of an environment object is counted in other scopes, too. It is released from the lowest up: each count
    // keeps the scopes above it alive. At most one coroutine is completed: while a generator has not ended, its
    // consumer, or a count of its own, holds the rest.
    environment* completed = nullptr;
    for (environment* e = parent; e != nullptr;) {
        environment* const above = scope_children::counted_with(*e);  // first: it may be gone afterwards
        const bool object = environment_tree::is_object(*e);
        if (release_from(*e)) {
            if (object) {
                promise_base& joiner = *scope_children::joiner(*e);
                if (scope_children::end_join(*e)) next.add(promise_base::resume_from(joiner, here));
            } else {
                COFLUX_VERIFY(completed == nullptr, "an async_generator outlived what its environment belongs to");
                completed = e;
            }
        }
        e = above;
    }
    return completed;
}

/// The awaiters that the end of a coroutine wakes.
struct awaiters {
    promise_base* coroutine = nullptr;       // the one in a plain await
    waiter* waiters = nullptr;               // or these, oldest first
    const environment* suspended = nullptr;  // the only one that waits, if that is a coroutine
};

/// Calls the callbacks among the waiters of `c`, `youngest` first, and returns the rest, oldest first.
waiter* call_back_first(waiter* youngest, frame_control& c, environment* parent, const void* here) noexcept {
    waiter* woken = oldest_first(youngest);
    for (waiter** link = &woken; *link != nullptr;) {
        waiter* const w = *link;
        if (!w->first) {
            link = &w->next;
            continue;
        }
        *link = w->next;
        call_back(*w, c, parent, here);
    }
    return woken;
}

/// Publishes that `c`, child of `parent`, has ended. Returns what is to be woken; if that is nothing, `c` may be gone.
awaiters publish_end(frame_control& c, environment* parent, const void* here) noexcept {
    const ending end = c.word.end();
    const join_snapshot seen = c.join.end([&]() noexcept {
        if (end == ending::value || c.word.counted() == counting::none) return;
        if (end == ending::error) {
            scope_failures::record(*parent, *c.error, promise_base::of(c).is_given_away());
        } else {
            scope_stops::record_unshared(*parent, promise_base::of(c));
        }
    });
    // The handle may die unawaited if its owner is stopped, too: drop() must then see that the coroutine has ended. A
    // plain await needs that only then: its awaiter takes the result, and itself, from the word.
    switch (seen.by()) {
    case awaited_by::nothing: return {};
    case awaited_by::detached: return destroy_at_end(c, parent), awaiters();
    case awaited_by::coroutine:
        if (end == ending::stopped) c.join.forget_awaiter();
        return {seen.coroutine(), nullptr, seen.coroutine()};
    case awaited_by::waiter:
        c.join.forget_awaiter();
        seen.youngest()->next = nullptr;
        return {nullptr, seen.youngest(), seen.youngest()->coroutine};
    case awaited_by::list: {
        waiter* waiters = call_back_first(seen.youngest(), c, parent, here);
        append(waiters, oldest_first(c.join.end_callbacks()));
        if (waiters == nullptr) scope_stops::record_shared(*parent, c);
        promise_base::drop_reference(c);  // the coroutine's own; each waiter holds another
        return {nullptr, waiters, nullptr};
    }
    }
    return {};
}

/// Notifies the waiters, the callbacks and the parent that coroutine `c`, child of `parent`, ended. Then does so for
/// each scope that this completes. `here` is the identity of the executor that this thread is on. Returns the
/// coroutine that goes on here. After clear_current().
std::coroutine_handle<> notify_end(frame_control* c, environment* parent, const void* here) noexcept {
    successors next;
    for (;;) {
        const frame_word word = c->word;
        if (word.has(frame_flags::listed)) scope_children::unlist(*parent, *c);
        const awaiters woken = publish_end(*c, parent, here);

        // Where the parent is suspended in the await of this child, the child is released before the parent is woken;
        // else after the waiters: until then the parent, and all that its environment names, is alive.
        counting to_release = word.counted();
        if (to_release == counting::by_owner && woken.suspended == parent) {
            scope_children::count(*parent).release_by_owner();
            to_release = counting::none;
        }
        if (woken.coroutine != nullptr) next.add(promise_base::wake(*woken.coroutine, word.end(), here));
        for (waiter* w = woken.waiters; w != nullptr;) {
            waiter* const behind = w->next;  // first: it may be gone afterwards
            next.add(w->ended(*w, *c, here));
            w = behind;
        }

        environment* const completed = release(to_release, parent, next, here);
        if (completed == nullptr) return next.first();
        promise_base& scope = environment_tree::coroutine(*completed);
        if (scope.control().word.has(frame_flags::unwinding)) {
            next.add(promise_base::resume_from(scope, here));  // its locals die on its own executor
            return next.first();
        }
        scope.finish_scope();
        c = &scope.control();
        parent = scope.parent();
    }
}

/// A destructor threw while a stopped coroutine's locals die: as in the unwinding of an exception, nothing can be done.
[[noreturn]] void fail_in_unwinding(const frame_control& c) noexcept {
    const readable_name name(c.location().function_name());
    try {
        throw;
    } catch (const std::exception& e) {
        fail(__FILE__, __LINE__, "noexcept", "a destructor threw while %s was being stopped: %s", name.c_str(),
             e.what());
    } catch (...) {
        fail(__FILE__, __LINE__, "noexcept", "a destructor threw while %s was being stopped", name.c_str());
    }
}

}  // namespace

void promise_base::body_failed() noexcept {
    frame_control& c = control();
    if (c.word.has(frame_flags::unwinding)) fail_in_unwinding(c);
    // A coroutine that ends nested on its awaiter's stack ends with a value.
    // [nested.fails.leaves]
    if (!c.word.has(frame_flags::inline_start) && c.join.is_nested()) leave_nested_run();
    // Only a root: others have no location before their first await.
    failure* const f = current_failure(c.word.has(frame_flags::listed) ? c.location() : std::source_location());
    c.word.set_end(ending::error);
    c.word.set(frame_flags::has_error);  // first: a listing of the living must not take the error for a location
    c.error = f;
}

children_left promise_base::close_scope() noexcept {
    return control().word.has(frame_flags::scope_open) ? own_.children.close() : children_left::none;
}

void promise_base::finish_scope() noexcept {
    frame_control& c = control();
    if (!c.word.has(frame_flags::scope_open) || !has_more_to_finish()) return;
    wait_records::end(*this);
    const bool is_cut_off = scope_stops::take(*this);
    if (scope_failures::has_any(*this)) {
        failure* const own = c.word.end() == ending::error ? c.error : nullptr;
        if (failure* const f = scope_failures::collect(*this, own)) {
            c.word.set_end(ending::error);
            c.word.set(frame_flags::has_error);
            c.error = f;
        }
    }
    if (is_cut_off && c.word.ended_with_value()) c.word.set_end(ending::stopped);  // the value dies with the frame
}

std::coroutine_handle<> promise_base::join_children() noexcept {
    // [nested.joins.suspends]
    (void)begin_suspend();  // no longer inline; a stop comes too late
    clear_current();
    if (close_scope() == children_left::some) return no_coroutine();
    finish_scope();
    clear_current();
    return transfer(notify_waiters());
}

std::coroutine_handle<> promise_base::notify_waiters() noexcept {
    return notify_end(&control(), parent_.get(), identity_of(runs_on()));
}

/// The end of a coroutine whose awaiter may be at home on another executor: this thread may have no coroutine to run.
std::coroutine_handle<> promise_base::hand_over(promise_base& w) noexcept {
    const void* const here = identity_of(runs_on());
    clear_current();
    return transfer(resume_from(w, here));
}

std::coroutine_handle<> promise_base::end_inline() noexcept {
    leave_inline_start();
    clear_current();
    return transfer(notify_waiters());
}

void promise_base::release_kept(environment& of) noexcept {
    if (!release_from(of)) return;
    thread_state& t = this_thread;
    const environment* const current = t.current;
    const environment* const below = std::exchange(t.below, nullptr);
    t.current = nullptr;
    promise_base& p = environment_tree::coroutine(of);
    std::coroutine_handle<> next = no_coroutine();
    if (p.control().word.has(frame_flags::unwinding)) {
        next = resume_from(p, nullptr);
    } else {
        p.finish_scope();
        next = notify_end(&p.control(), p.parent(), nullptr);
    }
    if (next != no_coroutine()) run_next(next);
    t.current = current;
    t.below = below;
}

std::coroutine_handle<> promise_base::wake(promise_base& w, ending end, const void* here) noexcept {
    if (end == ending::stopped && !w.control().word.has(frame_flags::takes_stop)) w.begin_unwind();
    return resume_from(w, here);
}

std::coroutine_handle<> promise_base::resume_from(promise_base& w, const void* here) noexcept {
    const executor_entry* const own = w.runs_on();
    if (own == nullptr || own->identity == here) return w.handle();
    own->post(w.handle());
    return no_coroutine();
}

// --- a handle that is given up, and the frame then

void promise_base::destroy_aside(frame_control& c) noexcept {
    destroy(c);
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

void consume_error(frame_control& c) {
    failure* const f = c.error;
    f->retain();
    promise_base::consumed(c);
    f->rethrow();
}

// --- the end of a stopped coroutine: its body is unwound, once its children have ended
//
// A resumption of a suspended coroutine calls the first word of its frame. A stop puts a function of this file there:
//
//     resume_unwinding --children joined--> resume_unwound --locals dead, and their children joined--> resume_destroyed
//
// Each goes on with the next at once where no child is left to wait for.

namespace {

using resume_function = void (*)(void*);

/// Both compilers (and libstdc++'s noop coroutine) start a frame with the pointer that resume() calls.
resume_function& resume_slot(std::coroutine_handle<> h) noexcept {
    return *static_cast<resume_function*>(h.address());
}

void resume_unwinding(void* frame);
void resume_unwound(void* frame);
void resume_destroyed(void* frame);

/// The end of a stop: the locals are dead, and what they made while they died has ended. The frame's memory
/// is left, and in it the environment as it was.
std::coroutine_handle<> unwound(promise_base& p) noexcept {
    resume_slot(p.handle()) = nullptr;  // done()
    p.finish_scope();
    promise_base::clear_current();
    return p.notify_waiters();
}

/// Second half of a stop: the children are joined. Destroys the body's locals, keeps the control, wakes the waiters.
/// The last of the children that the locals made continues with resume_destroyed().
std::coroutine_handle<> unwind(promise_base& p) noexcept {
    p.finish_scope();
    const std::coroutine_handle<> h = p.handle();
    scope_children::reopen(p);
    frame_control::of(h).word.set(frame_flags::retain | frame_flags::scope_open);
    {
        const end_for_messages named(p.control(), p.parent());
        h.destroy();  // runs the destructors of the locals; operator delete leaves the memory to the control
    }
    resume_slot(h) = &resume_destroyed;
    return p.close_scope() == children_left::none ? unwound(p) : no_coroutine();
}

/// First half of a stop: closes the scope; the last child continues with resume_unwound().
std::coroutine_handle<> close_unwinding(promise_base& p) noexcept {
    resume_slot(p.handle()) = &resume_unwound;
    return p.close_scope() == children_left::none ? unwind(p) : no_coroutine();
}

/// Goes on with `h` from a plain function. A chain of stopped parents is a loop, not a recursion.
void go_on(std::coroutine_handle<> h) noexcept {
    while (h != no_coroutine()) {
        promise_base& p = promise_base::of(frame_control::of(h));
        if (resume_slot(h) == &resume_unwinding) {
            h = close_unwinding(p);
        } else if (resume_slot(h) == &resume_unwound) {
            h = unwind(p);
        } else if (resume_slot(h) == &resume_destroyed) {
            h = unwound(p);
        } else {
            // A coroutine that took the stop as an outcome: through its queue, because no tail call leads out of here.
            if (p.runs_on() != nullptr) return p.runs_on()->post(h);
            return run_next(h);
        }
    }
}

void resume_unwinding(void* frame) {
    this_thread.current = nullptr;
    go_on(close_unwinding(promise_base::of(frame_control::of(frame))));
}

void resume_unwound(void* frame) {
    this_thread.current = nullptr;
    go_on(unwind(promise_base::of(frame_control::of(frame))));
}

void resume_destroyed(void* frame) {
    this_thread.current = nullptr;
    go_on(unwound(promise_base::of(frame_control::of(frame))));
}

}  // namespace

void promise_base::begin_unwind() noexcept {
    frame_control& c = control();
    c.word.set_end(ending::stopped);
    c.word.set(frame_flags::unwinding);
    resume_slot(handle()) = &resume_unwinding;
}

std::coroutine_handle<> promise_base::stop_here() noexcept {
    clear_current();
    begin_unwind();
    return transfer(handle());
}

}  // namespace coflux::detail

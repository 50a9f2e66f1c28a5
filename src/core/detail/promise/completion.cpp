// The end of a coroutine: waiting for children, telling waiters, unwinding a stopped body.
//
// The page docs/design/fork_join.md has the states and the argument. The order within one end is always: unlist,
// publish, callbacks, wake, give back the parent's ticket. After a waiter is woken the frame may be gone; after the
// ticket is given back the parent may be gone, and all that its environment names.
#include <coflux/core/detail/promise/promise_base.hpp>

#include <exception>
#include <utility>

#include <coflux/base/assert.hpp>

#include "core/detail/readable_name.hpp"
#include "core/detail/scope/environment_access.hpp"

namespace coflux::detail {
namespace {

using resume_function = void (*)(void*);

/// Both compilers (and libstdc++'s noop coroutine) start a frame with the pointer that resume() calls.
resume_function& resume_slot(std::coroutine_handle<> h) noexcept {
    return *static_cast<resume_function*>(h.address());
}

/// Collects the coroutines that go on: the first on this thread, the rest through their own executors. Where a
/// coroutine that awaits another one stands below, all of them go through their executors.
class successors {
public:
    COFLUX_NOINLINE void add(std::coroutine_handle<> h) noexcept {
        if (h == std::noop_coroutine()) return;
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
    std::coroutine_handle<> first_ = std::noop_coroutine();
    bool found_ = false;
};

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

// For themselves: in position-independent code tell() would keep the address of this_thread in a register.
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

/// One ticket less; true if that completes a scope that is closed.
bool one_less(environment& e) noexcept {
    // acq_rel: pairs with the closing fetch_add: the thread that completes the scope sees what every child did.
    return environment_access::remaining(e).fetch_sub(1, memory_order_acq_rel) == 1;
}

/// Gives a child's ticket back; returns the coroutine's scope that this completes, if it does.
environment* give_back_ticket(counting counted, environment* parent, successors& next, const void* here) noexcept {
    if (counted == counting::none) return nullptr;
    if (!environment_access::is_object(*parent)) return one_less(*parent) ? parent : nullptr;
    // A child of an environment object holds tickets of other scopes, too. They are given back from the lowest up: each
    // keeps the scopes above it alive. At most one coroutine is completed: while a generator has not ended, its
    // consumer, or a ticket of its own, holds the rest.
    environment* completed = nullptr;
    for (environment* e = parent; e != nullptr;) {
        environment* const above = environment_access::counted_with(*e);  // first: it may be gone afterwards
        const bool object = environment_access::is_object(*e);
        if (one_less(*e)) {
            if (object) {
                promise_base& joiner = *environment_access::joiner(*e);
                if (environment_access::joined(*e)) next.add(promise_base::resume_from(joiner, here));
            } else {
                COFLUX_VERIFY(completed == nullptr, "an async_generator outlived what its environment belongs to");
                completed = e;
            }
        }
        e = above;
    }
    return completed;
}

/// Tells the waiters, the callbacks and the parent that coroutine `c`, child of `parent`, ended. Then does so for each
/// scope that this completes.
/// `here` is the identity of the executor that this thread stands on. Returns the coroutine that goes on here. After
/// clear_current().
std::coroutine_handle<> tell(frame_control* c, environment* parent, const void* here) noexcept {
    successors next;
    for (;;) {
        const counting counted = c->word.counted();
        const ending end = c->word.end();
        const bool listed = c->word.has(frame_flags::listed);
        if (listed) environment_access::unlist(*parent, *c);

        waiter* woken = nullptr;                                 // waiters to wake, oldest first
        promise_base* direct = nullptr;                          // or the one coroutine in a plain await
        std::uintptr_t s = c->state.load(memory_order_acquire);  // pairs with the CAS of await_elsewhere()
        if (pointer_of(s) == 0 || (s & frame_state::list) != 0) {
            if (end == ending::error && counted != counting::none) environment_access::record(*parent, *c->error);
            if (s == frame_state::detached) {
                destroy_at_end(*c, parent);
                s = 0;
            } else {
                s = c->state.fetch_or(
                    frame_state::done,
                    memory_order_acq_rel);  // publishes the result; pairs with the loads in done(), drop()
                if ((s & frame_state::list) != 0) {
                    woken = oldest_first(reinterpret_cast<waiter*>(pointer_of(s)));
                    for (waiter** link = &woken; *link != nullptr;) {
                        waiter* const w = *link;
                        if (!w->first) {
                            link = &w->next;
                            continue;
                        }
                        *link = w->next;
                        call_back(*w, *c, parent, here);
                    }
                    promise_base::drop_reference(*c);  // the coroutine's own; each waiter holds another
                    s = 0;
                } else if (s == frame_state::detached) {
                    destroy_at_end(*c, parent);
                    s = 0;
                }
            }
        }
        if ((s & frame_state::direct) != 0) {
            direct = reinterpret_cast<promise_base*>(pointer_of(s));
        } else if (pointer_of(s) != 0) {
            woken = reinterpret_cast<waiter*>(pointer_of(s));
            woken->next = nullptr;
        }

        // The handle may die unawaited if its owner is stopped in turn: drop() must then see that the coroutine has
        // ended. A plain await needs that only then: its awaiter takes the result, and itself, from the pointer.
        if (pointer_of(s) != 0 && (direct == nullptr || end == ending::stopped))
            c->state.store(frame_state::done, memory_order_relaxed);  // pairs with nothing: waking publishes it

        // A parent that is suspended in its child's await has its plain count back before it is woken; every other
        // ticket is given back after the waiters: until then the parent, and all that its environment names, is alive.
        const environment* suspended = direct;
        if (woken != nullptr && pointer_of(s) != 0) suspended = woken->coroutine;
        counting to_give_back = counted;
        if (counted == counting::by_owner && suspended == parent) {
            --environment_access::children(*parent);
            to_give_back = counting::none;
        }

        if (direct != nullptr) next.add(promise_base::wake(*direct, end, here));
        while (woken != nullptr) {
            waiter* const w = woken;
            woken = w->next;
            next.add(w->ended(*w, *c, here));
        }

        environment* const completed = give_back_ticket(to_give_back, parent, next, here);
        if (completed == nullptr) return next.first();
        promise_base& scope = environment_access::coroutine(*completed);
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

void resume_unwinding(void* frame);
void resume_unwound(void* frame);
void resume_destroyed(void* frame);

/// The end of a stop: the locals are dead, and what they made while they died has ended. Of the frame there is left the
/// memory, and in it the environment as it was.
std::coroutine_handle<> unwound(promise_base& p) noexcept {
    resume_slot(p.handle()) = nullptr;  // done()
    p.finish_scope();
    promise_base::clear_current();
    return tell(&p.control(), p.parent(), identity_of(p.runs_on()));
}

/// Second half of a stop: the children are joined. Destroys the body's locals, keeps the control, tells the waiters.
/// The last of the children that the locals made continues with resume_destroyed().
std::coroutine_handle<> unwind(promise_base& p) noexcept {
    p.finish_scope();
    const std::coroutine_handle<> h = p.handle();
    environment_access::reopen(p);
    frame_control::of(h).word.set(frame_flags::retain | frame_flags::scope_open);
    {
        const end_for_messages named(p.control(), p.parent());
        h.destroy();  // runs the destructors of the locals; operator delete leaves the memory to the control
    }
    resume_slot(h) = &resume_destroyed;
    return environment_access::close_again(p) ? unwound(p) : std::noop_coroutine();
}

/// First half of a stop: closes the scope; the last child continues with resume_unwound().
std::coroutine_handle<> close_unwinding(promise_base& p) noexcept {
    resume_slot(p.handle()) = &resume_unwound;
    return p.close_scope() ? unwind(p) : std::noop_coroutine();
}

/// Goes on with `h` from a plain function. A chain of stopped parents is a loop, not a recursion.
void go_on(std::coroutine_handle<> h) noexcept {
    while (h != std::noop_coroutine()) {
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

void foretell_end(frame_control& c) noexcept {
    const std::uintptr_t s = c.state.load(memory_order_acquire);  // pairs with the CAS of the waiter
    if (pointer_of(s) == 0 || (s & frame_state::tags) != 0) return;
    waiter& w = *reinterpret_cast<waiter*>(s);
    if (w.hears_early) (void)w.ended(w, c, &foretold);
}

void promise_base::body_failed() noexcept {
    frame_control& c = control();
    if (c.word.has(frame_flags::unwinding)) fail_in_unwinding(c);
    // What ends nested on its awaiter's stack ends with a value.
    if (!c.word.has(frame_flags::inline_start) && c.is_nested()) leave_nested_run();
    failure* const f = current_failure();
    c.word.set_end(ending::error);
    c.word.set(frame_flags::has_error);  // first: a listing of the living must not take the error for a place
    c.error = f;
}

bool promise_base::close_scope() noexcept {
    if (!control().word.has(frame_flags::scope_open)) return true;
    const std::int32_t left = own_.children + scope_fold - scope_open;
    own_.children = -scope_fold;
    // acq_rel pairs with give_back_ticket(): we see what the children did, the last of them sees what we did.
    return remaining_.fetch_add(left, memory_order_acq_rel) + left == 0;
}

void promise_base::finish_scope() noexcept {
    frame_control& c = control();
    if (!c.word.has(frame_flags::scope_open) || !has_failures_or_waits()) return;
    environment_access::end_waits(*this);
    if (environment_access::failures(*this) == nullptr) return;
    failure* const own = c.word.end() == ending::error ? c.error : nullptr;
    if (failure* const f = environment_access::collect(*this, own)) {
        c.word.set_end(ending::error);
        c.word.set(frame_flags::has_error);
        c.error = f;
    }
}

void promise_base::fail_awaits_itself() noexcept {
    this_thread.current = this;
    fail(__FILE__, __LINE__, "&awaited != this", "%s awaits itself: it would never end",
         readable_name(control().location().function_name()).c_str());
}

std::coroutine_handle<> promise_base::join_children() noexcept {
    (void)begin_suspend();  // no longer inline; a stop comes too late
    clear_current();
    if (!close_scope()) return std::noop_coroutine();
    finish_scope();
    clear_current();
    return transfer(notify_waiters());
}

std::coroutine_handle<> promise_base::notify_waiters() noexcept {
    return tell(&control(), parent_.get(), identity_of(runs_on()));
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

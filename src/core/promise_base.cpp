// The slow paths of a coroutine's end: waiting for children, telling waiters, unwinding a stopped body.
//
// The page docs/design/fork_join.md has the states and the argument. The order within one end is always: unlist, publish,
// callbacks, wake, give back the parent's ticket. After a waiter is woken the frame may be gone; after the ticket is given
// back the parent may be gone, and all that its environment names.
#include <coflux/core/promise_base.hpp>

#include <coflux/core/frame_allocation.hpp>

#include "environment_access.hpp"

namespace coflux::detail {
namespace {

using frame_state::tags;

constexpr std::uintptr_t pointer_of(std::uintptr_t state) {
    return state & ~tags;
}

using resume_function = void (*)(void*);

/// Both compilers (and libstdc++'s noop coroutine) start a frame with the pointer that resume() calls.
resume_function& resume_slot(std::coroutine_handle<> h) noexcept {
    return *static_cast<resume_function*>(h.address());
}

/// Collects who goes on: the first on this thread, the others through their own executors; all of them where a coroutine stands
/// below that awaits another.
class successors {
public:
    void add(std::coroutine_handle<> h) noexcept {
        if (h == std::noop_coroutine()) return;
        promise_base& w = promise_base::of(frame_control::of(h));
        const bool in_an_await = this_thread.room_on_top != this_thread.room && w.runs_on() != nullptr;
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
    // acq_rel: pairs with the closing fetch_add: whoever completes the scope sees what every child did.
    return environment_access::remaining(e).fetch_sub(1, memory_order_acq_rel) == 1;
}

/// Gives a child's ticket back; returns the coroutine's scope that this completes, if it does.
environment* give_back_ticket(ticket counted, environment* parent, successors& next, const void* here) noexcept {
    if (counted == ticket::none) return nullptr;
    if (!environment_access::is_object(*parent)) return one_less(*parent) ? parent : nullptr;
    // A child of an environment object holds tickets of others, too. From the lowest up: each keeps those above alive. At
    // most one coroutine is completed: while a generator has not ended, its consumer, or a ticket of its own, holds the rest.
    environment* completed = nullptr;
    for (environment* e = parent; e != nullptr;) {
        environment* const above = environment_access::counted_with(*e);  // first: it may be gone afterwards
        const bool object = environment_access::is_object(*e);
        if (one_less(*e)) {
            if (object) {
                next.add(promise_base::resume_from(*environment_access::joiner(*e), here));
            } else {
                COFLUX_VERIFY(completed == nullptr, "an async_generator outlived what its environment belongs to");
                completed = e;
            }
        }
        e = above;
    }
    return completed;
}

/// Tells everybody that coroutine `c`, child of `parent`, ended, then the same for each scope that this completes.
/// `here` is the identity of the executor that this thread stands on. Returns who goes on here.
std::coroutine_handle<> tell(frame_control* c, environment* parent, const void* here) noexcept {
    promise_base::leaves();
    successors next;
    for (;;) {
        const ticket counted = c->word.counted();
        const ending end = c->word.end();
        const bool listed = c->word.has(frame_flags::listed);
        if (listed) environment_access::unlist(*parent, *c);

        waiter* woken = nullptr;                                 // waiters to wake, oldest first
        promise_base* direct = nullptr;                          // or the one coroutine in a plain await
        std::uintptr_t s = c->state.load(memory_order_acquire);  // pairs with the CAS of await_elsewhere()
        if (pointer_of(s) == 0 || (s & frame_state::list) != 0) {
            if (end == ending::error && counted != ticket::none) environment_access::record(*parent, *c->error);
            if (s == frame_state::detached) {
                promise_base::destroy(*c);
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
                        w->scope = parent;
                        w->ended(*w, *c, here);
                    }
                    promise_base::drop_reference(*c);  // the coroutine's own; those who wait hold theirs
                    s = 0;
                } else if (s == frame_state::detached) {
                    promise_base::destroy(*c);
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

        // A parent that is suspended in its child's await has its plain count back before it is woken; every other ticket is
        // given back after the waiters: until then the parent, and all that its environment names, is alive.
        const environment* suspended = direct;
        if (woken != nullptr && pointer_of(s) != 0) suspended = woken->coroutine;
        ticket to_give_back = counted;
        if (counted == ticket::plain && suspended == parent) {
            --environment_access::children(*parent);
            to_give_back = ticket::none;
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
        if (scope.control().word.has(frame_flags::turned)) {
            next.add(promise_base::resume_from(scope, here));  // its locals die on its own executor
            return next.first();
        }
        scope.scope_joined();
        c = &scope.control();
        parent = scope.parent();
    }
}

void resume_turned(void* frame);
void resume_unwound(void* frame);

/// Second half of a stop: the children are joined. Destroys the body's locals, keeps the control, tells the waiters.
std::coroutine_handle<> unwind(promise_base& p) noexcept {
    p.scope_joined();
    frame_control& c = p.control();
    environment* const parent = p.parent();
    const void* const here = identity_of(p.runs_on());
    c.word.set(frame_flags::retain);
    p.handle().destroy();  // runs the destructors of the locals; operator delete leaves the memory to the control
    return tell(&c, parent, here);
}

/// First half of a stop: closes the scope; the last child continues with resume_unwound().
std::coroutine_handle<> close_turned(promise_base& p) noexcept {
    resume_slot(p.handle()) = &resume_unwound;
    return p.close_scope() ? unwind(p) : std::noop_coroutine();
}

/// Goes on with `h` from a plain function. A chain of stopped parents is a loop, not a recursion.
void go_on(std::coroutine_handle<> h) noexcept {
    while (h != std::noop_coroutine()) {
        promise_base& p = promise_base::of(frame_control::of(h));
        if (resume_slot(h) == &resume_turned) {
            h = close_turned(p);
        } else if (resume_slot(h) == &resume_unwound) {
            h = unwind(p);
        } else {
            // A coroutine that took the stop as an outcome: through its queue, because no tail call leads out of here.
            if (p.runs_on() != nullptr) return p.runs_on()->post(h);
            return run_next(h);
        }
    }
}

void resume_turned(void* frame) {
    this_thread.current = nullptr;
    go_on(close_turned(promise_base::of(frame_control::of(frame))));
}

void resume_unwound(void* frame) {
    this_thread.current = nullptr;
    go_on(unwind(promise_base::of(frame_control::of(frame))));
}

}  // namespace

void promise_base::destroy_aside(frame_control& c) noexcept {
    destroy(c);
}

void promise_base::start_elsewhere(std::coroutine_handle<> h) noexcept {
    runs_on()->post(h);
}

bool promise_base::suspends_slowly() noexcept {
    if (control().word.has(frame_flags::inline_start)) {
        leaves_inline();
        // Nobody may run in the call that made it.
        if (this_thread.room_on_top != no_stack) this_thread.room_on_top = stack_closed;
    }
    if (control().is_on_top()) leaves_top();
    return stop_requested();
}

/// There is news of stops somewhere: true if this coroutine may be told to, or if it is still inside the call that made it, which
/// what it awaits must not run in.
bool promise_base::told_to_suspend() noexcept {
    return control().word.has(frame_flags::inline_start) || stop_requested();
}

/// A coroutine that began on top of its awaiter's stack suspends: from now on it is like any other, and the awaiter, to whom control
/// goes back, waits for it in the same way.
void promise_base::leaves_top() noexcept {
    frame_control& c = control();
    // relaxed: whoever comes to know the coroutine does so by what this thread publishes later.
    c.state.store(0, memory_order_relaxed);
    // The caller of a call may be told while it still goes to sleep.
    if (c.word.counted() == ticket::none) c.word.set(frame_flags::moved);
    this_thread.room_on_top = no_stack;
}

/// What began on top of this coroutine's stack has suspended, and this coroutine runs again.
void promise_base::control_is_back() noexcept {
    this_thread.current = this;
    this_thread.room_on_top = this_thread.room;
}

/// A coroutine that started inline suspends, or ends in another way than at once with a value: from now on it is
/// like any other.
void promise_base::leaves_inline() noexcept {
    frame_control& c = control();
    c.word.clear(frame_flags::inline_start);
    c.begin_as(0);
    own_.stops_seen = own_.stops_seen & stop_count_mask;
    if (!c.word.is_plain()) return;
    this_thread.below = parent_.get();  // in whose call we run: current again when control goes back to it
    if (++parent_->own_.children == 0) fold_children();  // the parent is below us on this stack
}

void promise_base::body_failed() noexcept {
    frame_control& c = control();
    // What ends on top of its awaiter's stack ends with a value.
    if (!c.word.has(frame_flags::inline_start) && c.is_on_top()) leaves_top();
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

void promise_base::scope_joined() noexcept {
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

std::coroutine_handle<> promise_base::join_children() noexcept {
    (void)suspends();  // no longer inline; a stop comes too late
    leaves();
    if (!close_scope()) return std::noop_coroutine();
    scope_joined();
    return tell_waiters();
}

std::coroutine_handle<> promise_base::tell_waiters() noexcept {
    return transfer(tell(&control(), parent_.get(), identity_of(runs_on())));
}

/// The end of a coroutine whose awaiter may be at home on another executor: this thread may have nobody to go on with.
std::coroutine_handle<> promise_base::hand_over(promise_base& w) noexcept {
    const void* const here = identity_of(runs_on());
    leaves();
    return transfer(resume_from(w, here));
}

std::coroutine_handle<> promise_base::ended_inline() noexcept {
    leaves_inline();
    return tell_waiters();
}

void promise_base::fold_children() noexcept {
    environment& e = *parent_;
    e.remaining_.fetch_add(scope_fold, memory_order_relaxed);  // pairs with nothing: the sum of both counts stays
    e.own_.children = -scope_fold;
}

void promise_base::count_in_shared(frame_control& c) noexcept {
    environment_access::take_tickets(*parent_);
    if (c.word.has(frame_flags::listed)) environment_access::list(*parent_, c);
}

void promise_base::count_and_start_shared(std::coroutine_handle<> h) noexcept {
    frame_control& c = control();
    c.word.count_as_shared();
    count_in_shared(c);
    start(h);
}

std::coroutine_handle<> promise_base::await_elsewhere(frame_control& child) noexcept {
    leaves();
    std::uintptr_t s = 0;
    // release: the child's end sees this coroutine suspended; acquire: if it has ended, its result is visible.
    if (child.state.compare_exchange_strong(s, reinterpret_cast<std::uintptr_t>(this) | frame_state::direct,
                                            memory_order_acq_rel, memory_order_acquire)) {
        return std::noop_coroutine();
    }
    this_thread.current = this;
    return transfer(wake(*this, child.word.end(), identity_of(runs_on())));
}

std::coroutine_handle<> promise_base::await_begun(frame_control& callee) noexcept {
    (void)suspends();  // a stop comes too late: the call has begun, gets it itself, and has nobody else to wait for it
    return await_elsewhere(callee);
}

std::coroutine_handle<> promise_base::wake(promise_base& w, ending end, const void* here) noexcept {
    if (end == ending::stopped && !w.control().word.has(frame_flags::takes_stop)) w.turn_to_stop();
    return resume_from(w, here);
}

std::coroutine_handle<> promise_base::resume_from(promise_base& w, const void* here) noexcept {
    const executor_entry* const own = w.runs_on();
    if (own == nullptr || own->identity == here) return w.handle();
    own->post(w.handle());
    return std::noop_coroutine();
}

void promise_base::turn_to_stop() noexcept {
    frame_control& c = control();
    c.word.set_end(ending::stopped);
    c.word.set(frame_flags::turned);
    resume_slot(handle()) = &resume_turned;
}

std::coroutine_handle<> promise_base::stop_here() noexcept {
    leaves();
    turn_to_stop();
    return transfer(handle());
}

void promise_base::drop(frame_control& c) noexcept {
    std::uintptr_t s = c.state.load(memory_order_acquire);  // pairs with the fetch_or of tell()
    if ((s & frame_state::list) != 0) return drop_reference(c);
    if ((s & frame_state::done) == 0) {
        // acq_rel: either the end sees `detached` and frees, or we see `done` and all it wrote, and free.
        s = c.state.fetch_or(frame_state::detached, memory_order_acq_rel);
        if ((s & frame_state::done) == 0) return;
    }
    destroy(c);
}

void promise_base::drop_reference(frame_control& c) noexcept {
    // acq_rel pairs with the other drops: whoever frees sees all uses.
    if (c.references().fetch_sub(1, memory_order_acq_rel) == 1) destroy(c);
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
                         memory_order_release);  // pairs with the loads of those the handle is shared with
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

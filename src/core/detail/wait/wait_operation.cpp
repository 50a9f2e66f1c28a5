// How a stop request finds the waiters. The page docs/design/stop.md has the protocol.
#include <coflux/core/detail/wait/wait_operation.hpp>

#include <new>
#include <utility>

#include <coflux/core/detail/thread/thread_driver.hpp>
#include <coflux/memory/frame_pool.hpp>

#include "core/detail/scope/environment_access.hpp"

namespace coflux {
namespace detail {
namespace {

static_assert(sizeof(void*) != 8 || sizeof(wait_record) == 64, "the size that the documents state");

wait_record* new_record(environment& e) {
    return ::new (allocate_pooled(sizeof(wait_record), alignof(wait_record))) wait_record(e);
}

void free_record(wait_record* r) noexcept {
    r->~wait_record();
    deallocate_pooled(r, sizeof(wait_record), alignof(wait_record));
}

/// The environment that has the record above that of `e`.
environment* above(const environment& e) noexcept {
    environment* const parent = environment_access::parent(e);
    if (!environment_access::is_call(e)) return environment_access::recorder(parent);
    return environment_access::pass_calls(parent, longest_look - 1);
}

/// The records from that of `e` up to the first environment that has one; not yet published. The topmost is on top.
intrusive_stack<wait_record> prepare(environment* e) {
    intrusive_stack<wait_record> made;
    try {
        for (; e != nullptr && environment_access::waits(*e) == nullptr; e = above(*e)) {
            made.push(*new_record(*e));
        }
    } catch (...) {
        while (wait_record* const r = made.pop()) free_record(r);
        throw;
    }
    return made;
}

/// Gives the environment of `r` its record: `r`, or the one that another thread has published meanwhile.
wait_record& publish(wait_record* r, wait_record* up) noexcept {
    wait_record* const published = environment_access::publish_waits(*r->of, *r, up);
    if (published != r) free_record(r);
    return *published;
}

}  // namespace

wait_record* environment_access::publish_waits(environment& e, wait_record& r, wait_record* up) noexcept {
    const failures_guard guard(e);
    if (wait_record* const others = waits(e)) return others;
    std::uint32_t marks = environment::has_waits;
    r.above = up;
    if (up != nullptr) {
        const adaptive_guard list(up->lock);
        // A stopper that passes a request on had this lock before, and left its mark on the way from here to `up`; or
        // it finds the record. A shielded environment takes no mark over; it has a record if anything below it has.
        for (const environment* p = &e; p != up->of && !is_shielded(e);) {
            p = p->parent_.get();
            marks |= p->marks_.load(memory_order_acquire) & environment::stop_asked;  // pairs with request_stop()
        }
        up->below.push_front(r);
    }
    r.failures = own_failures(e);
    e.failures_ = &r;
    if (up == nullptr && this_thread.driver != nullptr) this_thread.driver->root_waits(r);
    // release pairs with the acquire in waits(): the reader finds a record that is linked up to the root.
    e.marks_.fetch_or(marks, memory_order_release);
    return &r;
}

wait_record& environment_access::record_of(environment& e) {
    if (wait_record* const r = waits(e)) [[likely]]
        return *r;
    // From the top down, so that a record that is found is linked up to the root.
    intrusive_stack<wait_record> made = prepare(&e);
    environment* const known = made.empty() ? &e : above(*made.top()->of);
    wait_record* r = known != nullptr ? waits(*known) : nullptr;
    while (wait_record* const next = made.pop()) r = &publish(next, r);
    return *r;
}

void environment_access::record_above(environment& e) noexcept {
    environment* const at = recorder(parent(e));
    if (at == nullptr) return;
    try {
        (void)record_of(*at);
    } catch (...) {  // no memory: the environments that look up go on doing so
    }
}

void environment_access::end_waits(environment& e) noexcept {
    wait_record* const r = waits(e);
    if (r == nullptr) return;
    {
        const failures_guard guard(e);
        set_own_failures(e, r->failures);
        e.marks_.fetch_and(~environment::has_waits, memory_order_relaxed);  // pairs with nothing: under the guard
    }
    // A stop request that found it by the environment has its lock; one from above has the lock above.
    { const adaptive_guard stopper(r->lock); }
    if (r->above == nullptr && this_thread.driver != nullptr) this_thread.driver->root_left(*r);
    if (wait_record* const up = r->above; up != nullptr) {
        const adaptive_guard list(up->lock);
        up->below.remove(*r);
        // The locals of a stopped coroutine die after its scope is joined: environment objects among them outlive this
        // record, and their records go up. A stopper that walks down here has the lock above.
        while (wait_record* const left = r->below.pop_front()) {
            left->above = up;
            up->below.push_front(*left);
        }
    }
    // Awaits that g++ completed and never resumes from (is_unresumed()) outlive the record of a stopped coroutine.
    while (wait_operation* const w = r->waiting.front()) w->outlives_record();
    free_record(r);
}

void wait_operation::begin() {
    environment* const e = environment_access::recorder(coroutine_);
    // One that never asked for its context has no scope yet; only itself can be concerned.
    if (e == coroutine_) coroutine_->open_for_waits();
    wait_record* const r = &environment_access::record_of(*e);
    record_ = r;
    const adaptive_guard guard(r->lock);
    r->waiting.push_front(*this);
}

void wait_operation::withdraw_left() noexcept {
    if (record_ != no_record()) withdraw();
    record_ = nullptr;
}

void wait_operation::stop_claimed(wait_operation& claimed) noexcept {
    claimed.coroutine_->begin_unwind();
    claimed.wake();
}

void wait_operation::wake_elsewhere() noexcept {
    promise_base& p = *coroutine_;
    if (p.runs_on() != nullptr) return p.runs_on()->post(p.handle());
    thread_state& t = this_thread;
    t.woken.push_back(*this);
    if (!t.looping) run_aside(take_woken());
}

std::coroutine_handle<> take_woken() noexcept {
    thread_state& t = this_thread;
    if (proxy_frame* const p = t.resumed.front(); p != nullptr) {
        if (p == &t.begins) {
            promise_base& first = *p->coroutine;
            p->coroutine = environment_access::begins_after(first);
            if (p->coroutine == nullptr) (void)t.resumed.pop_front();
            return first.handle();
        }
        (void)t.resumed.pop_front();
        return p->coroutine->handle();
    }
    wait_operation& w = *t.woken.pop_front();
    const std::coroutine_handle<> h = w.coroutine().handle();
    if (w.kind().taken != nullptr) w.kind().taken(w);
    return h;
}

void for_each_wait(wait_record& root, void (*f)(wait_operation& w, void* context), void* context) {
    for (const wait_record* at = &root;;) {
        for (wait_operation* w = at->waiting.front(); w != nullptr; w = w->published_next_) {
            if (w->kind_->what != nullptr) f(*w, context);
        }
        if (!at->below.empty()) {
            at = at->below.front();
            continue;
        }
        while (at != &root && at->next == nullptr) at = at->above;
        if (at == &root) return;
        at = at->next;
    }
}

/// One request on its way to what is in and below one record: to mark the coroutines, then to claim what waits and stop
/// it.
struct stop_walk {
    const environment* at;       // the environment that has the record
    const environment* through;  // what is not made in it, or below it, is passed by; nullptr: nothing is
    intrusive_chain<wait_operation> claimed{};

    /// True if `e` is the call that is stopped, or was made in it through other calls.
    [[nodiscard]] bool concerns(const environment* e) const noexcept {
        if (through == nullptr) return true;
        while (e != through && e != at && e != nullptr && environment_access::is_call(*e))
            e = environment_access::parent(*e);
        return e == through;
    }

    /// Pre: the record's lock is held. A thread that publishes a record below this one takes the lock after us, and
    /// sees the mark.
    void mark(wait_record& r, bool all) const noexcept {
        if (all) environment_access::pass_request(*r.of);
    }

    /// Pre: the record's lock is held.
    void claim(wait_record& r, bool all) noexcept {
        for (wait_operation* w = r.waiting.front(); w != nullptr;) {
            wait_operation& op = *w;
            w = op.published_next_;
            if ((!all && !concerns(op.coroutine_)) || !op.kind_->claim(op)) continue;
            op.unpublish();
            claimed.push_back(op);
        }
    }

    /// The subtree below `top`, whose lock is held and then released. Locks are held from the top down to where it
    /// looks, so that no record goes away meanwhile.
    template <typename Visit>
    void visit_below(wait_record& top, Visit visit) noexcept {
        visit(top, false);
        wait_record* at = &top;
        wait_record* child = at->below.front();
        for (;;) {
            // Only the first level below a call's recorder may have been made elsewhere.
            while (child != nullptr && (environment_access::is_shielded(*child->of) ||
                                        (at == &top && !concerns(environment_access::parent(*child->of)))))
                child = child->next;
            if (child != nullptr) {
                child->lock.lock();
                visit(*child, true);
                at = child;
                child = at->below.front();
            } else if (at == &top) {
                break;
            } else {
                wait_record* const done = at;
                at = done->above;
                child = done->next;
                done->lock.unlock();
            }
        }
        top.lock.unlock();
    }

    void stop_claimed() noexcept {
        // A coroutine that is resumed in place runs code of users: not before the last claimed operation has been
        // resumed. Otherwise the coroutine of an operation that was not resumed could be resumed on this stack and wait
        // for us.
        const resumption_pause pause;
        this_thread.stopping = this;
        while (wait_operation* const op = claimed.pop_front()) {
            op->next = nullptr;
            op->kind_->stop(*op);  // the operation may be gone from here on
        }
        this_thread.stopping = nullptr;  // before the coroutines that wait for the pause to end
    }

    /// Leaves what was claimed to a request further down this stack, which is stopping what it has claimed itself.
    void leave_to(stop_walk& outer) noexcept { outer.claimed.append(claimed); }
};

/// The record that has what is below `e`, locked; nullptr if nothing is.
wait_record* locked_record(environment* at) noexcept {
    if (at == nullptr) return nullptr;
    const environment_access::failures_guard guard(*at);
    wait_record* const top = environment_access::waits(*at);
    if (top != nullptr) top->lock.lock();  // under the guard, or it might be freed first
    return top;
}

void environment_access::mark_below(environment& e) noexcept {
    environment* const at = recorder(&e);
    wait_record* const top = locked_record(at);
    if (top == nullptr) return;
    stop_walk walk{.at = at, .through = at == &e ? nullptr : &e};
    walk.visit_below(*top, [&](wait_record& r, bool all) { walk.mark(r, all); });
}

void environment_access::stop_waits(environment& e) noexcept {
    environment* const at = recorder(&e);
    wait_record* const top = locked_record(at);
    if (top == nullptr) return;
    stop_walk walk{.at = at, .through = at == &e ? nullptr : &e};
    walk.visit_below(*top, [&](wait_record& r, bool all) { walk.claim(r, all); });
    if (walk.claimed.empty()) return;
    // An operation that is stopped stops its handles, and so on: a loop, not a recursion, however long the chain is.
    // What is claimed and not resumed yet is alive: it does not go on before.
    if (this_thread.stopping != nullptr) return walk.leave_to(*this_thread.stopping);
    walk.stop_claimed();
}

}  // namespace detail

void environment::request_stop() noexcept {
    // release pairs with the acquire in look_up().
    const std::uint32_t marks = marks_.fetch_or(stop_asked, detail::memory_order_release);
    // Before it is counted: an environment that has a record looks at no parent. A record that is published from here
    // on takes the mark over.
    if ((marks & (has_waits | is_call)) != 0) detail::environment_access::mark_below(*this);
    std::uint32_t count = detail::stop_requests.load(detail::memory_order_relaxed);
    // Releases the marks to a thread that sees the new count. It comes before the locks of the records: a waiter either
    // sees the count in must_stop(), or is found.
    while (!detail::stop_requests.compare_exchange_weak(count, (count + 1) & detail::stop_count_mask,
                                                        detail::memory_order_seq_cst, detail::memory_order_relaxed)) {}
    detail::environment_access::stop_waits(*this);
}

}  // namespace coflux

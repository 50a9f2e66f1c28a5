// How a stop request finds those who wait. The page docs/design/stop.md has the protocol.
#include <coflux/core/wait.hpp>

#include <new>
#include <utility>

#include <coflux/core/thread_driver.hpp>
#include <coflux/memory/frame_pool.hpp>

#include "environment_access.hpp"

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

/// Who has the record above that of `e`, which is no call.
environment* above(const environment& e) noexcept {
    return environment_access::recorder(environment_access::parent(e));
}

/// The records from that of `e` up to the first environment that has one; not yet published. A chain by `next`, the topmost
/// first.
wait_record* prepare(environment* e) {
    wait_record* topmost = nullptr;
    try {
        for (; e != nullptr && environment_access::waits(*e) == nullptr; e = above(*e)) {
            wait_record* const r = new_record(*e);
            r->next = topmost;
            topmost = r;
        }
    } catch (...) {
        while (topmost != nullptr) free_record(std::exchange(topmost, topmost->next));
        throw;
    }
    return topmost;
}

/// Gives the environment of `r` its record: `r`, or the one that somebody else has published meanwhile.
wait_record& publish(wait_record* r, wait_record* up) noexcept {
    wait_record* const published = environment_access::publish_waits(*r->of, *r, up);
    if (published != r) free_record(r);
    return *published;
}

}  // namespace

wait_record* environment_access::publish_waits(environment& e, wait_record& r, wait_record* up) noexcept {
    const failures_guard guard(e);
    if (wait_record* const others = waits(e)) return others;
    r.above = up;
    r.next = nullptr;
    if (up != nullptr) {
        const spin_guard list(up->lock);
        r.next = up->below;
        if (r.next != nullptr) r.next->previous = &r;
        up->below = &r;
    }
    r.failures = own_failures(e);
    e.failures_ = &r;
    if (up == nullptr && this_thread.driver != nullptr) this_thread.driver->root_waits(r);
    // release pairs with the acquire in waits(): whoever sees the record is linked up to the root by it.
    e.marks_.fetch_or(environment::has_waits, memory_order_release);
    return &r;
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
    { const spin_guard stopper(r->lock); }
    if (r->above == nullptr && this_thread.driver != nullptr) this_thread.driver->root_left(*r);
    if (wait_record* const up = r->above; up != nullptr) {
        const spin_guard list(up->lock);
        if (r->next != nullptr) r->next->previous = r->previous;
        (r->previous != nullptr ? r->previous->next : up->below) = r->next;
        // The locals of a stopped coroutine die after its scope is joined: environment objects among them outlive this record,
        // and theirs go up. Whoever walks down here has the lock above.
        while (wait_record* const left = r->below) {
            r->below = left->next;
            left->above = up;
            left->previous = nullptr;
            left->next = up->below;
            if (left->next != nullptr) left->next->previous = left;
            up->below = left;
        }
    }
    free_record(r);
}

void wait_operation::begin() {
    environment* const e = environment_access::recorder(coroutine_);
    // One that never asked for its context has no scope yet; only itself can be concerned.
    if (e == coroutine_) coroutine_->open_for_waits();
    wait_record* r = environment_access::waits(*e);
    if (r == nullptr) [[unlikely]] {
        // From the top down, so that who finds a record is linked up to the root.
        wait_record* next = prepare(e);
        environment* const known = next != nullptr ? above(*next->of) : e;
        r = known != nullptr ? environment_access::waits(*known) : nullptr;
        while (next != nullptr) {
            wait_record* const made = next;
            next = made->next;
            r = &publish(made, r);
        }
    }
    record_ = r;
    const spin_guard guard(r->lock);
    published_previous_ = nullptr;
    published_next_ = r->waiting;
    if (published_next_ != nullptr) published_next_->published_previous_ = this;
    r->waiting = this;
}

void wait_operation::stop_claimed(wait_operation& claimed) noexcept {
    claimed.coroutine_->turn_to_stop();
    claimed.wake();
}

void wait_operation::wake_elsewhere() noexcept {
    promise_base& p = *coroutine_;
    if (p.runs_on() != nullptr) return p.runs_on()->post(p.handle());
    thread_state& t = this_thread;
    next = nullptr;
    (t.woken == nullptr ? t.woken : t.last_woken->next) = this;
    t.last_woken = this;
    if (!t.looping) run_aside(take_woken());
}

std::coroutine_handle<> take_woken() noexcept {
    if (proxy_frame* const p = this_thread.resumed; p != nullptr) {
        this_thread.resumed = p->next;
        return p->coroutine->handle();
    }
    wait_operation& w = *this_thread.woken;
    this_thread.woken = w.next;
    return w.coroutine().handle();
}

void for_each_wait(wait_record& root, void (*f)(wait_operation& w, void* context), void* context) {
    for (const wait_record* at = &root;;) {
        for (wait_operation* w = at->waiting; w != nullptr; w = w->published_next_) {
            if (w->kind_->what != nullptr) f(*w, context);
        }
        if (at->below != nullptr) {
            at = at->below;
            continue;
        }
        while (at != &root && at->next == nullptr) at = at->above;
        if (at == &root) return;
        at = at->next;
    }
}

/// One request: claims what waits in and below one record, then stops what it has claimed.
struct stop_walk {
    const environment* through;  // what is not made in it, or below it, is passed by; nullptr: nothing is
    wait_operation* first = nullptr;
    wait_operation* last = nullptr;

    /// True if `e` is the call that is stopped, or was made in it through other calls.
    [[nodiscard]] bool concerns(environment* e) const noexcept {
        if (through == nullptr) return true;
        while (e != through && e != nullptr && environment_access::is_call(*e)) e = environment_access::parent(*e);
        return e == through;
    }

    /// Pre: the record's lock is held.
    void claim(wait_record& r, bool all) noexcept {
        for (wait_operation* w = r.waiting; w != nullptr;) {
            wait_operation& op = *w;
            w = op.published_next_;
            if ((!all && !concerns(op.coroutine_)) || !op.kind_->claim(op)) continue;
            op.unpublish();
            op.next = nullptr;
            (first == nullptr ? first : last->next) = &op;
            last = &op;
        }
    }

    /// The subtree below `top`, whose lock is held and then released. Locks are held from the top down to where it looks,
    /// so that no record goes away meanwhile.
    void claim_below(wait_record& top) noexcept {
        claim(top, false);
        wait_record* at = &top;
        wait_record* child = at->below;
        for (;;) {
            // Only the first level below a call's recorder may have been made elsewhere.
            while (child != nullptr && at == &top && !concerns(environment_access::parent(*child->of)))
                child = child->next;
            if (child != nullptr) {
                child->lock.lock();
                claim(*child, true);
                at = child;
                child = at->below;
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
        if (first == nullptr) return;
        // Who is resumed in place runs code of users: not before the last that was claimed has been told. Else the coroutine of one
        // that was not could be resumed on this stack and wait for us.
        const resumption_pause pause;
        while (first != nullptr) {
            wait_operation& op = *first;
            first = op.next;
            op.next = nullptr;
            op.kind_->stop(op);  // the operation may be gone from here on
        }
    }
};

void environment_access::stop_waits(environment& e) noexcept {
    environment* const at = recorder(&e);
    if (at == nullptr) return;
    wait_record* top = nullptr;
    {
        const failures_guard guard(*at);
        top = waits(*at);
        if (top == nullptr) return;
        top->lock.lock();  // under the guard, or it might be freed first
    }
    stop_walk walk{.through = at == &e ? nullptr : &e};
    walk.claim_below(*top);
    walk.stop_claimed();
}

}  // namespace detail

void environment::request_stop() noexcept {
    marks_.fetch_or(stop_asked, detail::memory_order_release);  // pairs with the acquire in look_up()
    std::uint32_t count = detail::stop_requests.load(detail::memory_order_relaxed);
    // Releases the mark to whoever sees the new count; and before the locks of the records: who waits either sees the
    // count in must_stop(), or is found.
    while (!detail::stop_requests.compare_exchange_weak(count, (count + 1) & detail::stop_count_mask,
                                                        detail::memory_order_seq_cst, detail::memory_order_relaxed)) {}
    detail::environment_access::stop_waits(*this);
}

}  // namespace coflux

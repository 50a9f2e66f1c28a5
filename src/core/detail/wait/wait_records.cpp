#include "core/detail/wait/wait_records.hpp"

#include <new>

#include <coflux/core/detail/thread/thread_driver.hpp>
#include <coflux/memory/frame_pool.hpp>

#include "core/detail/scope/environment_tree.hpp"
#include "core/detail/scope/scope_failures.hpp"

namespace coflux::detail {
namespace {

static_assert(sizeof(void*) != 8 || sizeof(wait_record) == 64, "the size that the documents state");

wait_record* new_record(environment& e) {
    return ::new (allocate_pooled(sizeof(wait_record), alignof(wait_record))) wait_record(e);
}

void free_record(wait_record* r) noexcept {
    r->~wait_record();
    deallocate_pooled(r, sizeof(wait_record), alignof(wait_record));
}

}  // namespace

environment* wait_records::recorder(environment* e) noexcept {
    environment* at = e;
    std::uint32_t calls = 0;
    for (; at != nullptr; at = environment_tree::parent(*at)) {
        const std::uint32_t marks = at->marks_.load(memory_order_relaxed);  // find() looks again
        if ((marks & environment::is_call) == 0 || (marks & environment::has_waits) != 0) break;
        calls += environment_tree::is_generator(*at) ? 0 : 1;
    }
    return calls < longest_look ? at : pass_calls(e, calls % longest_look);
}

environment* wait_records::pass_calls(environment* e, std::uint32_t calls) noexcept {
    for (; environment_tree::is_call(*e) && (calls != 0 || environment_tree::is_generator(*e));
         e = environment_tree::parent(*e))
        calls -= environment_tree::is_generator(*e) ? 0 : 1;
    return e;
}

environment* wait_records::above(const environment& e) noexcept {
    environment* const parent = environment_tree::parent(e);
    return environment_tree::is_call(e) ? pass_calls(parent, longest_look - 1) : recorder(parent);
}

intrusive_stack<wait_record> wait_records::prepare(environment* e) {
    intrusive_stack<wait_record> made;
    try {
        for (; e != nullptr && find(*e) == nullptr; e = above(*e)) made.push(*new_record(*e));
    } catch (...) {
        while (wait_record* const r = made.pop()) free_record(r);
        throw;
    }
    return made;
}

wait_record& wait_records::publish(wait_record& made, wait_record* up) noexcept {
    environment& e = *made.of;
    const scope_failures::guard held(e);
    if (wait_record* const others = find(e)) return *others;
    std::uint32_t marks = environment::has_waits;
    made.above = up;
    if (up != nullptr) {
        const adaptive_guard list(up->lock);
        // A stopper that passes a request on had this lock before, and left its mark on the way from here to `up`; or
        // it finds the record. A shielded environment takes no mark over; it has a record if anything below it has.
        for (const environment* p = &e; p != up->of && !environment_tree::is_shielded(e);) {
            p = environment_tree::parent(*p);
            // [stop.record.takes_the_mark]
            marks |= p->marks_.load(memory_order_acquire) & environment::stop_asked;  // pairs with request_stop()
        }
        up->below.push_front(made);
    }
    made.failures = scope_failures::own_youngest(e);
    e.waits_ = &made;
    if (up == nullptr && this_thread.driver != nullptr) this_thread.driver->add_root(made);
    // release pairs with the acquire in find(): the reader finds a record that is linked up to the root.
    // [stop.record.published]
    e.marks_.fetch_or(marks, memory_order_release);
    return made;
}

wait_record& wait_records::find_or_make(environment& e) {
    if (wait_record* const r = find(e)) [[likely]]
        return *r;
    // From the top down, so that a record that is found is linked up to the root.
    intrusive_stack<wait_record> made = prepare(&e);
    environment* const known = made.empty() ? &e : above(*made.top()->of);
    wait_record* r = known != nullptr ? find(*known) : nullptr;
    while (wait_record* const next = made.pop()) {
        r = &publish(*next, r);
        if (r != next) free_record(next);
    }
    return *r;
}

void wait_records::make_above(environment& e) noexcept {
    environment* const at = recorder(environment_tree::parent(e));
    if (at == nullptr) return;
    try {
        (void)find_or_make(*at);
    } catch (...) {  // no memory: the environments that look up go on doing so
    }
}

wait_record* wait_records::find_locked(environment& e) noexcept {
    const scope_failures::guard held(e);
    wait_record* const r = find(e);
    if (r != nullptr) r->lock.lock();  // under the guard, or it might be freed first
    return r;
}

void wait_records::unlink(wait_record& r, wait_record& up) noexcept {
    const adaptive_guard list(up.lock);
    // The locals of a stopped coroutine die after its scope is joined: environment objects among them outlive this
    // record, and their records go up, to the place of this one: a request that has not come by yet finds them there.
    // A stopper that walks down here has the lock above.
    while (wait_record* const left = r.below.pop_front()) {
        left->above = &up;
        up.below.insert_after(r, *left);
    }
    up.below.remove(r);
}

void wait_records::end(environment& e) noexcept {
    wait_record* const r = find(e);
    if (r == nullptr) return;
    {
        const scope_failures::guard held(e);
        scope_failures::set_own_youngest(e, r->failures);
        e.marks_.fetch_and(~environment::has_waits, memory_order_relaxed);  // pairs with nothing: under the guard
    }
    // A stop request that found it by the environment has its lock; one from above has the lock above.
    // [stop.record.waits]
    { const adaptive_guard stopper(r->lock); }
    if (r->above == nullptr && this_thread.driver != nullptr) this_thread.driver->remove_root(*r);
    if (r->above != nullptr) unlink(*r, *r->above);
    // Awaits that were completed and never resumed from (is_unresumed()) outlive the record of a stopped coroutine.
    while (wait_operation* const w = r->waiting.front()) w->detach_from_record();
    free_record(r);
}

}  // namespace coflux::detail

// What the core's own sources may touch in environments; private to the library.
#pragma once

#include <utility>

#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/wait_operation.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/core/environment_object.hpp>

namespace coflux::detail {

/// From now on a failed check prints where the running coroutine and its ancestors stand.
void enable_back_trace() noexcept;

struct environment_access {
    static bool is_object(const environment& e) noexcept {
        return (e.marks_.load(memory_order_relaxed) & environment::is_object) != 0;  // set before e is published
    }
    static environment* parent(const environment& e) noexcept { return e.parent_.get(); }
    static const environment_data& data(const environment& e) noexcept { return *e.data_; }
    static environment_object& object(environment& e) noexcept { return static_cast<environment_object&>(e); }
    static promise_base& coroutine(environment& e) noexcept { return static_cast<promise_base&>(e); }

    /// The coroutine in whose scope an environment object was derived; nullptr below a root.
    static environment* owner(const environment& e) noexcept {
        environment* o = e.parent_.get();
        while (o != nullptr && is_object(*o)) o = o->parent_.get();
        return o;
    }
    static bool is_generator(const environment& e) noexcept {
        return (e.marks_.load(memory_order_relaxed) & environment::is_generator) != 0;  // set before e is published
    }
    /// The environment in which a child of the object `e`, or of an object further down, is counted, too; nullptr:
    /// there is none. If that environment is stopped, the object or the generator dies with its locals, and must not
    /// die before its children.
    static environment* counted_with(const environment& e) noexcept {
        return is_object(e) ? owner(e) : is_generator(e) ? e.parent_.get() : nullptr;
    }
    /// Counts a child that is made in `e`, and not by `e` itself. All these scopes are open while the creator runs.
    static child_added count_atomically(environment& e) noexcept {
        const child_added result = e.own_.children.add_atomically();
        if (!is_object(e)) return result;
        for (environment* o = counted_with(e); o != nullptr; o = counted_with(*o))
            (void)o->own_.children.add_atomically();
        return result;
    }
    /// `e`, a coroutine, is stopped and its children are joined: its locals may make more until they are dead.
    static void reopen(environment& e) noexcept {
        e.marks_.fetch_or(environment::unwinds, memory_order_relaxed);  // pairs with nothing: for this thread
        e.own_.children.reopen();
    }
    /// True of a coroutine that has waited for its children, and of which what is left dies on this thread.
    static bool is_joined(const environment& e) noexcept {
        // relaxed, pairs with nothing: this thread has been given the coroutine since.
        return (e.marks_.load(memory_order_relaxed) & environment::unwinds) != 0 || e.own_.children.is_joined();
    }
    static bool is_root(const environment& e) noexcept {
        return (e.marks_.load(memory_order_relaxed) & environment::is_root) != 0;  // set before e is published
    }
    /// The scope that an error of a child of `e` fails: that of a generator for what it makes its children in.
    static environment& failing(environment& e) noexcept {
        return is_object(e) && e.is_of_generator() ? *e.parent_ : e;
    }
    static bool is_call(const environment& e) noexcept {
        return (e.marks_.load(memory_order_relaxed) & environment::is_call) != 0;  // set before e is published
    }
    static bool is_shielded(const environment& e) noexcept {
        return (e.marks_.load(memory_order_relaxed) & environment::is_shielded) != 0;  // set before e is published
    }
    /// The environment that has the record of what waits in `e`: `e` itself, or for a call an environment above;
    /// nullptr if that is above a root. Of calls that call each other each longest_look-th has a record, so that the
    /// way there is short.
    static environment* recorder(environment* e) noexcept {
        environment* at = e;
        std::uint32_t calls = 0;
        for (; at != nullptr; at = at->parent_.get()) {
            const std::uint32_t marks = at->marks_.load(memory_order_relaxed);  // waits() looks again
            if ((marks & environment::is_call) == 0 || (marks & environment::has_waits) != 0) break;
            calls += is_generator(*at) ? 0 : 1;
        }
        return calls < longest_look ? at : pass_calls(e, calls % longest_look);
    }
    /// The first at or above `e` that has so many calls fewer on its way up, and may have a record. A generator may
    /// not: it looks at its children to see whether it can be destroyed.
    static environment* pass_calls(environment* e, std::uint32_t calls) noexcept {
        for (; is_call(*e) && (calls != 0 || is_generator(*e)); e = e->parent_.get()) calls -= is_generator(*e) ? 0 : 1;
        return e;
    }
    static promise_base* joiner(environment& e) noexcept {
        return object(e).joiner_ != nullptr ? object(e).joiner_->p_ : nullptr;
    }
    /// Nothing made in the object `e` is left: true if the caller goes on with the coroutine that joins it.
    static bool joined(environment& e) noexcept { return object(e).joiner_->passes_stop_.over(); }
    static child_count& children(environment& e) noexcept { return e.own_.children; }
    static const executor_entry* executor(environment& e) noexcept { return e.executor_; }
    /// For use while no thread runs it.
    static void set_executor(environment& e, const executor_entry& to) noexcept { e.executor_ = &to; }

    /// Remembers a failed child's error for the end of the scope, and forgets the errors at hand that were observed
    /// since.
    static void record(environment& of, failure& f) noexcept;
    /// An error of a child, or of its block, stops `e`, which has children and has not been stopped.
    static bool stops_for(environment& e) noexcept;
    /// The error that stopped `e`, with a reference that is the caller's now; nullptr: there is none.
    static failure* take_cause(environment& e) noexcept { return std::exchange(object(e).stopped_by_, nullptr); }
    /// The unobserved failures of a joined scope, first one first, as one; nullptr if there is none. The caller owns
    /// a reference.
    static failure* collect(environment& e, failure* first) noexcept;

    class failures_guard;

    /// The failures of a scope, youngest first. Under the guard, or when no other thread is left in the scope.
    static failure* failures(const environment& e) noexcept {
        const wait_record* const r = waits(e);
        return static_cast<failure*>(r != nullptr ? r->failures : own_failures(e));
    }
    static void set_failures(environment& e, failure* f) noexcept {
        if (wait_record* const r = waits(e)) {
            r->failures = f;
        } else {
            set_own_failures(e, f);
        }
    }
    /// The failures of a scope that has no record.
    static void* own_failures(const environment& e) noexcept {
        // relaxed: set under the guard.
        return (e.marks_.load(memory_order_relaxed) & environment::has_failures) != 0 ? e.failures_ : nullptr;
    }
    static void set_own_failures(environment& e, void* f) noexcept {
        e.failures_ = f;
        e.marks_.fetch_or(environment::has_failures, memory_order_relaxed);  // pairs with nothing: under the guard
    }

    /// The record of the waits in and below `e`, a recorder(); nullptr if there is none. Pre: its scope is open.
    static wait_record* waits(const environment& e) noexcept {
        // acquire pairs with the release in install(): the record is complete, and so is the way up from it.
        if ((e.marks_.load(memory_order_acquire) & environment::has_waits) == 0) return nullptr;
        return static_cast<wait_record*>(e.failures_);
    }
    /// Gives `e` the record `r` below the record `up`, unless it has one by now; returns what it has.
    static wait_record* publish_waits(environment& e, wait_record& r, wait_record* up) noexcept;
    /// The record of `e`, a recorder(). Makes it, with the records above, if there is none. Throws std::bad_alloc
    /// before any effect.
    static wait_record& record_of(environment& e);
    /// Gives the environments above `e` their records, if there is memory: then requests find these environments, and
    /// they need not look up.
    static void record_above(environment& e) noexcept;
    /// The scope is joined: takes the record away, if there is one, and puts the failures back.
    static void end_waits(environment& e) noexcept;
    /// A stop was requested above `e`.
    static void pass_request(environment& e) noexcept {
        e.marks_.fetch_or(environment::stop_asked, memory_order_release);  // pairs with the acquire in look_up()
    }
    /// A stop was requested of `e`: passes that on to all below it that have a record.
    static void mark_below(environment& e) noexcept;
    /// Claims and stops what waits in and below `e`. Pre: the request can be seen.
    static void stop_waits(environment& e) noexcept;

    /// While `p` is in thread_state::begins: the coroutine behind it. It has no scope yet, so the word of its scope's
    /// failures is free.
    static promise_base* begins_after(const promise_base& p) noexcept {
        return static_cast<promise_base*>(p.failures_);
    }
    static void set_begins_after(promise_base& p, promise_base* next) noexcept { p.failures_ = next; }

    static void list(environment& e, frame_control& c) noexcept;
    static void unlist(environment& e, frame_control& c) noexcept;
};

/// Holds the lock of a scope's failures for a few instructions.
class environment_access::failures_guard {
public:
    explicit failures_guard(environment& e) noexcept : marks_(e.marks_) {
        // acquire pairs with the release below: the list as the last holder left it.
        while ((marks_.fetch_or(environment::failures_locked, memory_order_acquire) & environment::failures_locked) !=
               0)
            cpu_pause();
    }
    ~failures_guard() { marks_.fetch_and(~environment::failures_locked, memory_order_release); }
    failures_guard(const failures_guard&) = delete;
    failures_guard& operator=(const failures_guard&) = delete;

private:
    atomic<std::uint32_t>& marks_;
};

}  // namespace coflux::detail

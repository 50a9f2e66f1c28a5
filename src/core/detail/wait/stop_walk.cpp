#include "core/detail/wait/stop_walk.hpp"

#include <algorithm>
#include <utility>

#include <coflux/core/detail/thread/transfer.hpp>
#include <coflux/core/detail/wait/wait_operation.hpp>

#include "core/detail/scope/environment_tree.hpp"
#include "core/detail/scope/scope_children.hpp"
#include "core/detail/wait/stop_steps.hpp"
#include "core/detail/wait/wait_records.hpp"

namespace coflux::detail {

/// One request on its way to what is in and below one record: it marks the coroutines, and claims and stops what waits.
/// It goes in steps. Between two of them it holds no lock, but keeps the coroutine that it is at from its end.
struct stop_walk {
    environment* at = nullptr;  // the environment that has the record; nullptr: it only stops what is claimed
    const environment* through = nullptr;  // what is not made in it, or below it, is passed by; nullptr: nothing is
    const wait_record* top = nullptr;      // the record of `at`
    wait_record* stands = nullptr;         // between two steps: there; nullptr: it has been everywhere
    bool has_passed = false;               // all below `stands` is done, or is passed by
    int left = longest_stop_step;          // looks, in this step
    intrusive_chain<wait_operation> claimed{};

    /// True if `e` is the call that is stopped, or was made in it through other calls.
    [[nodiscard]] bool concerns(const environment* e) const noexcept {
        if (through == nullptr) return true;
        while (e != through && e != at && e != nullptr && environment_tree::is_call(*e))
            e = environment_tree::parent(*e);
        return e == through;
    }

    /// Pre: the record's lock is held. A thread that publishes a record or a wait there takes the lock after us, and
    /// sees the mark.
    void visit(wait_record& r, bool all) noexcept {
        // [stop.walk.marks]
        if (all) r.of->marks_.fetch_or(environment::stop_asked, memory_order_release);  // pairs with look_up()
        for (wait_operation* w = r.waiting.front(); w != nullptr;) {
            wait_operation& op = *w;
            w = op.published_next_;
            if ((!all && !concerns(op.coroutine_)) || !op.kind_->claim(op)) continue;
            op.unpublish();
            claimed.push_back(op);
        }
    }
    /// Visits `r`, which is below a record that is locked, and leaves it locked. False if it is passed by.
    bool enter(wait_record& r, const wait_record& above) noexcept {
        // Only the first level below a call's recorder may have been made elsewhere.
        if (environment_tree::is_shielded(*r.of) || (&above == top && !concerns(environment_tree::parent(*r.of))))
            return false;
        r.lock.lock();
        if (!std::exchange(r.asked, true)) return visit(r, true), true;
        r.lock.unlock();  // another request goes on from there
        return false;
    }

    /// True if the step is over, and the walk is at `r` from now on. The lock of `r` or of the record above is
    /// held. Not at an environment object, which may be destroyed at any time, nor at a coroutine that has been joined.
    bool is_over_at(wait_record& r, bool passed) noexcept {
        // [stop.walk.keeps]
        if (left > 0 || environment_tree::is_object(*r.of) || !scope_children::count(*r.of).try_add_atomically())
            return false;
        // Under the lock: another request that meets what this one has asked, and returns, leaves it behind. Released
        // with the lock, and with the count.
        // [stop.walk.stands]
        standing_stops.fetch_add(1, memory_order_relaxed);
        stands = &r;
        has_passed = passed;
        return true;
    }
    static void unlock(wait_record* r, const wait_record* highest) noexcept {
        while (r != highest) std::exchange(r, r->above)->lock.unlock();
        r->lock.unlock();
    }

    /// From `r`, which is locked and has been visited, on through what is below it, and what comes after it below
    /// `top`. In the end no lock is held. Locks are held from the highest record down to the one where it looks, so
    /// that none of them goes away meanwhile; what is above the highest stays because the walk stood below that.
    void go_on_from(wait_record& r, bool passed) noexcept {
        wait_record* here = &r;
        wait_record* highest = here;
        for (wait_record* child = passed ? nullptr : here->below.front();; --left) {
            if (child == nullptr) {
                if (here == top || is_over_at(*here, true)) return unlock(here, highest);
                wait_record* const done = std::exchange(here, here->above);
                if (done == highest) {
                    done->lock.unlock();
                    here->lock.lock();
                    child = done->next;
                    highest = here;
                } else {
                    child = done->next;
                    done->lock.unlock();
                }
            } else if (enter(*child, *here)) {
                here = std::exchange(child, child->below.front());
                if (is_over_at(*here, false)) return unlock(here, highest);
            } else {
                if (is_over_at(*child, true)) return unlock(here, highest);
                child = child->next;
            }
        }
    }

    /// The first step. Pre: the record of `at` is locked.
    void begin(wait_record& r) noexcept {
        if (through == nullptr && std::exchange(r.asked, true)) {
            r.lock.unlock();
            return count_stop_request();
        }
        stop_walk* const outer = this_thread.stopping;
        if (outer != nullptr) left = std::max(outer->left, 1);
        const int most = left;
        visit(r, false);
        go_on_from(r, false);
        note_effort(most);
        // [stop.walk.counts]
        count_stop_request();
        if (outer != nullptr) outer->left -= most - left;
        stop_claimed();
    }
    /// One more step. Pre: not is_done().
    void step() noexcept {
        wait_record* const from = std::exchange(stands, nullptr);
        if (from == nullptr) return stop_claimed();
        environment& kept = *from->of;
        from->lock.lock();
        left = longest_stop_step;
        // [stop.walk.goes_on]
        go_on_from(*from, has_passed);
        note_effort(longest_stop_step);
        // It is elsewhere, or has been everywhere. release pairs with the acquire in look_up(): all marks are
        // there.
        // [stop.walk.has_been_everywhere]
        standing_stops.fetch_sub(1, memory_order_release);
        stop_claimed();
        promise_base::release_kept(kept);
    }
    void note_effort(int most) const noexcept {
        effort_of_stops.steps.fetch_add(1, memory_order_relaxed);
        effort_of_stops.looks.fetch_add(static_cast<std::uint64_t>(most - left), memory_order_relaxed);
    }
    /// Stops what is claimed, and what that claims in turn, until the step is over.
    void stop_claimed() noexcept {
        if (claimed.empty()) return;
        // An operation that is stopped stops its handles, and so on: a loop, not a recursion, however long the chain
        // is. A coroutine that is claimed and not resumed yet is alive: it does not go on before.
        if (this_thread.stopping != nullptr) return this_thread.stopping->claimed.append(claimed);
        // A coroutine that is resumed in place runs code of users: not before the last claimed operation has been
        // resumed. Otherwise the coroutine of an operation that was not resumed could be resumed on this stack and wait
        // for us.
        const resumption_pause pause;
        this_thread.stopping = this;
        for (left = longest_stop_step; left > 0; --left) {
            wait_operation* const op = claimed.pop_front();
            if (op == nullptr) break;
            op->next = nullptr;
            op->kind_->stop(*op);  // the operation may be gone from here on
        }
        this_thread.stopping = nullptr;  // before the coroutines that wait for the pause to end
    }
    [[nodiscard]] bool is_done() const noexcept { return stands == nullptr && claimed.empty(); }
    /// All that is left, by a child or at once.
    void go_on() noexcept {
        while (!is_done() && !hand_over()) step();
    }
    /// The requests of an operation in this step: the waits that they claim are stopped later. Each request counts as a
    /// look, beside those that it takes.
    bool request_some(void* of, bool (*request_next)(void* of) noexcept, int at_least) noexcept {
        bool any_left = true;
        // [stop.step.requests]
        for (int requests = 0; any_left && (left > 0 || requests < at_least); ++requests, --left)
            any_left = request_next(of);
        return !any_left;
    }

    /// Leaves what is left to do to a child of the coroutine that it is at, or of one that has the record of a wait that
    /// it has claimed: a call that waits may have no open scope. False if that is an environment object, which does not
    /// wait for a child that it has not made, if it has no executor, or if there is no memory.
    bool hand_over() const noexcept;
};

bool can_leave_to_child_of(const environment& to) noexcept {
    const executor_entry* const own = executor_of(to);
    if (own == nullptr) return false;
    if (data_ref_of(to).pooled() || this_thread.serves(own->identity)) return true;
    const environment* const current = this_thread.current;  // on an executor of the user
    return current != nullptr && identity_of(executor_of(*current)) == own->identity;
}

bool stop_walk::hand_over() const noexcept {
    environment* const to = stands != nullptr ? stands->of : wait_records::recorder(&claimed.front()->coroutine());
    // Kept: the child may end, and all that waits for it, before this thread lets go of the child's frame.
    if (to == nullptr || environment_tree::is_object(*to) || !scope_children::count(*to).try_add_atomically())
        return false;
    const bool is_left = leave_to_child_of(*to, *this);
    promise_base::release_kept(*to);
    return is_left;
}

void count_stop_request() noexcept {
    std::uint32_t count = stop_requests.load(memory_order_relaxed);
    // Releases the marks to a thread that sees the new count.
    // [stop.request.counts]
    while (!stop_requests.compare_exchange_weak(count, (count + 1) & stop_count_mask, memory_order_acq_rel,
                                                memory_order_relaxed)) {}
}

void stop_below(environment& e) noexcept {
    environment* const at = wait_records::recorder(&e);
    // A wait in a call finds the call's mark by the count, and not by the mark of what has the record.
    // [stop.request.counts_first]
    if (at != &e) count_stop_request();
    wait_record* const top = at != nullptr ? wait_records::find_locked(*at) : nullptr;
    if (top == nullptr) return count_stop_request();
    stop_walk walk{.at = at, .through = at == &e ? nullptr : &e, .top = top};
    walk.begin(*top);
    walk.go_on();
}

bool request_in_step(void* of, bool (*request_next)(void* of) noexcept, int at_least) noexcept {
    if (stop_walk* const outer = this_thread.stopping; outer != nullptr)
        return outer->request_some(of, request_next, at_least);
    stop_walk walk;
    this_thread.stopping = &walk;
    const bool all_requested = walk.request_some(of, request_next, at_least);
    this_thread.stopping = nullptr;
    walk.stop_claimed();
    walk.go_on();
    return all_requested;
}

void stop_in_steps(wait_operation& claimed) noexcept {
    stop_walk walk;
    walk.claimed.push_back(claimed);
    walk.stop_claimed();
    walk.go_on();
}

void stop_again(wait_operation& claimed) noexcept {
    this_thread.stopping->claimed.push_front(claimed);
}

}  // namespace coflux::detail

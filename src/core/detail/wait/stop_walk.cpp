#include "core/detail/wait/stop_walk.hpp"

#include <coflux/core/detail/thread/transfer.hpp>
#include <coflux/core/detail/wait/wait_operation.hpp>

#include "core/detail/scope/environment_tree.hpp"
#include "core/detail/wait/wait_records.hpp"

namespace coflux::detail {

/// One request on its way to what is in and below one record: to mark the coroutines, then to claim what waits and stop
/// it.
struct stop_walk {
    const environment* at;       // the environment that has the record
    const environment* through;  // what is not made in it, or below it, is passed by; nullptr: nothing is
    intrusive_chain<wait_operation> claimed{};

    /// True if `e` is the call that is stopped, or was made in it through other calls.
    [[nodiscard]] bool concerns(const environment* e) const noexcept {
        if (through == nullptr) return true;
        while (e != through && e != at && e != nullptr && environment_tree::is_call(*e))
            e = environment_tree::parent(*e);
        return e == through;
    }

    /// Pre: the record's lock is held. A thread that publishes a record below this one takes the lock after us, and
    /// sees the mark.
    void mark(wait_record& r, bool all) const noexcept {
        if (all) r.of->marks_.fetch_or(environment::stop_asked, memory_order_release);  // pairs with look_up()
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
            while (child != nullptr && (environment_tree::is_shielded(*child->of) ||
                                        (at == &top && !concerns(environment_tree::parent(*child->of)))))
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

void mark_below(environment& e) noexcept {
    environment* const at = wait_records::recorder(&e);
    wait_record* const top = at != nullptr ? wait_records::find_locked(*at) : nullptr;
    if (top == nullptr) return;
    stop_walk walk{.at = at, .through = at == &e ? nullptr : &e};
    walk.visit_below(*top, [&](wait_record& r, bool all) { walk.mark(r, all); });
}

void stop_below(environment& e) noexcept {
    environment* const at = wait_records::recorder(&e);
    wait_record* const top = at != nullptr ? wait_records::find_locked(*at) : nullptr;
    if (top == nullptr) return;
    stop_walk walk{.at = at, .through = at == &e ? nullptr : &e};
    walk.visit_below(*top, [&](wait_record& r, bool all) { walk.claim(r, all); });
    if (walk.claimed.empty()) return;
    // An operation that is stopped stops its handles, and so on: a loop, not a recursion, however long the chain is.
    // What is claimed and not resumed yet is alive: it does not go on before.
    if (this_thread.stopping != nullptr) return walk.leave_to(*this_thread.stopping);
    walk.stop_claimed();
}

}  // namespace coflux::detail

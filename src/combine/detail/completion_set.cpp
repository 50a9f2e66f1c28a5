#include <coflux/combine/detail/completion_set.hpp>

#include <new>

#include <coflux/base/assert.hpp>
#include <coflux/base/no_coroutine.hpp>
#include <coflux/core/detail/scope/failure.hpp>
#include <coflux/core/detail/wait/stop_relay.hpp>
#include <coflux/core/detail/wait/turn.hpp>
#include <coflux/memory/frame_pool.hpp>

#include "core/detail/readable_name.hpp"
#include "core/detail/scope/environment_tree.hpp"
#include "core/detail/scope/scope_children.hpp"
#include "core/detail/scope/scope_failures.hpp"
#include "core/detail/scope/scope_stops.hpp"
#include "core/detail/wait/stop_steps.hpp"

namespace coflux::detail {
namespace {

/// A child that runs on without its handle must be one that its scope joins before what it borrows dies.
void check_may_be_left(frame_control& c) noexcept {
    const promise_base& p = promise_base::of(c);
    if (!c.join.may_run()) return;
    const bool is_root = environment_tree::is_root(p);
    if (!is_root && !environment_tree::is_borrowing(p)) return;
    const std::source_location at = c.location();
    fail(
        __FILE__, __LINE__, "done()",
        "completions died before a child that %s has ended: %s, at %s:%u. Take the rest by next_outcome() first, after a "
        "request_stop() if it is not wanted, or make it in the scope of a coflux::with_scope",
        is_root ? "is a root" : "borrows", readable_name(at.function_name()).c_str(), at.file_name(),
        static_cast<unsigned>(at.line()));
}

}  // namespace

completion_set& completion_set::make() {
    return *::new (allocate_pooled(sizeof(completion_set), alignof(completion_set))) completion_set;
}

void completion_set::destroy(completion_set& of) noexcept {
    of.~completion_set();
    deallocate_pooled(&of, sizeof(completion_set), alignof(completion_set));
}

void completion_set::reserve(frame_control& c) {
    auto* const n = ::new (allocate_pooled(sizeof(completion_node), alignof(completion_node))) completion_node;
    n->ended = &child_ended;
    n->of = this;
    n->child = &c;
    unwatched_.push_back(*n);
}

void completion_set::free(completion_node& n) noexcept {
    n.~completion_node();
    deallocate_pooled(&n, sizeof(completion_node), alignof(completion_node));
}

void completion_set::unreserve() noexcept {
    while (completion_node* const n = unwatched_.pop_front()) free(*n);
}

void completion_set::watch() noexcept {
    while (completion_node* const n = unwatched_.pop_front()) {
        n->index = begun_++;
        all_.push_front(*n);
        ++left_;
        if (n->child->join.await(*n) == join_result::registered) continue;
        n->known_to_scope = true;
        const adaptive_guard guard(lock_);
        ended_.push_back(*n);
        ++ended_count_;
    }
}

/// A child of the consumer's environment that requests what is left after one step.
struct completion_set::further_stops {
    completion_set* of;
    bool over = false;

    void step() noexcept { over = of->stop_some() && of->end_stops(); }
    [[nodiscard]] bool is_done() const noexcept { return over; }
};

void completion_set::stop_all(environment& here) noexcept {
    {
        const adaptive_guard guard(lock_);
        left_to_stop_ = all_.front();
        if (left_to_stop_ == nullptr || is_stopping_) return;
        is_stopping_ = true;
    }
    if ((stop_some() && end_stops()) || leave_stops_to_child_of(here)) return;
    do {
        while (stop_next(this)) {}
    } while (!end_stops());
}

/// False if none can be made, as in stop_walk::hand_over().
bool completion_set::leave_stops_to_child_of(environment& here) noexcept {
    if (environment_tree::is_object(here) || !scope_children::count(here).try_add_atomically()) return false;
    const bool is_left = leave_to_child_of(here, further_stops{this});
    promise_base::release_kept(here);
    return is_left;
}

bool completion_set::stop_some() noexcept {
    // [completions.stop.steps]
    return request_in_step(this, &stop_next);
}

bool completion_set::stop_next(void* self) noexcept {
    auto& of = *static_cast<completion_set*>(self);
    {
        const adaptive_guard guard(of.lock_);
        of.asked_ = of.left_to_stop_;
        if (of.asked_ == nullptr) return false;  // the rest was taken out meanwhile
        of.left_to_stop_ = of.asked_->next_of_all;
    }
    // Without the lock: the request takes those of the coroutines below. Until `asked_` is another one, the frame
    // stays.
    request_stop_of(*of.asked_->child);
    const adaptive_guard guard(of.lock_);
    of.asked_ = nullptr;
    return of.left_to_stop_ != nullptr;
}

/// False if more are asked for by now. After it this may be gone.
bool completion_set::end_stops() noexcept {
    bool is_last = false;
    {
        const adaptive_guard guard(lock_);
        if (left_to_stop_ != nullptr) return false;
        is_stopping_ = false;
        is_last = abandoned_ && --users_ == 0;
    }
    if (is_last) destroy(*this);
    return true;
}

/// Pre: the lock is held. It is released while the stop of `n` is being requested.
void completion_set::unlink(completion_node& n) noexcept {
    while (asked_ == &n) {
        lock_.unlock();
        cpu_pause();
        lock_.lock();
    }
    if (left_to_stop_ == &n) left_to_stop_ = n.next_of_all;
    all_.remove(n);
}

void completion_set::abandon(environment& here) noexcept {
    for (completion_node* n = all_.front(); n != nullptr; n = n->next_of_all) check_may_be_left(*n->child);
    stop_all(here);
    intrusive_chain<completion_node, linked_links> ended;
    bool is_last = false;
    {
        const adaptive_guard guard(lock_);
        COFLUX_VERIFY(parked_ == nullptr, "completions died while their next() was awaited");
        abandoned_ = true;
        users_ = left_ - ended_count_ + (is_stopping_ ? 1 : 0) + 1;  // this call is one
        while (completion_node* const n = ended_.pop_front()) {
            unlink(*n);
            ended.push_back(*n);
        }
        is_last = --users_ == 0;
    }
    while (completion_node* const n = ended.pop_front()) discard(*n, here);
    if (is_last) destroy(*this);
}

/// A child that ended, and whose result is not wanted: its error goes to `scope`.
void completion_set::discard(completion_node& n, environment& scope) noexcept {
    frame_control& c = *n.child;
    const bool known = n.known_to_scope || c.join.is_shared();
    free(n);
    if (!known && c.word.end() == ending::error) scope_failures::record(scope, *c.error);
    promise_base::drop(c);
}

/// Pre: it is unlinked.
frame_control& completion_set::remove(completion_node& n) noexcept {
    frame_control& c = *n.child;
    --left_;
    free(n);
    return c;
}

completion_set::ended_child completion_set::pop() noexcept {
    completion_node* n = nullptr;
    {
        const adaptive_guard guard(lock_);
        n = ended_.pop_front();
        --ended_count_;
        unlink(*n);
    }
    const std::size_t index = n->index;
    return {index, remove(*n)};
}

std::coroutine_handle<> completion_set::child_ended(waiter& self, frame_control& c, const void*) noexcept {
    auto& n = static_cast<completion_node&>(self);
    completion_set& of = *n.of;
    completion_wait* woken = nullptr;
    bool is_orphan = false;
    bool is_last = false;
    bool stops = false;
    {
        const adaptive_guard guard(of.lock_);
        is_orphan = of.abandoned_;
        if (is_orphan) {
            of.unlink(n);
            is_last = --of.users_ == 0;
        } else {
            woken = std::exchange(of.parked_, nullptr);
            stops = woken != nullptr && woken->stops_ && c.word.ended_stopped();
            if (stops) {
                of.unlink(n);
            } else {
                of.ended_.push_back(n);
                ++of.ended_count_;
            }
        }
    }
    if (is_orphan) {
        // The handle is gone: it ends as a child does that nothing awaits. Its scope has not released it yet.
        environment& scope = *promise_base::of(c).parent();
        if (c.word.ended_stopped()) scope_stops::record_unshared(scope, promise_base::of(c));
        discard(n, scope);
        if (is_last) destroy(of);
        return no_coroutine();
    }
    // Unless the consumer waits, the set may be gone.
    if (woken == nullptr) return no_coroutine();
    if (stops) {
        promise_base::drop(of.remove(n));
        woken->withdraw();
        woken->coroutine().begin_unwind();
    }
    woken->wake();  // through the queue, so that more children may end before it goes on
    return no_coroutine();
}

bool completion_wait::is_first_stopped() noexcept {
    if (!stops_) return false;
    const adaptive_guard guard(of_.lock_);
    const completion_node* const first = of_.ended_.front();
    return first != nullptr && first->child->word.ended_stopped();
}

bool completion_wait::await_ready() noexcept {
    bool ready = false;
    {
        const adaptive_guard guard(of_.lock_);
        ready = is_there();
    }
    if (!ready || is_first_stopped()) return false;
    if (goes_on()) return true;
    lets_others_run_ = true;
    return false;
}

std::coroutine_handle<> completion_wait::stop_for_first() noexcept {
    promise_base::drop(of_.pop().frame);
    return coroutine().stop_here();
}

std::coroutine_handle<> completion_wait::await_suspend(std::coroutine_handle<>) {
    promise_base& p = coroutine();
    if (lets_others_run_) return let_others_run(p);
    if (p.begin_suspend() == suspension::stop) return p.stop_here();
    if (is_first_stopped()) return stop_for_first();
    place queue{of_};
    // Only the consumer takes children out, so this stays true: once a child has ended, one has.
    switch (try_to_queue(of_.lock_, queue, *this, [this]() noexcept { return is_there(); })) {
    case wait_attempt::stop: return p.stop_here();
    case wait_attempt::ready: return is_first_stopped() ? stop_for_first() : transfer(p.handle());
    case wait_attempt::waits: break;
    }
    return suspended();
}

void completion_wait::place::push_back(completion_wait& w) noexcept {
    COFLUX_VERIFY(of.parked_ == nullptr, "next() of completions whose next() is being awaited");
    of.parked_ = &w;
}

bool completion_wait::claim(wait_operation& waiting) noexcept {
    auto& self = static_cast<completion_wait&>(waiting);
    const adaptive_guard guard(self.of_.lock_);
    if (self.of_.parked_ != &self) return false;
    self.of_.parked_ = nullptr;
    return true;
}

}  // namespace coflux::detail

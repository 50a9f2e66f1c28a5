// Waiting in the list of a frame with views or callbacks.
#include <coflux/core/detail/join/await_frame.hpp>
#include <coflux/core/detail/join/callbacks.hpp>
#include <coflux/core/fork_view.hpp>

#include <cstdint>
#include <new>

#include <coflux/memory/frame_pool.hpp>

#include "core/detail/scope/scope_failures.hpp"

namespace coflux::detail {

/// What stands in the list of a shared frame for a shared_wait. Its lock decides whether the coroutine is the stopper's
/// or the ender's:
///
///     fresh --wait_for--> queued --stopper--> claimed   the stopper's; the ender frees the node
///                            +-----end------> ended     the ender's; the awaiter frees the node
///
/// wait_for() holds the lock until it has touched everything for the last time.
struct shared_place : waiter {
    enum class state : std::uint8_t { fresh, queued, claimed, ended };

    explicit shared_place(shared_wait& w) noexcept : wait(&w) {
        coroutine = &w.coroutine();
        ended = &shared_place::frame_ended;
    }

    /// queued becomes `to`; false if another thread was first.
    bool take(state to) noexcept {
        const adaptive_guard guard(lock);
        if (now != state::queued) return false;
        now = to;
        return true;
    }

    static std::coroutine_handle<> frame_ended(waiter& self, frame_control& c, const void* here) noexcept {
        auto& place = static_cast<shared_place&>(self);
        if (!place.take(state::ended)) {
            shared_wait::free_place(place);
            return std::noop_coroutine();
        }
        promise_base& p = *place.coroutine;
        place.wait->withdraw();  // here, because one that is woken to stop resumes nowhere
        return promise_base::wake(p, c.word.end(), here);
    }

    shared_wait* wait;
    adaptive_lock lock;
    state now = state::fresh;
};

void shared_wait::free_place(shared_place& place) noexcept {
    place.~shared_place();
    deallocate_pooled(&place, sizeof(shared_place), alignof(shared_place));
}

bool shared_wait::claim(wait_operation& waiting) noexcept {
    auto& self = static_cast<shared_wait&>(waiting);
    if (!self.place_->take(shared_place::state::claimed)) return false;
    self.place_ = nullptr;  // it is the list's now
    return true;
}

std::coroutine_handle<> shared_wait::wait_for(frame_control& c) {
    promise_base& p = coroutine();
    if (p.begin_suspend() == suspension::stop) return p.stop_here();
    p.check_not_self(c);
    shared_place& place = *::new (allocate_pooled(sizeof(shared_place), alignof(shared_place))) shared_place(*this);
    place_ = &place;  // its destructor frees it where begin() throws
    begin();
    place.lock.lock();
    const bool stops = must_stop();
    if (!stops && c.join.await(place) == join_result::registered) {
        place.now = shared_place::state::queued;
        place.lock.unlock();
        return suspended();
    }
    place.lock.unlock();
    end();
    return stops ? p.stop_here() : transfer(promise_base::wake(p, c.word.end(), identity_of(p.runs_on())));
}

namespace {

/// A node in a list that frees itself when its wait is over.
struct list_place : waiter {
    static void leave(list_place* place) noexcept {
        std::pmr::memory_resource* const memory = place->coroutine->memory_resource();
        place->~list_place();
        memory->deallocate(place, sizeof(list_place), alignof(list_place));
    }
};

}  // namespace

std::coroutine_handle<> await_in_list(promise_base& p, frame_control& child) {
    void* const memory = p.memory_resource()->allocate(sizeof(list_place), alignof(list_place));
    auto* const place = ::new (memory) list_place;
    place->coroutine = &p;
    place->ended = [](waiter& self, frame_control& c, const void* here) noexcept {
        promise_base& awaiting = *self.coroutine;
        list_place::leave(static_cast<list_place*>(&self));
        return promise_base::wake(awaiting, c.word.end(), here);
    };
    if (p.begin_suspend() == suspension::stop) {
        list_place::leave(place);
        return p.stop_here();
    }
    if (p.await_elsewhere(child, *place) == join_result::registered) return std::noop_coroutine();
    list_place::leave(place);
    return transfer(promise_base::wake(p, child.word.end(), identity_of(p.runs_on())));
}

void record_callback_error(environment& scope) noexcept {
    failure* const f = current_failure();
    scope_failures::record(scope, *f);
    f->release();
}

}  // namespace coflux::detail

// Waiting in the list of a frame with views or callbacks.
#include <coflux/core/callbacks.hpp>
#include <coflux/core/fork_view.hpp>

#include "environment_access.hpp"

namespace coflux::detail {

std::coroutine_handle<> await_shared(promise_base& p, frame_control& c, waiter& w) noexcept {
    if (p.suspends()) return p.stop_here();
    p.leaves();
    w.coroutine = &p;
    w.ended = [](waiter& self, frame_control& child, const void* here) noexcept {
        return promise_base::wake(*self.coroutine, child.word.end(), here);
    };
    if (promise_base::add_waiter(c, w)) return std::noop_coroutine();
    return transfer(promise_base::wake(p, c.word.end(), identity_of(p.runs_on())));
}

namespace {

/// A place in a list that frees itself when it is left.
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
    if (p.suspends()) {
        list_place::leave(place);
        return p.stop_here();
    }
    p.leaves();
    if (promise_base::add_waiter(child, *place)) return std::noop_coroutine();
    list_place::leave(place);
    return transfer(promise_base::wake(p, child.word.end(), identity_of(p.runs_on())));
}

void record_callback_error(environment& scope) noexcept {
    failure* const f = current_failure();
    environment_access::record(scope, *f);
    f->release();
}

}  // namespace coflux::detail

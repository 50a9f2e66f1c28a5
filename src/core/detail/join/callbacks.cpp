// Waiting in the list of a shared frame for its end, by its handle.
#include <coflux/core/detail/join/callbacks.hpp>

#include <new>

#include <coflux/base/no_coroutine.hpp>
#include <coflux/core/detail/promise/await.hpp>

#include "core/detail/scope/scope_failures.hpp"

namespace coflux::detail {

namespace {

/// A node in a list that frees itself when its wait is over.
struct list_node : waiter {
    static void leave(list_node* node) noexcept {
        std::pmr::memory_resource* const memory = node->coroutine->memory_resource();
        node->~list_node();
        memory->deallocate(node, sizeof(list_node), alignof(list_node));
    }
};

}  // namespace

std::coroutine_handle<> await_in_list(promise_base& p, frame_control& child) {
    void* const memory = p.memory_resource()->allocate(sizeof(list_node), alignof(list_node));
    auto* const node = ::new (memory) list_node;
    node->coroutine = &p;
    node->alone = true;
    node->ended = [](waiter& self, frame_control& c, const void* here) noexcept {
        promise_base& awaiting = *self.coroutine;
        list_node::leave(static_cast<list_node*>(&self));
        return promise_base::wake(awaiting, c.word.end(), here);
    };
    if (p.begin_suspend() == suspension::stop) {
        list_node::leave(node);
        return p.stop_here();
    }
    if (p.await_elsewhere(child, *node) == join_result::registered) return no_coroutine();
    list_node::leave(node);
    return transfer(promise_base::wake(p, child.word.end(), identity_of(p.runs_on())));
}

void record_callback_error(environment& scope) noexcept {
    failure* const f = current_failure();
    scope_failures::record(scope, *f);
    f->release();
}

}  // namespace coflux::detail

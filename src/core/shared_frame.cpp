// Waiting in the list of a frame with views or callbacks.
#include <coflux/core/callbacks.hpp>
#include <coflux/core/fork_view.hpp>

#include "environment_access.hpp"

namespace coflux::detail {

std::coroutine_handle<> await_shared(promise_base& p, frame_control& c, waiter& w) noexcept {
    if (p.suspends()) return p.stop_here();
    p.leaves();
    w.coroutine = &p;
    w.ended = [](waiter& self, frame_control& child, const executor_entry* here) noexcept {
        return promise_base::wake(*self.coroutine, child.end, here);
    };
    if (promise_base::add_waiter(c, w)) return std::noop_coroutine();
    return transfer(promise_base::wake(p, c.end, p.runs_on()));
}

list_node* new_list_node(promise_base& p) {
    return ::new (p.memory_resource()->allocate(sizeof(list_node), alignof(list_node))) list_node;
}

void delete_list_node(promise_base& p, list_node* node) noexcept {
    p.memory_resource()->deallocate(node, sizeof(list_node), alignof(list_node));
}

std::coroutine_handle<> await_in_list(promise_base& p, frame_control& child, list_node& node) noexcept {
    return await_shared(p, child, node);
}

void record_callback_error(environment& scope) noexcept {
    failure* const f = current_failure();
    environment_access::record(scope, *f);
    f->release();
}

}  // namespace coflux::detail

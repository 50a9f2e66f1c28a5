#include <coflux/core/detail/wait/turn.hpp>

#include <coflux/base/no_coroutine.hpp>

#include "core/detail/thread/steps.hpp"

namespace coflux::detail {

bool goes_on_aside() noexcept {
    ready_awaits_left = ready_awaits_in_a_step - 1;
    if (!spend_steps(1)) return true;
    worker* const w = this_thread.queues;
    return w != nullptr && !w->others_are_due();
}

std::coroutine_handle<> suspend_elsewhere(promise_base& p, std::coroutine_handle<> h) noexcept {
    p.clear_current();
    p.runs_on()->post(h);
    return no_coroutine();
}

std::coroutine_handle<> let_others_run(promise_base& p) noexcept {
    (void)p.begin_suspend();
    if (p.runs_on() == nullptr) return transfer(p.handle());
    return suspend_behind_ready(p, p.handle());
}

void turn_frame::come(void* frame) {
    auto& self = static_cast<turn_frame&>(*static_cast<proxy_frame*>(frame));
    this_thread.current = self.coroutine;
    self.tries(self);
}

std::coroutine_handle<> turn_frame::coroutine_of(std::coroutine_handle<> h) noexcept {
    // Whatever it is, it begins with what resume() calls.
    void (*const resume)(void*) = *static_cast<void (**)(void*)>(h.address());
    return resume == &turn_frame::come ? static_cast<proxy_frame*>(h.address())->coroutine->handle() : h;
}

}  // namespace coflux::detail

// How a stop request finds the waiters. The page docs/design/stop.md has the protocol.
#include <coflux/core/detail/wait/wait_operation.hpp>

#include "core/detail/wait/wait_records.hpp"

namespace coflux::detail {

void wait_operation::begin() {
    environment* const e = wait_records::recorder(coroutine_);
    // One that never asked for its context has no scope yet; only itself can be concerned.
    if (e == coroutine_) coroutine_->open_for_waits();
    wait_record* const r = &wait_records::find_or_make(*e);
    record_ = r;
    const adaptive_guard guard(r->lock);
    r->waiting.push_front(*this);
}

void wait_operation::withdraw_left() noexcept {
    if (record_ != no_record()) withdraw();
    record_ = nullptr;
}

void wait_operation::stop_claimed(wait_operation& claimed) noexcept {
    claimed.coroutine_->begin_unwind();
    claimed.wake();
}

void wait_operation::wake_elsewhere() noexcept {
    promise_base& p = *coroutine_;
    if (p.runs_on() != nullptr) return p.runs_on()->post(p.handle());
    thread_state& t = this_thread;
    t.woken.push_back(*this);
    if (!t.looping) run_aside(take_woken());
}

void for_each_wait(wait_record& root, void (*f)(wait_operation& w, void* context), void* context) {
    for (const wait_record* at = &root;;) {
        for (wait_operation* w = at->waiting.front(); w != nullptr; w = w->published_next_) {
            if (w->kind_->what != nullptr) f(*w, context);
        }
        if (!at->below.empty()) {
            at = at->below.front();
            continue;
        }
        while (at != &root && at->next == nullptr) at = at->above;
        if (at == &root) return;
        at = at->next;
    }
}

}  // namespace coflux::detail

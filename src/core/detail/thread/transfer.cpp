#include <coflux/core/detail/thread/transfer.hpp>

#include <coflux/core/detail/wait/wait_operation.hpp>

namespace coflux::detail {

std::coroutine_handle<> take_woken() noexcept {
    thread_state& t = this_thread;
    if (proxy_frame* const p = t.resumed.front(); p != nullptr) {
        if (p == &t.begins) {
            promise_base& first = *p->coroutine;
            p->coroutine = first.next_to_begin();
            if (p->coroutine == nullptr) (void)t.resumed.pop_front();
            return first.handle();
        }
        (void)t.resumed.pop_front();
        return p->coroutine->handle();
    }
    wait_operation& w = *t.woken.pop_front();
    const std::coroutine_handle<> h = w.coroutine().handle();
    if (w.kind().taken != nullptr) w.kind().taken(w);
    return h;
}

}  // namespace coflux::detail

#include <coflux/core/task.hpp>

#include <coflux/core/call.hpp>
#include <coflux/core/thread_driver.hpp>

#include "environment_access.hpp"

namespace coflux::detail {
namespace {

struct blocking_waiter : waiter {
    atomic<int> woken{0};  // 0 waits, 1 the coroutine has ended
};

const char* name_of_current() noexcept {
    const environment* const e = this_thread.current;
    if (e == nullptr) return "a coroutine";
    // The thread's current environment always is a coroutine's.
    return const_cast<promise_base*>(static_cast<const promise_base*>(e))->control().place().function_name();
}

}  // namespace

void fail_empty() noexcept {
    fail(__FILE__, __LINE__, "valid()", "a handle was used after it was awaited, moved from or attached");
}

void fail_awaited_twice() noexcept {
    fail(__FILE__, __LINE__, "!done()", "a call was awaited twice");
}

void block_until_done(frame_control& c, bool may_throw) {
    if (c.done()) return;
    COFLUX_VERIFY(this_thread.current == nullptr && this_thread.queues == nullptr,
                  "a blocking wait for %s on a thread that runs coroutines, in %s: co_await the task instead",
                  c.place().function_name(), name_of_current());
    if (thread_driver* const d = this_thread.driver; d != nullptr && d->drive(c, may_throw)) return;
    blocking_waiter w;
    w.ended = [](waiter& self, frame_control&, const void*) noexcept -> std::coroutine_handle<> {
        auto& woken = static_cast<blocking_waiter&>(self).woken;
        woken.store(
            1,
            memory_order_release);  // pairs with the wait below: the result is visible; `self` may be gone from here on
        woken.notify_one();         // uses the address only
        return std::noop_coroutine();
    };
    std::uintptr_t s = 0;
    // release: the end sees the waiter; acquire: if the coroutine has ended, its result is visible.
    if (!c.state.compare_exchange_strong(s, reinterpret_cast<std::uintptr_t>(static_cast<waiter*>(&w)),
                                         memory_order_acq_rel, memory_order_acquire)) {
        if ((s & frame_state::list) == 0 || !promise_base::add_waiter(c, w)) return;
    }
    while (w.woken.load(memory_order_acquire) == 0)
        w.woken.wait(0, memory_order_acquire);  // pairs with the store in `ended`
}

void end_of_task_handle(frame_control& c) noexcept {
    const bool was_done = c.done();
    if (!was_done || !c.word.has(frame_flags::destroyed)) {
        promise_base& p = promise_base::of(c);
        environment* const parent = p.parent();
        const bool root = environment_access::is_object(*parent) && environment_access::parent(*parent) == nullptr;
        if (root) {
            const error_handler on_error = p.data().on_error;
            block_until_done(c, false);
            if (c.word.end() == ending::error && !c.error->observed()) {
                c.error->observe();
                report_unobserved(on_error, *c.error);
            }
        }
    }
    promise_base::drop(c);
}

}  // namespace coflux::detail

#include <coflux/core/task.hpp>

#include <coflux/base/no_coroutine.hpp>
#include <coflux/core/detail/thread/thread_driver.hpp>

#include "core/detail/readable_name.hpp"
#include "core/detail/scope/environment_tree.hpp"

namespace coflux::detail {
namespace {

struct blocking_waiter : waiter {
    atomic<int> woken{0};  // 0 waits, 1 the coroutine has ended
};

readable_name name_of(const std::source_location& at) noexcept {
    return readable_name(at.line() == 0 ? "a coroutine" : at.function_name());
}

/// A coroutine, which an environment above a coroutine need not be.
readable_name name_of(const environment* e) noexcept {
    while (e != nullptr && environment_tree::is_object(*e)) e = environment_tree::parent(*e);
    if (e == nullptr) return readable_name("");
    return name_of(environment_tree::coroutine(*const_cast<environment*>(e)).control().location());
}

/// The blocking code, for a message: what it is, and its name.
struct blocking_context {
    const char* what = "";
    readable_name name{""};
};

blocking_context describe_blocked() noexcept {
    const thread_state& t = this_thread;
    if (t.current != nullptr) return {"", name_of(t.current)};
    if (t.ends != nullptr) {
        // The location of one that failed is gone.
        if (!t.ends->word.has(frame_flags::has_error)) return {"the end of ", name_of(t.ends->location())};
        return {"the end of a child of ", name_of(t.ends_in)};
    }
    if (t.queues == nullptr) return {"a callback of the timers", readable_name("")};
    return {"a coroutine that has not asked for its context", readable_name("")};
}

}  // namespace

void block_until_done(frame_control& c, bool may_throw) {
    if (c.done()) return;
    // The coroutine that a callback waits for may await the one that has ended, which its awaiters have when it has
    // returned.
    const frame_control* const ends = this_thread.ends;
    const bool in_callback = ends != nullptr && ends->has_ended() && !ends->done();
    const bool may_block =
        this_thread.current == nullptr && this_thread.queues == nullptr && !this_thread.keeps_timers && !in_callback;
    // The callbacks of `c` are being called: by this thread, perhaps, whose callback has the task's handle; or by one
    // that this thread must not wait for.
    if ((!may_block || ends != nullptr) && c.has_ended()) return;
    const blocking_context in = may_block ? blocking_context() : describe_blocked();
    COFLUX_VERIFY(may_block,
                  "a blocking wait for %s on a thread that runs coroutines, in %s%s: co_await the task instead",
                  name_of(c.location()).c_str(), in.what, in.name.c_str());
    if (thread_driver* const d = this_thread.driver; d != nullptr && d->drive(c, may_throw)) return;
    blocking_waiter w;
    w.ended = [](waiter& self, frame_control&, const void*) noexcept -> std::coroutine_handle<> {
        auto& woken = static_cast<blocking_waiter&>(self).woken;
        woken.store(
            1,
            memory_order_release);  // pairs with the wait below: the result is visible; `self` may be gone from here on
        woken.notify_one();         // uses the address only
        return no_coroutine();
    };
    if (c.join.await(w) == join_result::completed) return;
    while (w.woken.load(memory_order_acquire) == 0)
        w.woken.wait(0, memory_order_acquire);  // pairs with the store in `ended`
}

void end_of_task_handle(frame_control& c) noexcept {
    if (c.join.is_untaken()) return promise_base::drop(c);
    // Nothing of the parent, which may be gone: only a root's is known to be there.
    promise_base& p = promise_base::of(c);
    if (!environment_tree::is_root(p)) return promise_base::drop_checked(c);
    const error_handler on_error = p.data().on_error;
    block_until_done(c, false);
    if (c.word.end() == ending::error && !c.error->observed()) {
        c.error->observe();
        report_unobserved(on_error, *c.error);
    }
    promise_base::drop(c);
}

}  // namespace coflux::detail

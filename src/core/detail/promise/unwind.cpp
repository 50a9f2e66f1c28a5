// The end of a stopped coroutine: its body is unwound, once its children have ended.
//
// A resumption of a suspended coroutine calls the first word of its frame. A stop puts a function of this file there:
//
//     resume_unwinding --children joined--> resume_unwound --locals dead, and their children joined--> resume_destroyed
//
// Each goes on with the next at once where no child is left to wait for.
#include <coflux/core/detail/promise/promise_base.hpp>

#include "core/detail/promise/end_for_messages.hpp"
#include "core/detail/scope/scope_children.hpp"

namespace coflux::detail {
namespace {

using resume_function = void (*)(void*);

/// Both compilers (and libstdc++'s noop coroutine) start a frame with the pointer that resume() calls.
resume_function& resume_slot(std::coroutine_handle<> h) noexcept {
    return *static_cast<resume_function*>(h.address());
}

void resume_unwinding(void* frame);
void resume_unwound(void* frame);
void resume_destroyed(void* frame);

/// The end of a stop: the locals are dead, and what they made while they died has ended. The frame's memory
/// is left, and in it the environment as it was.
std::coroutine_handle<> unwound(promise_base& p) noexcept {
    resume_slot(p.handle()) = nullptr;  // done()
    p.finish_scope();
    promise_base::clear_current();
    return p.notify_waiters();
}

/// Second half of a stop: the children are joined. Destroys the body's locals, keeps the control, wakes the waiters.
/// The last of the children that the locals made continues with resume_destroyed().
std::coroutine_handle<> unwind(promise_base& p) noexcept {
    p.finish_scope();
    const std::coroutine_handle<> h = p.handle();
    scope_children::reopen(p);
    frame_control::of(h).word.set(frame_flags::retain | frame_flags::scope_open);
    {
        const end_for_messages named(p.control(), p.parent());
        h.destroy();  // runs the destructors of the locals; operator delete leaves the memory to the control
    }
    resume_slot(h) = &resume_destroyed;
    return p.close_scope() == children_left::none ? unwound(p) : std::noop_coroutine();
}

/// First half of a stop: closes the scope; the last child continues with resume_unwound().
std::coroutine_handle<> close_unwinding(promise_base& p) noexcept {
    resume_slot(p.handle()) = &resume_unwound;
    return p.close_scope() == children_left::none ? unwind(p) : std::noop_coroutine();
}

/// Goes on with `h` from a plain function. A chain of stopped parents is a loop, not a recursion.
void go_on(std::coroutine_handle<> h) noexcept {
    while (h != std::noop_coroutine()) {
        promise_base& p = promise_base::of(frame_control::of(h));
        if (resume_slot(h) == &resume_unwinding) {
            h = close_unwinding(p);
        } else if (resume_slot(h) == &resume_unwound) {
            h = unwind(p);
        } else if (resume_slot(h) == &resume_destroyed) {
            h = unwound(p);
        } else {
            // A coroutine that took the stop as an outcome: through its queue, because no tail call leads out of here.
            if (p.runs_on() != nullptr) return p.runs_on()->post(h);
            return run_next(h);
        }
    }
}

void resume_unwinding(void* frame) {
    this_thread.current = nullptr;
    go_on(close_unwinding(promise_base::of(frame_control::of(frame))));
}

void resume_unwound(void* frame) {
    this_thread.current = nullptr;
    go_on(unwind(promise_base::of(frame_control::of(frame))));
}

void resume_destroyed(void* frame) {
    this_thread.current = nullptr;
    go_on(unwound(promise_base::of(frame_control::of(frame))));
}

}  // namespace

void promise_base::begin_unwind() noexcept {
    frame_control& c = control();
    c.word.set_end(ending::stopped);
    c.word.set(frame_flags::unwinding);
    resume_slot(handle()) = &resume_unwinding;
}

std::coroutine_handle<> promise_base::stop_here() noexcept {
    clear_current();
    begin_unwind();
    return transfer(handle());
}

}  // namespace coflux::detail

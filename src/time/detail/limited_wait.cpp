#include <coflux/time/detail/limited_wait.hpp>

#include <utility>

#include <coflux/core/detail/thread/transfer.hpp>

namespace coflux::detail {

limited_wait::~limited_wait() {
    if (limit_ != nullptr) settled_ ? limit_->free() : limit_->cancel();
    if (child_ != nullptr) promise_base::drop(*child_);
}

void limited_wait::limits(frame_control& child) {
    promise_base& target = promise_base::of(child);
    const executor_entry* const executor = coroutine->runs_on();
    timer_queue* const own = timer_queue::of_thread_for(executor);
    if (deadline_ <= (own != nullptr ? own->now() : tick_now())) {
        late_ = true;
        target.request_stop();
    } else {
        limit_ = time_limit::arm(target, deadline_, executor);
    }
}

std::coroutine_handle<> limited_wait::wait() noexcept {
    promise_base& p = *coroutine;
    const bool told = p.begin_suspend() == suspension::stop;
    frame_control& c = *child_;
    const void* const here = identity_of(p.runs_on());
    if (!c.done()) p.check_not_self(c);
    if (!c.done() && !is_stopped_with(p, c, told)) [[unlikely]] {
        passes_stop_.begin(p, told, this, &tell, &go_on_told);
    } else if (told) [[unlikely]] {
        return p.stop_here();
    }
    const auto self = reinterpret_cast<std::uintptr_t>(static_cast<waiter*>(this));
    std::uintptr_t s = c.state.load(memory_order_acquire);  // pairs with the end's fetch_or
    if (s == 0) {
        if (worker* const w = this_thread.queues; w != nullptr && w->pop_if_newest(c.frame())) {
            c.state.store(self, memory_order_relaxed);  // it has not begun, and only this thread can begin it
            return transfer(c.frame());
        }
        p.clear_current();
        // release: the end sees this coroutine suspended; acquire: if the child has ended, its result is visible.
        if (c.state.compare_exchange_strong(s, self, memory_order_acq_rel, memory_order_acquire))
            return std::noop_coroutine();
    } else {
        p.clear_current();
    }
    if ((s & frame_state::list) != 0 && promise_base::add_waiter(c, *this)) return std::noop_coroutine();
    return transfer(go_on(here));
}

std::coroutine_handle<> limited_wait::child_ended(waiter& self, frame_control& c, const void* here) noexcept {
    // done: the frame may be dropped untaken. Plain: no other thread can reach the child any more, or it is done
    // already.
    if ((c.state.load(memory_order_relaxed) & frame_state::list) == 0)
        c.state.store(frame_state::done, memory_order_relaxed);
    return static_cast<limited_wait&>(self).go_on(here);
}

/// The child has ended.
std::coroutine_handle<> limited_wait::go_on(const void* here) noexcept {
    promise_base& p = *coroutine;
    if (!passes_stop_.over() || !limit_is_over()) return std::noop_coroutine();  // this object may be gone
    return promise_base::resume_from(p, here);
}

void limited_wait::tell(void* self) noexcept {
    request_stop_of(*static_cast<limited_wait*>(self)->child_);
}

/// The child has ended while its stop was requested.
void limited_wait::go_on_told(void* self) noexcept {
    auto& wait = *static_cast<limited_wait*>(self);
    if (wait.limit_is_over()) wait.passes_stop_.wake();
}

/// The child has ended: true if the caller goes on with the coroutine, false if the limit does when it has acted.
bool limited_wait::limit_is_over() noexcept {
    promise_base& p = *coroutine;
    const bool stopped = child_->word.ended_stopped();
    settled_ = true;
    if (limit_ != nullptr) {
        time_limit& limit = *limit_;
        late_ = true;  // before the verdict: if that is `acting`, this object may be gone
        switch (limit.over(p)) {
        case time_limit::verdict::acting: return false;
        case time_limit::verdict::late: break;
        case time_limit::verdict::in_time:
            limit_ = nullptr;
            late_ = false;
            break;
        }
    }
    if (stopped && !late_ && !passes_stop_.has_failed()) p.begin_unwind();
    return true;
}

frame_control* limited_wait::resumed() {
    this_thread.current = coroutine;
    if (limit_ != nullptr && !settled_) std::exchange(limit_, nullptr)->cancel();  // it ended without a wait
    if (!child_->word.ended_stopped()) return std::exchange(child_, nullptr);
    if (!late_) passes_stop_.throw_if_failed();
    return nullptr;
}

}  // namespace coflux::detail

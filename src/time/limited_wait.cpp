#include <coflux/time/limited_wait.hpp>

#include <utility>

#include <coflux/core/transfer.hpp>

namespace coflux::detail {

limited_wait::~limited_wait() {
    if (limit_ != nullptr) limit_->free();  // late: the child has ended
    if (child_ != nullptr) promise_base::drop(*child_);
}

std::coroutine_handle<> limited_wait::wait() {
    promise_base& p = *coroutine;
    if (p.suspends()) [[unlikely]]
        return p.stop_here();
    frame_control& c = *child_;
    const void* const here = identity_of(p.runs_on());
    if (c.done()) return transfer(go_on(here));
    promise_base& target = promise_base::of(c);
    timer_queue* const own = timer_queue::of_thread_for(p.runs_on());
    if (deadline_ <= (own != nullptr ? own->now() : tick_now())) {
        late_ = true;
        target.request_stop();
    } else {
        try {
            limit_ = time_limit::arm(target, deadline_, p.runs_on());
        } catch (...) {
            // The child may be running: its frame, and what it borrowed, cannot be left now.
            no_timer_ = std::current_exception();
            late_ = true;
            target.request_stop();
        }
    }
    const auto self = reinterpret_cast<std::uintptr_t>(static_cast<waiter*>(this));
    std::uintptr_t s = c.state.load(memory_order_acquire);  // pairs with the end's fetch_or
    if (s == 0) {
        if (worker* const w = this_thread.queues; w != nullptr && w->take_back(c.frame())) {
            c.state.store(self, memory_order_relaxed);  // it has not begun, and only this thread can begin it
            return transfer(c.frame());
        }
        p.leaves();
        // release: the end sees this coroutine suspended; acquire: if the child has ended, its result is visible.
        if (c.state.compare_exchange_strong(s, self, memory_order_acq_rel, memory_order_acquire))
            return std::noop_coroutine();
    }
    if ((s & frame_state::list) != 0) {
        p.leaves();
        if (promise_base::add_waiter(c, *this)) return std::noop_coroutine();
    }
    return transfer(go_on(here));
}

std::coroutine_handle<> limited_wait::child_ended(waiter& self, frame_control& c, const void* here) noexcept {
    // done: the frame may be dropped untaken. Plain: nobody else can reach the child any more, or it is done already.
    if ((c.state.load(memory_order_relaxed) & frame_state::list) == 0)
        c.state.store(frame_state::done, memory_order_relaxed);
    return static_cast<limited_wait&>(self).go_on(here);
}

/// The child has ended.
std::coroutine_handle<> limited_wait::go_on(const void* here) noexcept {
    promise_base& p = *coroutine;
    const bool stopped = child_->word.ended_stopped();
    if (limit_ != nullptr) {
        time_limit& limit = *limit_;
        late_ = true;  // before the verdict: if that is `acting`, this object may be gone
        switch (limit.over(p)) {
        case time_limit::verdict::acting: return std::noop_coroutine();
        case time_limit::verdict::late: break;
        case time_limit::verdict::in_time:
            limit_ = nullptr;
            late_ = false;
            break;
        }
    }
    if (stopped && !late_) p.turn_to_stop();
    return promise_base::resume_from(p, here);
}

frame_control* limited_wait::resumed() {
    this_thread.current = coroutine;
    if (no_timer_ != nullptr) [[unlikely]]
        std::rethrow_exception(no_timer_);
    if (child_->word.ended_stopped()) return nullptr;
    return std::exchange(child_, nullptr);
}

}  // namespace coflux::detail

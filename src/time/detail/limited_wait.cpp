#include <coflux/time/detail/limited_wait.hpp>

#include <utility>

#include <coflux/base/no_coroutine.hpp>
#include <coflux/core/detail/promise/await.hpp>
#include <coflux/core/detail/thread/transfer.hpp>
#include <coflux/core/detail/wait/turn.hpp>

namespace coflux::detail {

limited_wait::~limited_wait() {
    if (limit_ != nullptr) settled_ ? limit_->free() : limit_->cancel();
    if (child_ != nullptr) promise_base::drop(*child_);
}

void limited_wait::arm_limit(frame_control& child) {
    promise_base& target = promise_base::of(child);
    const executor_entry* const executor = coroutine->runs_on();
    if (deadline_ <= timer_queue::present_for(executor)) {
        late_ = true;
        target.request_stop();
    } else {
        limit_ = time_limit::arm(target, deadline_, executor);
    }
}

std::coroutine_handle<> limited_wait::wait() noexcept {
    promise_base& p = *coroutine;
    if (is_ready()) return let_others_run(p);
    const bool stop_requested = p.begin_suspend() == suspension::stop;
    frame_control& c = *child_;
    const void* const here = identity_of(p.runs_on());
    if (!c.done()) p.check_not_self(c);
    if (!c.done() && !is_stopped_with(p, c, stop_requested)) [[unlikely]] {
        static constexpr stop_calls calls{&request_stop, &go_on_after_stop};
        relay_.begin(p, stop_requested, this, calls, 1);
    } else if (stop_requested) [[unlikely]] {
        return p.stop_here();
    }
    switch (p.await_frame(c, *this)) {
    case join_result::popped: return transfer(c.frame());
    case join_result::registered: return no_coroutine();
    case join_result::completed: break;
    }
    const std::coroutine_handle<> to = go_on(here);
    // As an await that need not suspend: a limit of 0 ends its operation at once.
    return to != p.handle() || goes_on() ? transfer(to) : let_others_run(p);
}

std::coroutine_handle<> limited_wait::child_ended(waiter& self, frame_control&, const void* here) noexcept {
    return static_cast<limited_wait&>(self).go_on(here);
}

/// The child has ended.
std::coroutine_handle<> limited_wait::go_on(const void* here) noexcept {
    promise_base& p = *coroutine;
    if (!relay_.over() || !limit_is_over()) return no_coroutine();  // this object may be gone
    return promise_base::resume_from(p, here);
}

void limited_wait::request_stop(void* self, std::size_t) noexcept {
    request_stop_of(*static_cast<limited_wait*>(self)->child_);
}

/// The child has ended while its stop was requested.
void limited_wait::go_on_after_stop(void* self) noexcept {
    auto& wait = *static_cast<limited_wait*>(self);
    if (wait.limit_is_over()) wait.relay_.wake();
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
            // It may have seen the time come before the limit did, by its stop token, and have stopped itself.
            late_ = stopped && deadline_ <= tick_now();
            break;
        }
    }
    if (stops() && !p.control().word.has(frame_flags::takes_stop)) p.begin_unwind();
    return true;
}

frame_control* limited_wait::resumed() {
    this_thread.current = coroutine;
    if (limit_ != nullptr && !settled_) std::exchange(limit_, nullptr)->cancel();  // it ended without a wait
    if (!child_->word.ended_stopped()) return std::exchange(child_, nullptr);
    if (!late_) relay_.throw_if_failed();
    return nullptr;
}

}  // namespace coflux::detail

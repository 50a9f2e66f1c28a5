#include <coflux/time/sleep.hpp>

#include <coflux/core/detail/join/waiter.hpp>
#include <coflux/core/this_coroutine.hpp>

#include "time/detail/timer_service.hpp"

namespace coflux::detail {

constinit const wait_kind sleep_awaiter::how_it_stops{&sleep_awaiter::claim, &wait_operation::stop_claimed,
                                                      "a moment in time"};

constinit const timer_kind sleep_awaiter::how_it_ends{&sleep_awaiter::come_due, &sleep_awaiter::whose, "sleeps"};

std::coroutine_handle<> sleep_awaiter::await_suspend(std::coroutine_handle<> h) {
    promise_base& p = coroutine();
    timer_queue* const own = timer_queue::of_thread_for(p.runs_on());
    if (wakes_at_ <= (own != nullptr ? own->now() : tick_now())) {
        const yield_awaiter lets_others_run(p);
        return lets_others_run.await_ready() ? transfer(h) : lets_others_run.await_suspend(h);
    }
    if (p.begin_suspend() == detail::suspension::stop) [[unlikely]]
        return p.stop_here();
    return own != nullptr ? sleep_in(*own) : sleep_in_service();
}

std::coroutine_handle<> sleep_awaiter::sleep_in(timer_queue& own) {
    set_queue(own);
    begin();
    waited_ = true;
    if (own.arm(*this, wakes_at_, [this]() noexcept { return must_stop(); })) {
        own.notify_watch_if_busy();  // this object may be gone
        return suspended();
    }
    end();
    return coroutine().stop_here();
}

std::coroutine_handle<> sleep_awaiter::sleep_in_service() {
    timer_service& service = timer_service::shared();
    begin();
    waited_ = true;
    if (service.arm(*this, wakes_at_, *this)) return suspended();  // this object may be gone
    end();
    return coroutine().stop_here();
}

bool sleep_awaiter::claim(wait_operation& waiting) noexcept {
    auto& s = static_cast<sleep_awaiter&>(waiting);
    return s.queue() != nullptr ? s.queue()->take(s) : timer_service::shared().take(s);
}

const environment& sleep_awaiter::whose(const timer& t) noexcept {
    return static_cast<const sleep_awaiter&>(t).coroutine();
}

void sleep_awaiter::come_due(timer& t) noexcept {
    auto& s = static_cast<sleep_awaiter&>(t);
    // Where all workers compute, the coroutine waits for one, and the operations that it decides against should not.
    if (s.last_) foretell_end(s.coroutine().control());
    s.wake();
}

}  // namespace coflux::detail

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
    if (own == nullptr) {
        timer_service& service = timer_service::shared();
        return wait_by(*this, [this, &service]() noexcept {
            return service.arm(*this, wakes_at_, *this) ? wait_attempt::waits : wait_attempt::stop;
        });
    }
    set_queue(*own);
    return wait_by(*this, [this, own]() noexcept {
        if (!own->arm(*this, wakes_at_, [this]() noexcept { return must_stop(); })) return wait_attempt::stop;
        own->notify_watch_if_busy();  // this object may be gone
        return wait_attempt::waits;
    });
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

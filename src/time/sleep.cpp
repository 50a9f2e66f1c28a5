#include <coflux/time/sleep.hpp>

#include <coflux/core/this_coroutine.hpp>

#include "timer_service.hpp"

namespace coflux::detail {

constinit const wait_kind sleep_awaiter::how_it_stops{&sleep_awaiter::claim, &sleep_awaiter::stop, "a moment in time"};
constinit const timer_kind sleep_awaiter::what_happens{&sleep_awaiter::due, &sleep_awaiter::left};

std::coroutine_handle<> sleep_awaiter::await_suspend(std::coroutine_handle<> h) {
    promise_base& p = coroutine();
    timer_queue* const own = timer_queue::of_thread_for(p.runs_on());
    if (wakes_at_ <= (own != nullptr ? own->now() : tick_now())) {
        const yield_awaiter lets_others_run(p);
        return lets_others_run.await_ready() ? transfer(h) : lets_others_run.await_suspend(h);
    }
    if (p.suspends()) [[unlikely]]
        return p.stop_here();
    return own != nullptr ? sleep_in(*own) : sleep_in_service();
}

std::coroutine_handle<> sleep_awaiter::sleep_in(timer_queue& own) {
    // Armed before the wait begins: from then on a stop request may take the timer, but it leaves the queue, and the
    // coroutine is resumed, only when this thread looks at its mail.
    ready_for(own);
    begin();
    waited_ = true;
    if (must_stop()) [[unlikely]] {
        if (!take()) return suspended();
        end();
        return coroutine().stop_here();
    }
    own.insert(*this, wakes_at_);
    return suspended();
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
    return s.queue() != nullptr ? s.take() : timer_service::shared().take(s);
}

void sleep_awaiter::stop(wait_operation& claimed) noexcept {
    auto& s = static_cast<sleep_awaiter&>(claimed);
    if (s.queue() == nullptr) return stop_claimed(claimed);  // taking it took it out
    s.queue()->remove(s);
}

void sleep_awaiter::due(timer& t) noexcept {
    static_cast<sleep_awaiter&>(t).wake();
}

void sleep_awaiter::left(timer& t) noexcept {
    stop_claimed(static_cast<sleep_awaiter&>(t));
}

}  // namespace coflux::detail

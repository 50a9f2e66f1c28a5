#include <coflux/time/sleep.hpp>

#include <coflux/core/this_coroutine.hpp>

namespace coflux::detail {

constinit const wait_kind sleep_awaiter::how_it_stops{&sleep_awaiter::claim, &wait_operation::stop_claimed,
                                                      "a moment in time"};

constinit const timer_kind sleep_awaiter::how_it_ends{&sleep_awaiter::come_due, &sleep_awaiter::whose, "sleeps"};

std::coroutine_handle<> sleep_awaiter::await_suspend(std::coroutine_handle<> h) {
    promise_base& p = coroutine();
    if (wakes_at_ <= choose_queue(p.runs_on())) {
        const yield_awaiter lets_others_run(p);
        return lets_others_run.await_ready() ? transfer(h) : lets_others_run.await_suspend(h);
    }
    return wait_by(*this, [this]() { return arm_for(*this, wakes_at_); });
}

bool sleep_awaiter::claim(wait_operation& waiting) noexcept {
    return static_cast<sleep_awaiter&>(waiting).disarm();
}

const environment& sleep_awaiter::whose(const timer& t) noexcept {
    return static_cast<const sleep_awaiter&>(t).coroutine();
}

void sleep_awaiter::come_due(timer& t) noexcept {
    static_cast<sleep_awaiter&>(t).wake();
}

}  // namespace coflux::detail

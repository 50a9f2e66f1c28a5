#include <coflux/time/timer.hpp>

namespace coflux {

using detail::adaptive_guard;
using detail::clock_tick;
using detail::timed_wait;
using detail::timed_wait_list;

constinit const detail::timed_kind timer::how_it_serves{&timer::serve, &timer::due};
constinit const detail::wait_kind timer::wait_awaiter::how_it_stops{.claim = &timed_wait::claim,
                                                                    .stop = &timed_wait::stop,
                                                                    .what = "a timer",
                                                                    .of_at = timed_wait::of_at,
                                                                    .queued_at = detail::wait_operation::previous_at};

timer::wait_awaiter::wait_awaiter(detail::promise_base& p, coflux::timer& of) noexcept
    : timed_wait(p, of, how_it_stops) {}

/// Those whose moment has come go on with that before anything else is decided.
bool timer::reset_to(detail::steady_time when) noexcept {
    return changed([this, when](clock_tick now) noexcept {
        const bool was_pending = is_set_ && moment_ > now;
        begin(when);
        return was_pending;
    });
}

bool timer::stop() noexcept {
    return changed([this](clock_tick now) noexcept {
        const bool was_pending = is_set_ && moment_ > now;
        if (was_pending) is_set_ = false;
        return was_pending;
    });
}

bool timer::pending() const noexcept {
    const clock_tick now = detail::tick_now();
    const adaptive_guard guard(lock_);
    return is_set_ && moment_ > now;
}

bool timer::serve(timed_wait_list& of, timed_wait& w, clock_tick now) noexcept {
    const auto& t = static_cast<const timer&>(of);
    if (t.is_set_ && t.moment_ > now) return false;
    static_cast<wait_awaiter&>(w).fired_ = t.is_set_;
    return true;
}

clock_tick timer::due(timed_wait_list& of, const timed_wait&) noexcept {
    return static_cast<const timer&>(of).moment_;
}

}  // namespace coflux

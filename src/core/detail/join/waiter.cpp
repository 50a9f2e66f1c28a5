#include <coflux/core/detail/join/waiter.hpp>

#include <coflux/core/detail/frame/frame_control.hpp>

namespace coflux::detail {

void foretell_end(frame_control& c) noexcept {
    const join_snapshot seen = c.join.seen_by_end();
    if (!seen.has_one_waiter()) return;
    waiter& w = *seen.youngest();
    if (w.notified_early) (void)w.ended(w, c, &foretold);
}

}  // namespace coflux::detail

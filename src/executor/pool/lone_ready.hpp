// The ready coroutines of a victim that a thief may take: not a lone one that the victim is about to take itself.
#pragma once

#include <coflux/base/ready_ring.hpp>

namespace coflux::detail {

/// True if a thief may take the first of `ready`. A worker most often takes a lone one in its next step. Two that
/// wake each other are there one at a time; if a thief takes it to another core, the second follows, and the first
/// thief's victim has nothing to do but to steal them back.
///
/// `pause()` lasts for a moment, and is false once the pauses have lasted longer than such a step.
template <typename Pause>
[[nodiscard]] bool leaves_ready(const ready_ring& ready, Pause pause) noexcept {
    const ready_ring::glance before = ready.look();
    if (before.size != 1) return before.size != 0;
    for (bool lies = false;;) {
        const ready_ring::glance now = ready.look();
        if (now.size > 1) return true;
        if (now != before) return false;
        if (lies) return true;
        lies = !pause();
    }
}

}  // namespace coflux::detail

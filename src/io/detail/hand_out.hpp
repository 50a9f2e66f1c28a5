// Carries on many operations whose memory has left the caches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

namespace coflux::detail {

/// Carries on the operations of `found` events. With thousands of connections each has left the caches since its last
/// event: so each step fetches what the next one touches, for several events at once and while it works on those
/// before. `fetch(i)`: the place of event i. `take(i, to)`: takes its operations out of there, `Most` at most, and
/// returns how many. `carry_on(t)`: one of them; returns how many ended.
template <typename Taken, std::size_t Most, typename Fetch, typename Take, typename CarryOn>
std::size_t hand_out(std::size_t found, Fetch fetch, Take take, CarryOn carry_on) noexcept {
    constexpr std::size_t at_once = 8;
    const auto fetch_from = [&](std::size_t first) noexcept {
        for (std::size_t i = first; i < std::min(first + at_once, found); ++i) fetch(i);
    };
    const auto take_from = [&](std::size_t first, Taken* to) noexcept {
        std::size_t n = 0;
        for (std::size_t i = first; i < std::min(first + at_once, found); ++i) n += take(i, to + n);
        for (std::size_t i = 0; i < n; ++i) to[i].op->prefetch();
        return n;
    };
    Taken two[2][Most * at_once];
    Taken* now = two[0];
    Taken* after = two[1];
    fetch_from(0);
    std::size_t n = take_from(0, now);
    fetch_from(at_once);
    std::size_t ended = 0;
    for (std::size_t first = 0; first < found; first += at_once) {
        for (std::size_t i = 0; i < n; ++i) now[i].op->prefetch_more();
        const std::size_t n_after = take_from(first + at_once, after);
        fetch_from(first + 2 * at_once);
        for (std::size_t i = 0; i < n; ++i) ended += carry_on(now[i]);
        n = n_after;
        std::swap(now, after);
    }
    return ended;
}

}  // namespace coflux::detail

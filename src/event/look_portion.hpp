// How many completed operations a look at an event source carries on.
#pragma once

#include <cstddef>

namespace coflux::detail {

/// How much a look carries on beside so many coroutines that are ready: no more than a round resumes, so that what is
/// queued does not grow into more than stays in the caches; and something always (law 8).
constexpr std::size_t most_in_a_look(std::size_t queued) noexcept {
    constexpr std::size_t most = 48;
    constexpr std::size_t least = 4;
    return queued < most - least ? most - queued : least;
}

}  // namespace coflux::detail

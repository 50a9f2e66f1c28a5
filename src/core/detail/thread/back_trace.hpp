// The async back-trace of a failed check: from the running coroutine up to its root, each with its last await.
#pragma once

namespace coflux::detail {

/// From now on a failed check prints where the running coroutine and its ancestors are.
void enable_back_trace() noexcept;

}  // namespace coflux::detail

// One stop request on its way to what waits in and below an environment.
//
// The page docs/design/stop.md has the protocol.
#pragma once

#include <coflux/core/environment.hpp>

namespace coflux::detail {

/// A stop was requested of `e`: passes that on to all below it that have a record.
void mark_below(environment& e) noexcept;
/// Claims and stops what waits in and below `e`. Pre: the request can be seen.
void stop_below(environment& e) noexcept;

}  // namespace coflux::detail

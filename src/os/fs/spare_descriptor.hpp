// A descriptor that is kept to be closed when the process has no other.
#pragma once

namespace coflux::detail::os {

/// Opens one of nothing that is not inherited; the negative error number if there is none. close_descriptor()
/// closes it.
int open_spare_descriptor() noexcept;

}  // namespace coflux::detail::os

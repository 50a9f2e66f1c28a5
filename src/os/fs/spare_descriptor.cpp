#include "spare_descriptor.hpp"

#include <cerrno>

#include <sys/eventfd.h>

namespace coflux::detail::os {

int open_spare_descriptor() noexcept {
    const int opened = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return opened >= 0 ? opened : -errno;
}

}  // namespace coflux::detail::os

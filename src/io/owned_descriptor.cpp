#include <coflux/io/owned_descriptor.hpp>

#include "os/net/socket.hpp"

namespace coflux {

void owned_descriptor::close() noexcept {
    if (number_ >= 0) detail::os::close_descriptor(release());
}

}  // namespace coflux

#include <coflux/channel/detail/version_wait.hpp>

namespace coflux::detail {

template class list_wait<slot_version>;

}  // namespace coflux::detail

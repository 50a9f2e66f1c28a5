#include <coflux/sync/semaphore.hpp>

namespace coflux::detail {

template class list_wait<semaphore>;

}  // namespace coflux::detail

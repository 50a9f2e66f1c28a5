#include <coflux/sync/shared_mutex.hpp>

namespace coflux::detail {

template class list_wait<shared_mutex>;

}  // namespace coflux::detail

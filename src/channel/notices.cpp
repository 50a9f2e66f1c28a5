#include <coflux/channel/detail/notices.hpp>

namespace coflux::detail {

template class list_wait<notices>;

}  // namespace coflux::detail

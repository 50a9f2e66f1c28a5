#include <coflux/core/detail/scope/child_count.hpp>

namespace coflux::detail {

void child_count::fold() noexcept {
    atomic_.fetch_add(-none_by_owner, memory_order_relaxed);  // pairs with nothing: the sum of both counts stays
    by_owner_ = none_by_owner;
}

}  // namespace coflux::detail

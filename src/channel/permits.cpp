#include <coflux/channel/detail/permits.hpp>

namespace coflux::detail {

template class list_wait<permits>;

bool permit_wait::comes_soon() noexcept {
    return from_.giving_.comes_soon([this]() noexcept {
        answer_ = from_.try_acquire();
        return answer_ != permits::answer::none;
    });
}

}  // namespace coflux::detail

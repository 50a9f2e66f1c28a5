#include <coflux/channel/detail/permits.hpp>

namespace coflux::detail {

template class list_wait<permits>;

bool permit_wait::spin() noexcept {
    return from_.giving_.spin_until([this]() noexcept {
        answer_ = from_.try_acquire();
        return answer_ != permits::answer::none;
    });
}

}  // namespace coflux::detail

#include "parker.hpp"

#include "futex.hpp"

namespace coflux::detail::os {

bool parker::park_until(std::uint64_t deadline) noexcept {
    while (token_.exchange(0, memory_order_acquire) == 0) {  // pairs with the exchange in unpark()
        if (sleep_while_zero(token_, deadline))
            return token_.exchange(0, memory_order_acquire) != 0;  // pairs with the exchange in unpark()
    }
    return true;
}

void parker::unpark() noexcept {
    if (token_.exchange(1, memory_order_release) == 0) wake_sleeper(token_);  // pairs with the exchange in park_until()
}

}  // namespace coflux::detail::os

#include "parker.hpp"

#include "futex.hpp"

namespace coflux::detail::os {

bool parker::park_until(std::uint64_t deadline) noexcept {
    // [parker.park.exchange]
    while (token_.exchange(0, memory_order_acquire) == 0) {  // pairs with the exchange in unpark()
        if (sleep_while_zero(token_, deadline))
            // [parker.park.deadline_exchange]
            return token_.exchange(0, memory_order_acquire) != 0;  // pairs with the exchange in unpark()
    }
    return true;
}

bool parker::park_in(sleeping_place& place, std::uint64_t deadline) noexcept {
    place_.store(&place, memory_order_relaxed);  // before the CAS; a waker of an earlier sleep may be about to read it
    std::uint32_t nothing = 0;
    // release pairs with the exchange in unpark(): it reads place_.
    // [parker.park_in.sleeps]
    if (token_.compare_exchange_strong(nothing, elsewhere, memory_order_release, memory_order_relaxed))
        place.sleep_until(deadline);
    // [parker.park_in.exchange]
    return token_.exchange(0, memory_order_acquire) == 1;  // pairs with the exchange in unpark()
}

void parker::unpark() noexcept {
    // release pairs with the exchanges in park_until() and park_in(), acquire with the CAS there.
    // [parker.unpark.exchange]
    const std::uint32_t before = token_.exchange(1, memory_order_acq_rel);
    if (before == 0) {
        // [parker.unpark.wakes]
        wake_sleeper(token_);
    } else if (before == elsewhere) {
        // [parker.unpark.wakes_elsewhere]
        place_.load(memory_order_relaxed)->wake();  // at least as new as the 2 that it found
    }
}

}  // namespace coflux::detail::os

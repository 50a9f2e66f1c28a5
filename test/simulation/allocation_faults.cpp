#include "allocation_faults.hpp"

#include <coflux/core/detail/thread/thread_state.hpp>

namespace coflux_simulations {
namespace {

// A simulation is of one thread.
bool armed = false;
bool has_fired = false;
std::size_t left = 0;

}  // namespace

allocation_faults::allocation_faults(std::size_t at) noexcept {
    armed = true;
    has_fired = false;
    left = at;
}
allocation_faults::~allocation_faults() {
    armed = false;
}
bool allocation_faults::fired() noexcept {
    return has_fired;
}
bool allocation_faults::fails() noexcept {
    // A coroutine runs, or main() does and does not wait.
    if (!armed || simulation_at_work::depth != 0) return false;
    if (coflux::detail::this_thread.current == nullptr && main_waits::depth != 0) return false;
    if (left == 0 || --left != 0) return false;
    has_fired = true;
    return true;
}

}  // namespace coflux_simulations

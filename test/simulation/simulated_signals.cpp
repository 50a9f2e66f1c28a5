// stop_on_signals in a simulated world, of one thread: a signal that a program raises is received at once.
#include <csignal>
#include <functional>

#include <coflux/executor/stop_on_signals.hpp>

#include "allocation_faults.hpp"

namespace {

/// The object that lives, and the signal that it is to receive.
std::function<void()> receives;
int raised = 0;

}  // namespace

namespace coflux {

stop_on_signals::stop_on_signals(environment& target, std::chrono::nanoseconds) : target_(target) {
    const coflux_simulations::simulation_at_work here;
    receives = [this] { watch(); };
}
stop_on_signals::~stop_on_signals() {
    receives = nullptr;
}
void stop_on_signals::watch() noexcept {
    received_.store(raised, detail::memory_order_relaxed);  // pairs with nothing: a simulation is of one thread
    target_.request_stop();
}

}  // namespace coflux

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the names that the linker gives
int __real_raise(int number);
int __wrap_raise(int number) {
    if (!receives || (number != SIGINT && number != SIGTERM)) return __real_raise(number);
    raised = number;
    receives();
    return 0;
}
// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"

#include <coflux/testing/sim_executor.hpp>

#include <coflux/base/assert.hpp>
#include <coflux/testing/simulation.hpp>

#include "executor/detail/strand_state.hpp"
#include "world.hpp"

namespace coflux::testing {

sim_executor::sim_executor()
    : sim_executor([]() -> simulation& {
          simulation* const in = simulation::current();
          COFLUX_VERIFY(in != nullptr, "a sim_executor is made where there is no simulation");
          return *in;
      }()) {}
sim_executor::sim_executor(simulation& in) : queue_(&in.world_->new_worker()) {}

namespace {

void queue_on(detail::sim_worker& queue, std::coroutine_handle<> h, bool ours) noexcept {
    // Whichever simulation is the youngest: the executor of an outer simulation may get work while an inner one runs.
    COFLUX_VERIFY(queue.in().is_of_this_thread(),
                  "a simulated coroutine is resumed by a thread other than its simulation's");
    queue.in().add(queue, h, ours);
}

}  // namespace

void sim_executor::execute(std::coroutine_handle<> h) noexcept {
    queue_on(*queue_, h, false);
}

void sim_executor::execute_on(void* identity, std::coroutine_handle<> h) noexcept {
    // From an environment, or from a strand.
    queue_on(*static_cast<detail::sim_worker*>(identity), h, !coflux::detail::strand_state::is_turn(h));
}

}  // namespace coflux::testing

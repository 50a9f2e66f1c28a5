#include <coflux/testing/simulation.hpp>

#include <coflux/base/assert.hpp>
#include <coflux/testing/sim_executor.hpp>

#include "world.hpp"

namespace coflux::testing {

simulation::simulation(chooser& decides, simulation_options options)
    : world_(std::make_unique<detail::world>(*this, decides, options)) {}
simulation::~simulation() = default;

simulation* simulation::current() noexcept {
    return detail::world::youngest_of_thread();
}
bool simulation::step() {
    return world_->step();
}
void simulation::run() {
    while (world_->step()) {}
}
void simulation::advance(std::chrono::nanoseconds d) {
    world_->advance(coflux::detail::tick_of(coflux::detail::later(now(), d)));
}
std::chrono::steady_clock::time_point simulation::now() const noexcept {
    return coflux::detail::steady_time(std::chrono::nanoseconds(world_->now()));
}
std::chrono::nanoseconds simulation::elapsed() const noexcept {
    return std::chrono::nanoseconds(world_->now() - world_->start());
}
std::size_t simulation::steps() const noexcept {
    return world_->steps();
}
const std::vector<decision>& simulation::schedule() const noexcept {
    return world_->schedule();
}

sim_executor::sim_executor()
    : sim_executor([]() -> simulation& {
          simulation* const in = simulation::current();
          COFLUX_VERIFY(in != nullptr, "a sim_executor is made where there is no simulation");
          return *in;
      }()) {}
sim_executor::sim_executor(simulation& in) : queue_(&in.world_->new_worker()) {}

void sim_executor::execute_on(void* identity, std::coroutine_handle<> h) noexcept {
    auto& queue = *static_cast<detail::sim_worker*>(identity);
    COFLUX_VERIFY(coflux::detail::this_thread.driver == &queue.in(),
                  "a simulated coroutine is resumed by a thread other than its simulation's");
    queue.in().add(queue, h);
}

}  // namespace coflux::testing

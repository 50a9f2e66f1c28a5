#include <coflux/testing/simulation.hpp>

#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/testing/sim_executor.hpp>

#include "world.hpp"

namespace coflux::testing {

simulation::simulation(chooser& decides, simulation_options options)
    : world_(detail::world::opened(*this, decides, options)) {}
simulation::~simulation() {
    detail::world::closed(std::move(world_));
}

simulation* simulation::current() noexcept {
    return detail::world::youngest_of_thread();
}
bool simulation::step() {
    return world_->step();
}
void simulation::run() {
    world_->run();
}
void simulation::advance(std::chrono::nanoseconds d) {
    world_->advance(coflux::detail::tick_of(coflux::detail::later(now(), d)));
}
std::chrono::steady_clock::time_point simulation::now() const noexcept {
    return coflux::detail::steady_time(std::chrono::nanoseconds(world_->now()));
}
std::chrono::nanoseconds simulation::elapsed() const noexcept {
    return std::chrono::nanoseconds(world_->now() - detail::world::start);
}
std::size_t simulation::steps() const noexcept {
    return world_->steps();
}
const std::vector<decision>& simulation::schedule() const noexcept {
    return world_->schedule();
}
void simulation::on_step(std::function<void(std::size_t)> f) {
    world_->on_step = std::move(f);
}
void simulation::on_await(std::function<void(std::size_t)> f) {
    world_->on_await = std::move(f);
}
std::string simulation::describe() const {
    return world_->describe(nullptr);
}
const std::string& simulation::failure() const noexcept {
    return world_->failure();
}

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
    queue_on(*static_cast<detail::sim_worker*>(identity), h, true);
}

}  // namespace coflux::testing

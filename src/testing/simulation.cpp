#include <coflux/testing/simulation.hpp>

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <coflux/base/assert.hpp>

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
std::size_t simulation::choose(std::size_t of) {
    COFLUX_VERIFY(of != 0, "simulation::choose() among no numbers");
    std::vector<std::uint64_t> names(of);
    std::iota(names.begin(), names.end(), std::uint64_t{0});
    return of == 1 ? 0 : world_->choose(choice::amount, names);
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

}  // namespace coflux::testing

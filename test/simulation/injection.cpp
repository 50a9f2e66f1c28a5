#include "injection.hpp"

#include <coflux/core/detail/promise/promise_base.hpp>

#include "core/detail/scope/environment_tree.hpp"
#include "executor/detail/strand_state.hpp"

namespace coflux_simulations {
namespace {

// A simulation is of one thread.
const stop_injection* armed = nullptr;
coflux::environment* root_environment = nullptr;

}  // namespace

stop_injection::stop_injection(coflux::testing::simulation& world, std::size_t at) : world_(world), left_(at) {
    armed = this;
    root_environment = nullptr;
    world.on_step([this](std::size_t) {
        if (left_ == 0 || root_environment == nullptr || --left_ != 0) return;
        fired_ = true;
        root_environment->request_stop();
    });
}
stop_injection::~stop_injection() {
    world_.on_step({});
    armed = nullptr;
}

void stop_injection::scheduled(std::coroutine_handle<> h) noexcept {
    using coflux::detail::environment_tree;
    if (armed == nullptr || coflux::detail::strand_state::is_turn(h)) return;
    coflux::environment* e = &coflux::detail::promise_base::of(coflux::detail::frame_control::of(h));
    while (environment_tree::parent(*e) != nullptr) e = environment_tree::parent(*e);
    root_environment = e;
}

}  // namespace coflux_simulations

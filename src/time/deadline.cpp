#include <coflux/time/deadline.hpp>

#include <coflux/core/deadline_hook.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/time/time_limit.hpp>

namespace coflux::detail {
namespace {

constinit const deadline_hook stops_the_late{
    [](environment& e, std::chrono::steady_clock::time_point at) -> void* {
        return time_limit::arm(e, tick_of(at), executor_of(e));
    },
    [](void* armed) noexcept { static_cast<time_limit*>(armed)->cancel(); },
};

}  // namespace

bool let_deadlines_act() noexcept {
    act_on_deadlines.store(&stops_the_late, memory_order_release);  // pairs with the load where a deadline is set
    return true;
}

}  // namespace coflux::detail

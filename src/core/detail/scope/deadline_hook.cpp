#include <coflux/core/detail/scope/deadline_hook.hpp>

[[gnu::weak]] char coflux_deadlines_act = 0;

namespace coflux::detail {

bool has_passed(std::int64_t deadline) noexcept {
    const deadline_hook* const hook = act_on_deadlines.load(memory_order_relaxed);  // set before main
    return hook != nullptr && hook->has_passed(deadline);
}

}  // namespace coflux::detail

#include <coflux/core/this_coroutine.hpp>

namespace coflux::detail {

std::coroutine_handle<> yield_awaiter::yield_elsewhere(promise_base& p) noexcept {
    p.clear_current();
    p.runs_on()->post(p.handle());
    return std::noop_coroutine();
}

}  // namespace coflux::detail

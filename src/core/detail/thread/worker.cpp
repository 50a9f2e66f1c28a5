#include <coflux/core/detail/thread/worker.hpp>

namespace coflux::detail {

void worker::notify_one_aside() noexcept {
    notify_one();
}

bool worker::budget_exhausted_aside() noexcept {
    return budget_exhausted();
}

}  // namespace coflux::detail

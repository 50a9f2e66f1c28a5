#include <coflux/base/adaptive_lock.hpp>

#include <coflux/base/thread.hpp>

namespace coflux::detail {

void yield_processor() noexcept {
    std::this_thread::yield();
}

}  // namespace coflux::detail

#include "process.hpp"

#if defined(__unix__) || defined(__APPLE__)
#    include <pthread.h>
#endif

namespace coflux::detail::os {
namespace {

bool watch_for_forks() noexcept {
#if defined(__unix__) || defined(__APPLE__)
    // Refused for want of memory at worst: then a child finds nothing amiss.
    (void)pthread_atfork(nullptr, nullptr, [] { forks_of_process.fetch_add(1, memory_order_relaxed); });
#endif
    return true;
}

}  // namespace

process_mark::process_mark() noexcept {
    [[maybe_unused]] static const bool watched = watch_for_forks();
    forks_ = forks_of_process.load(memory_order_relaxed);  // pairs with nothing: see there
}

}  // namespace coflux::detail::os

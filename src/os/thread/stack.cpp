#include <coflux/base/stack.hpp>

#include <cstddef>

#if defined(__linux__)
#    include <pthread.h>
#endif

namespace coflux::detail {

#if defined(__linux__)

stack_bounds bounds_of_this_stack() noexcept {
    stack_bounds bounds;
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return bounds;
    void* low = nullptr;
    std::size_t size = 0;
    if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
        bounds.low = reinterpret_cast<std::uintptr_t>(low);
        bounds.high = bounds.low + size;
    }
    pthread_attr_destroy(&attributes);
    return bounds;
}

#else

stack_bounds bounds_of_this_stack() noexcept {
    return {};
}

#endif

}  // namespace coflux::detail

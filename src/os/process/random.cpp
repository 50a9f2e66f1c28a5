#include "os/process/random.hpp"

#include <cerrno>

#include "os/system_call.hpp"

#if defined(__linux__)
#    include <sys/random.h>
#endif

namespace coflux::detail::os {

int fill_random(void* into, std::size_t bytes) noexcept {
#if defined(__linux__)
    // So few bytes come in one piece.
    const auto got = result_of([=] { return ::getrandom(into, bytes, 0); });
    return got < 0 ? static_cast<int>(got) : 0;
#else
    static_cast<void>(into);
    static_cast<void>(bytes);
    return -ENOSYS;
#endif
}

}  // namespace coflux::detail::os

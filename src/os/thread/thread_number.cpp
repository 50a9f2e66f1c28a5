#include "thread_number.hpp"

#if defined(__linux__)
#    include <sys/syscall.h>
#    include <unistd.h>
#endif

namespace coflux::detail::os {

#if defined(__linux__)

std::uint64_t this_thread_number() noexcept {
    return static_cast<std::uint64_t>(::syscall(SYS_gettid));
}
std::uint64_t this_process_number() noexcept {
    return static_cast<std::uint64_t>(::getpid());
}

#else

std::uint64_t this_thread_number() noexcept {
    return 0;
}
std::uint64_t this_process_number() noexcept {
    return 0;
}

#endif

}  // namespace coflux::detail::os

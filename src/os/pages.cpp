#include "base/pages.hpp"

#if defined(__linux__)
#    include <sys/mman.h>
#    include <unistd.h>
#endif

namespace coflux::detail {

#if defined(__linux__)

void discard_pages(void* begin, std::size_t bytes) noexcept {
    static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    // The system would take whole pages, also those of neighbours.
    if (bytes % page != 0) return;
    (void)madvise(begin, bytes, MADV_DONTNEED);  // refused where they are locked: they stay
}

#else

void discard_pages(void*, std::size_t) noexcept {}

#endif

}  // namespace coflux::detail

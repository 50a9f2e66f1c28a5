#include "base/pages.hpp"

#if defined(__linux__)
#    include <sys/mman.h>
#endif

namespace coflux::detail {

#if defined(__linux__)

void discard_pages(void* begin, std::size_t bytes) noexcept {
    // Refused where the pages are locked, or larger: then they stay.
    (void)madvise(begin, bytes, MADV_DONTNEED);
}

#else

void discard_pages(void*, std::size_t) noexcept {}

#endif

}  // namespace coflux::detail

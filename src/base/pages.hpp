// Memory of whole pages that is not read any more.
#pragma once

#include <cstddef>

namespace coflux::detail {

/// Lets the system have the memory behind the pages, where it takes it: a later write gets new memory. The addresses
/// stay the owner's. Does nothing where pages are larger than `bytes`.
/// Pre: `begin` and `bytes` are multiples of a page of 4 KiB, and `begin` of `bytes`; what is there is not read before
/// it is written.
/// Costs: a call of the system; a page fault for each page that is written again.
void discard_pages(void* begin, std::size_t bytes) noexcept;

}  // namespace coflux::detail

// Memory of whole pages that nobody reads any more.
#pragma once

#include <cstddef>

namespace coflux::detail {

/// Lets the system have the memory behind the pages, where it takes it: a later write gets new memory. The addresses
/// stay the owner's.
/// Pre: `begin` and `bytes` are multiples of a page; what is there is not read before it is written.
/// Costs: a call of the system; a page fault for each page that is written again.
void discard_pages(void* begin, std::size_t bytes) noexcept;

}  // namespace coflux::detail

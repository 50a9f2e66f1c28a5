// The coroutines that run on a thread, by the layout record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <coflux/core/detail/thread/thread_state.hpp>

namespace coflux::detail {

/// The place of the last await of the coroutine that runs on that thread, then those of the ones that it was made in,
/// as std::source_location has them; 0: it is not known. How many there are, up to `most`: 0 where no coroutine is
/// current. A change meanwhile may give any numbers.
///
/// Threads: any; also in the handler of a signal.
std::size_t running_places(const thread_state* of, std::uint64_t* places, std::size_t most) noexcept;

/// The same as texts, `f at file:line`; empty: no coroutine is current. Errors: std::bad_alloc.
[[nodiscard]] std::vector<std::string> running_chain(const thread_state* of);

}  // namespace coflux::detail

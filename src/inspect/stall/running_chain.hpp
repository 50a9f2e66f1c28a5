// The coroutines that run on another thread, by the layout record.
#pragma once

#include <string>
#include <vector>

#include <coflux/core/detail/thread/thread_state.hpp>

namespace coflux::detail {

/// `f at file:line` of the coroutine that runs on that thread, and of those above it; empty: it is not known. A
/// change meanwhile may give any text. Errors: std::bad_alloc.
[[nodiscard]] std::vector<std::string> running_chain(const thread_state* of);

}  // namespace coflux::detail

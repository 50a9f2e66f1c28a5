// The errors that an await brings: where those go that nothing awaits, and what came with the one at hand (law 12).
#pragma once

#include <exception>
#include <span>

namespace coflux {

/// Handles an error that cannot be observed any more: that of a root whose handle died, of a child left behind in an
/// environment, or of a destructor, as that of a process or of a buffered_writer.
using error_handler = void (*)(const std::exception_ptr& error) noexcept;

/// The errors that came with the one being handled: what else failed in the scope whose first error was thrown.
///
/// Valid in the handler that caught the exception, until the next rethrow on this thread; empty if it came alone. An
/// outcome keeps both: outcome::other_errors().
/// Errors: std::bad_alloc in the first call in a handler, which lists them; the next call tries again.
/// Threads: the one that handles the exception.
/// Costs: the first call: one allocation, O(n).
[[nodiscard]] std::span<const std::exception_ptr> other_errors();

}  // namespace coflux

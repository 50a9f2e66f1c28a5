// io_backend: what this process does its I/O with.
#pragma once

#include <cstdint>
#include <string>

namespace coflux {

/// The interface of the system that a process does its I/O with.
enum class io_backend : std::uint8_t {
    epoll,  ///< the system says when a descriptor is ready, and the call is made then
    uring   ///< io_uring: the system makes the call, and says what it gave
};

/// The answer of io_backend_in_use().
struct io_backend_report {
    /// The one in use.
    io_backend backend = io_backend::epoll;
    /// The flags of the set-up of an io_uring on a thread of its own; "none" where it has none, empty with epoll.
    std::string flags;
    /// Why it is used, in words: for a log.
    std::string reason;
};

/// Which back end this process uses, with which flags, and why.
///
/// The first operation that has to wait, or the first call of this, chooses it for the life of the process. The
/// environment variable `COFLUX_IO` forces one: `epoll` or `uring`. It is that of threads with a source of their own:
/// workers, shards, run_loops (which have no flags) and the service. The workers of a pool share one `epoll` in any
/// case. A thread for which no ring can be set up later, as memory is short, has `epoll` unless `uring` is forced.
/// Errors: std::invalid_argument if `COFLUX_IO` is something else; std::system_error if it forces `uring` and the
/// system refuses that.
/// Threads: any.
/// Costs: the first call tries to set up an io_uring, up to 0.2 ms.
[[nodiscard]] const io_backend_report& io_backend_in_use();

}  // namespace coflux

// A text that says what every coroutine of the program does right now: no coroutine is stopped for it, no lock taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace coflux::inspect {

enum class format : std::uint8_t {
    grouped,  ///< text: how many are at the same place, in the same state, below the same places; largest groups first
    tree,     ///< text: each coroutine, below the one that it was made in
    json,     ///< an object, whose `version` is 1; docs/howto/see-what-hangs.md has its members
};

struct dump_options {
    inspect::format format = inspect::format::grouped;
    /// Units: bytes; less than 192 count as 192. The text says how much it leaves out.
    std::size_t limit = std::size_t{64} * 1024;
};

/// Says of each coroutine where it is, what it waits for, and below which others. It finds them in the memory of the
/// frame pool: one that stays suspended meanwhile is there exactly once, and one that runs may be missing, or is marked
/// as changed. Those whose frames come from another resource are there if they wait for something of this library, or
/// if one that is found was made in them or is awaited by them.
///
/// Returns: the text; "coflux: …" with the reason, if the system does not let the process read its own memory.
/// Errors: std::bad_alloc.
/// Threads: any, also while all others are stuck; several at once.
/// Costs: no coroutine, no thread and no allocation waits for it. 64 bytes a coroutine meanwhile, straight from the
/// system, and two copies of the frame pool's memory by way of a buffer of 1 MiB. One of another resource takes a few
/// calls of the system, and up to 64 bytes more.
/// Example: examples/65_dump.cpp
[[nodiscard]] std::string dump(const dump_options& options = {});

/// dump() that writes to a file descriptor, and allocates nothing: False if it could not be written.
/// Threads: as dump(); also in the handler of a signal, whatever that has interrupted.
bool dump_to(int descriptor, const dump_options& options = {}) noexcept;

}  // namespace coflux::inspect

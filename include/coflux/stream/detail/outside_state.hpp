// outside_state: states of a slot that are not all in memory, and what a batch needs of them.
#pragma once

#include <cstdint>
#include <vector>

#include <coflux/stream/record.hpp>

namespace coflux {
class blocking_pool;
}  // namespace coflux

namespace coflux::stream::detail {

/// The states of one slot, in a table outside of memory. A worker asks for those that a batch needs, waits for them,
/// and then runs the batch: no record waits for a drive.
class outside_state {
public:
    outside_state() = default;
    outside_state(const outside_state&) = delete;
    outside_state& operator=(const outside_state&) = delete;
    virtual ~outside_state() = default;

    /// Reads what was asked for, and blocks. The slot's worker waits meanwhile.
    virtual void read() = 0;
    [[nodiscard]] virtual blocking_pool& pool() const noexcept = 0;
};

/// The slots that have not all in memory that a batch needs.
struct wanted_states {
    std::uint64_t batch = 0;  ///< from 1
    std::vector<outside_state*> from;
    std::uint32_t slot = 0;     ///< that is asked now
    event_time time = no_time;  ///< of the record that is asked for
};

}  // namespace coflux::stream::detail

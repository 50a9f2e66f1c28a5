// record: a value on its way through a stream job, and where it stands in its source.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace coflux::stream {

/// When something has happened, by the clock of the data.
using event_time = std::chrono::sys_time<std::chrono::nanoseconds>;

/// The time of a record that has none; before all others.
inline constexpr event_time no_time = event_time::min();
/// The watermark behind the last record; after all others.
inline constexpr event_time end_of_time = event_time::max();

/// What a source has read, as it was: for dead letters.
struct original {
    std::string key;
    std::string value;
    std::vector<std::pair<std::string, std::string>> headers;
};

/// A value on its way, and where it stands in its source.
///
/// Shapes: `T` is movable.
/// Units: `next` is the source's own count: of records, bytes or offsets.
template <typename T>
struct record {
    T value;
    /// When it has happened: given by the source, or by the stage event_times().
    event_time time = no_time;
    /// The position behind it in its partition: a read from there gives the record that follows.
    std::int64_t next = 0;
    /// Which partition of the source; the source gives it a name.
    std::uint32_t partition = 0;
    /// Which slot of its region; the engine writes it.
    std::uint32_t slot = 0;
    /// What was read, where the source keeps it.
    std::shared_ptr<const stream::original> original{};
};

/// Up to where a partition of a source has been read.
struct position {
    std::string partition;
    std::int64_t next = 0;

    friend bool operator==(const position&, const position&) = default;
};
/// Positions of several partitions, in the order of their names.
using positions = std::vector<position>;

}  // namespace coflux::stream

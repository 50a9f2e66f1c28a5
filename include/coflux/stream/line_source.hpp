// line_source: the lines of files, as records.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/stream/record.hpp>
#include <coflux/stream/source.hpp>
#include <coflux/stream/text_line.hpp>

namespace coflux {
class blocking_pool;
}  // namespace coflux

namespace coflux::stream {

/// How lines are read.
struct line_source_options {
    std::size_t most_bytes = std::size_t{1} << 20;  ///< of a line; a longer one is an error that names it
    std::size_t skip = 0;                           ///< so many lines of each file are no records: the names of columns
    bool quoted = false;                            ///< a line end in a field between `"` is a part of the record
    char separator = ',';                           ///< of fields, where it is quoted
    bool follow = false;                            ///< waits at the end for more, for ever: as `tail -f`
    bool continued = false;          ///< each file goes on where the one before ends, as those of a rotated log
    bool ignore_gone_files = false;  ///< a position of a file that it has not is no error: the file was removed
    std::chrono::nanoseconds look_every =
        std::chrono::milliseconds(250);  ///< where it follows: from one look to the next
    blocking_pool* pool = nullptr;       ///< whose threads wait for the drive; nullptr: blocking_pool::shared()
};

/// Lines of one file, or of several: `from(line_source("access.log"))`.
///
/// Each file is a partition, named by its path. Files are read by turns of a batch, and each of them holds the
/// watermark until it gives something. Those that are `continued` are read one after the other, in the order that is
/// given, and one that has not begun does not hold the watermark: records that are not in the order of time from file
/// to file are late then. A line ends at "\n", and a "\r" just before that belongs to the end. The last line needs no
/// end, unless the file is followed: then it is waited for.
///
/// Where it is quoted, a `"` opens a field only where it is its first byte, as in csv_fields. A field whose quote does
/// not close before the end of the file or within `most_bytes`, or closes before something else than a separator, has a
/// stray quote: its record ends with the line of the quote, and the next one begins behind it. So a stray quote
/// takes no other line in, and `parse(csv_fields())` refuses its record, by file and line.
///
/// Shapes: `next` is the offset of the byte behind the line. Movable before the first read.
/// Errors: bad_text with file and line for a line that is too long; with the file, for one that has become shorter than
/// what was read, or than where it is to begin. std::system_error with the path, of the system. std::invalid_argument
/// for no file, options that cannot be, and positions of a file that it has not, unless
/// the options ignore these.
/// Stops: loses nothing.
/// Threads: as a source.
/// Costs: a string for each line. An open file and 256 KiB for each file that has begun, 64 of them at most; beyond
/// that a file is opened, and its block read, for each batch. A seek reads what is before the position, to count lines.
/// Lifetime: text_line::file is the source's.
class line_source {
public:
    using value_type = text_line;

    explicit line_source(std::string path, line_source_options options = {});
    explicit line_source(std::vector<std::string> paths, line_source_options options = {});
    line_source(line_source&&) noexcept;
    line_source& operator=(line_source&&) noexcept;
    ~line_source();

    [[nodiscard]] call<bool> read(environment& here, batch<text_line>& into, std::size_t most);
    [[nodiscard]] std::string partition_name(std::uint32_t p) const;
    [[nodiscard]] call<void> seek(environment& here, const positions& to);
    /// Sizes are those of the first read behind the first call, and of later looks at the ends of files.
    [[nodiscard]] std::vector<partition_extent> measure();
    [[nodiscard]] bool is_bounded() const noexcept;
    /// Not one that is `continued`, and another one than the first.
    [[nodiscard]] std::vector<std::uint32_t> partitions() const;
    [[nodiscard]] std::span<const std::uint32_t> ended() const noexcept;

private:
    class state;
    std::unique_ptr<state> state_;
};
static_assert(seekable_source<line_source>);
static_assert(partitioned_source<line_source>);
static_assert(measured_source<line_source>);

/// The files in a folder whose names end with `ending`, as paths, in the order of their names: for a line_source.
///
/// Errors: std::system_error with the path.
[[nodiscard("nothing is listed until this is awaited: co_await it")]] call<std::vector<std::string>>
files_in(environment& here, const std::string& folder, std::string_view ending = "");

}  // namespace coflux::stream

// line_sink: strings become the lines of a file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/stream/record.hpp>
#include <coflux/stream/sink.hpp>

namespace coflux {
class blocking_pool;
}  // namespace coflux

namespace coflux::stream {

/// How lines are written.
struct line_sink_options {
    blocking_pool* pool = nullptr;  ///< whose threads wait for the drive; nullptr: blocking_pool::shared()
};

/// Writes each string, and a "\n" behind it, at the end of a file: `| map(to_text) | to(line_sink("out.txt"))`.
///
/// For exactly_once it keeps a second file, PATH.committed: how long the file is, and the positions of the inputs. That
/// one is replaced in one step, which is the commit. Bytes that a crash has left behind the committed length are cut
/// off. With at_least_once that file is not there; the bytes behind the last "\n" are the rest of a line that a crash
/// has cut off, and go.
///
/// Shapes: the file is made if there is none; it belongs to one sink at a time. Movable before the first use.
/// Errors: std::invalid_argument for a string with a "\n": it would be two. std::system_error with the path, of the
/// system. corrupt_state for a file that is shorter than what was committed, or a second file that was changed.
/// Stops: as file. A write that is stopped has written nothing that stays, unless it goes on.
/// Threads: as a sink.
/// Costs: a write is one of the system's; flush() is a sync; a commit is three.
class line_sink {
public:
    explicit line_sink(std::string path, line_sink_options options = {});
    line_sink(line_sink&&) noexcept;
    line_sink& operator=(line_sink&&) noexcept;
    ~line_sink();

    [[nodiscard]] call<void> write(environment& here, std::span<record<std::string>> records);
    [[nodiscard]] call<void> flush(environment& here);

    [[nodiscard]] call<void> begin(environment& here);
    [[nodiscard]] call<void> commit(environment& here, const positions& done);
    [[nodiscard]] call<void> abort(environment& here);
    [[nodiscard]] call<std::optional<positions>> committed(environment& here);

private:
    class state;
    std::unique_ptr<state> state_;
};
static_assert(sink_of<line_sink, std::string> && transactional_sink<line_sink>);

}  // namespace coflux::stream

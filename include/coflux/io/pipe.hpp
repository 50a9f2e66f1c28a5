// make_pipe, pipe_reader and pipe_writer: bytes from one end to the other, in one process or between two.
#pragma once

#include <utility>

#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/io/byte_stream.hpp>
#include <coflux/io/owned_descriptor.hpp>

namespace coflux {

namespace detail {
class spawn_awaiter;
}  // namespace detail

/// The end of a pipe that is read from.
///
/// Shapes: owns its descriptor; movable, also while an operation waits. One coroutine at a time reads.
/// Returns: reads 0, the end of the stream, once no writer is left.
/// Errors, Threads: as byte_reader.
class pipe_reader : public byte_reader {
public:
    pipe_reader() noexcept = default;
    /// Takes over the reading end of a pipe, as standard input is one. It does not block from now on, also for others
    /// that share it.
    /// Errors: std::system_error; then it is closed. std::errc::invalid_argument for what is no pipe, no socket and no
    /// terminal: a file cannot be waited for; it is opened as a `file`, by its path or as "/dev/stdin", and read with a
    /// file_reader. std::errc::bad_file_descriptor for a writing end.
    [[nodiscard]] static pipe_reader adopt(owned_descriptor opened);

private:
    friend struct pipe_ends;
    friend class detail::spawn_awaiter;
    explicit pipe_reader(detail::descriptor_handle end) noexcept
        : byte_reader(std::move(end), detail::byte_kinds::of_pipes) {}
};

/// The end of a pipe that is written to.
///
/// Shapes: owns its descriptor; movable, also while an operation waits. One coroutine at a time writes.
/// Errors: as byte_writer: std::errc::broken_pipe once no reader is left, and never SIGPIPE.
/// Threads: as byte_writer.
/// Costs: a write takes one call of the system; where that is older than Linux 6.18 two more, which block SIGPIPE in
/// the thread around it.
class pipe_writer : public byte_writer {
public:
    pipe_writer() noexcept = default;
    /// Takes over the writing end of a pipe, as standard output may be one. It does not block from now on, also for
    /// others that share it.
    /// Errors: std::system_error; then it is closed. std::errc::invalid_argument for what is no pipe, no socket and no
    /// terminal: a file cannot be waited for; it is opened as a `file`, by its path or as "/dev/stdout", and written
    /// with a file_writer. std::errc::bad_file_descriptor for a reading end.
    [[nodiscard]] static pipe_writer adopt(owned_descriptor opened);

private:
    friend struct pipe_ends;
    friend class detail::spawn_awaiter;
    explicit pipe_writer(detail::descriptor_handle end) noexcept
        : byte_writer(std::move(end), detail::byte_kinds::of_pipes) {}
};

/// Both ends of a pipe.
struct pipe_ends {
    pipe_reader reader;
    pipe_writer writer;

private:
    friend pipe_ends make_pipe();
    pipe_ends(detail::descriptor_handle from, detail::descriptor_handle to) noexcept
        : reader(std::move(from)),
          writer(std::move(to)) {}
};

/// A pipe of the system, which children of the process do not inherit.
///
/// Errors: std::system_error.
/// Costs: two descriptors.
[[nodiscard]] pipe_ends make_pipe();

}  // namespace coflux

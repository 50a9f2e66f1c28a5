// file: reads and writes of files, at offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <coflux/io/detail/file_operations.hpp>
#include <coflux/io/result.hpp>

namespace coflux {

class file_writer;

/// How a file is opened: by default an existing one, to read.
struct file_options {
    bool read = true;
    bool write = false;
    bool create = false;     ///< makes the file if there is none; needs `write`
    bool exclusive = false;  ///< with `create`: an error if there is one
    bool truncate = false;   ///< empties it; needs `write`
    /// Each write goes to the end, also among several processes; needs `write`. Such a file has append(), and no
    /// write_at().
    bool append = false;
    unsigned permissions = 0666;    ///< of a file that is made, before the process's mask
    blocking_pool* pool = nullptr;  ///< whose threads wait for the drive; nullptr: blocking_pool::shared()
};

/// An open file: bytes at offsets.
///
/// Reads of what the page cache has are done at once, without a suspension. A thread of a blocking pool does what would
/// wait for the drive, while the coroutine waits.
///
/// Shapes: owns its descriptor; movable, also while an operation waits, which stays with the file. Any number of
/// coroutines may read and write at the same time; no offset is shared. For regular files and drives: a directory
/// (std::errc::is_a_directory) and a pipe (std::errc::invalid_seek) cannot be opened.
/// Units: offsets and sizes are in bytes, of any size that the file system has.
/// Resumes: on the coroutine's own executor.
/// Errors: std::system_error with the operation and the path in its text, unless as_result() asks for a value. Where
/// the pool has no thread, and cannot have one, that is such an error. Else of the pool as blocking_pool::run. An
/// operation of a file that is closed or was moved from, and one that waits when the file dies, are checked errors.
/// Stops: each operation is a stop point until a thread of the pool has begun it: then it has not been done, and
/// nothing is lost. One that has begun is waited for, and counts: the coroutine goes on with what it gave, and stops at
/// its next stop point. An operation that can be done at once is done, and is no stop point.
/// Threads: of any executor. In a simulation, files are read and written at once, on the thread of the simulation, or
/// are those of a testing::sim_disk.
/// Costs: no allocation but in open() and for errors. A read of cached bytes is one system call. Reads and writes of
/// more than 1 MiB go to the pool, and so do all writes on file systems that do not write at once (ext4 among them):
/// some 10 us each, so write large pieces.
/// Lifetime: spans are used until the await ends. The pool outlives the file. The destructor closes the file, and
/// ignores errors of that; close() tells them.
/// Example: examples/46_file.cpp
class file {
public:
    file() noexcept = default;

    /// `co_await file::open("data", {.write = true, .create = true})`.
    /// Errors: std::invalid_argument for options that contradict each other, or a path with a zero byte. Else with the
    /// path in its text: std::errc::no_such_file_or_directory, permission_denied, file_exists, is_a_directory and so
    /// on.
    /// Stops: as all operations: a file that was opened is given.
    [[nodiscard("nothing is opened until this is awaited: co_await it")]] static detail::open_file_request
    open(std::string path, file_options options = {}) {
        return {std::move(path), options};
    }

    /// The bytes from `offset` on, as many as `into` has room for.
    /// Returns: how many; fewer only where the file ends, 0 at its end.
    [[nodiscard("nothing is read until this is awaited: co_await it")]] detail::read_at_request
    read_at(std::uint64_t offset, std::span<std::byte> into) noexcept {
        return {file_, offset, into};
    }
    /// All bytes, from `offset` on. Beyond the end of the file it leaves a hole of zeros.
    /// Errors: where the drive is full (std::errc::no_space_on_device) a part may be written; the text says how much. A
    /// call of the system that takes no byte, and says no error, counts as full.
    /// Pre: the file was opened without `append`.
    [[nodiscard("nothing is written until this is awaited: co_await it")]] detail::write_at_request
    write_at(std::uint64_t offset, std::span<const std::byte> from) noexcept {
        return {file_, offset, from};
    }
    [[nodiscard("nothing is written until this is awaited: co_await it")]] detail::write_at_request
    write_at(std::uint64_t offset, std::string_view from) noexcept {
        return {file_, offset, std::as_bytes(std::span(from))};
    }
    /// All bytes, at the end of the file. The system finds the end and writes there in one step (O_APPEND, RWF_APPEND),
    /// so what several coroutines or processes append does not mix. A part may be written, and the rest behind what
    /// others have appended meanwhile, where one step does not take all: more than 2 GiB, a drive that becomes full, a
    /// file of a network.
    /// Errors: as write_at(). std::errc::operation_not_supported where the system appends to files opened with `append`
    /// alone.
    /// Costs: always a thread of the pool, some 10 us.
    [[nodiscard("nothing is written until this is awaited: co_await it")]] detail::append_request
    append(std::span<const std::byte> from) noexcept {
        return {file_, from};
    }
    [[nodiscard("nothing is written until this is awaited: co_await it")]] detail::append_request
    append(std::string_view from) noexcept {
        return {file_, std::as_bytes(std::span(from))};
    }

    /// Until what was written is on the drive, with all that the system knows of the file. The name of a new file is
    /// its directory's.
    /// Errors: what an earlier write met, too. After an error it is not known what is on the drive: another sync() does
    /// not tell.
    [[nodiscard("nothing is kept until this is awaited: co_await it")]] detail::sync_file_request sync() noexcept {
        return {file_, false};
    }
    /// Until what was written, and the size, are on the drive; times may not be.
    /// Errors: as sync().
    [[nodiscard("nothing is kept until this is awaited: co_await it")]] detail::sync_file_request sync_data() noexcept {
        return {file_, true};
    }
    /// How many bytes it has.
    [[nodiscard("co_await it")]] detail::file_size_request size() noexcept { return {file_}; }
    /// It has `size` bytes from now on: cut, or followed by zeros.
    [[nodiscard("nothing is cut until this is awaited: co_await it")]] detail::truncate_file_request
    truncate(std::uint64_t size) noexcept {
        return {file_, size};
    }
    /// Closes it.
    /// Errors: what an earlier write met, on some file systems; it is closed nevertheless. A checked error if another
    /// operation of it waits.
    /// Stops: as all operations: one that has not begun leaves the file open.
    [[nodiscard(
        "nothing is closed until this is awaited: co_await it, or destroy the file")]] detail::close_file_request
    close() noexcept {
        return {file_};
    }

    [[nodiscard]] bool is_open() const noexcept { return file_.state() != nullptr && file_.state()->number >= 0; }
    /// As it was opened.
    /// Errors: a checked error if it is not open.
    [[nodiscard]] const std::string& path() const noexcept { return file_.get().path; }
    /// The system's number; -1 if it is closed. It stays the file's own.
    [[nodiscard]] int native_handle() const noexcept { return is_open() ? file_.state()->number : -1; }

private:
    friend class detail::open_file_awaiter;
    friend class file_writer;
    explicit file(detail::file_handle opened) noexcept : file_(std::move(opened)) {}

    detail::file_handle file_;
};

namespace detail {

inline io_result<file> open_file_awaiter::resume_with_result() {
    done_with_result();
    if (result_ < 0) return error();
    return file(std::move(made_));
}
inline file open_file_awaiter::await_resume() {
    done();
    if (result_ < 0) fail(made_.state()->path);
    return file(std::move(made_));
}

}  // namespace detail
}  // namespace coflux

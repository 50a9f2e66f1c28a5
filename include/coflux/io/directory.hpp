// directory: the names in a directory, in batches, and changes of them.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <coflux/io/detail/directory_operations.hpp>
#include <coflux/io/result.hpp>

namespace coflux {

/// How a directory is opened.
struct directory_options {
    blocking_pool* pool = nullptr;  ///< whose threads wait for the drive; nullptr: blocking_pool::shared()
};

/// An open directory, whose entries come in batches:
///
///     directory d = co_await directory::open("/var/log");
///     for (auto batch = co_await d.next(); !batch.empty(); batch = co_await d.next())
///         for (const directory_entry& e : batch) use(e.name, e.type);
///
/// Shapes: owns its descriptor; movable, also while next() waits, which stays with the directory. One coroutine at a
/// time asks for entries. The order is that of the file system. `.` and `..` are left out. Entries that are made,
/// renamed or removed meanwhile may come or not; those that stay come once.
/// Resumes: on the coroutine's own executor.
/// Errors: std::system_error with the operation and the path in its text, unless as_result() asks for a value. Errors
/// of the pool, also with as_result(): as blocking_pool::run. An operation of a directory that is closed or was moved
/// from, one that waits when the directory dies, and a next() while another operation waits are
/// checked errors.
/// Stops: as file: a stop point until a thread of the pool has begun it; loses nothing. A call of the system is short,
/// so a stop comes between two batches.
/// Threads: of any executor. In a simulation it is listed at once, on the thread of the simulation, or is one of a
/// testing::sim_disk.
/// Costs: always a thread of the pool, some 10 us a batch; one allocation of 64 KiB or so in open(). A batch is what
/// the system gives in 32 KiB: some hundreds of entries. File systems that do not say the types of entries are asked
/// for each one.
/// Lifetime: the pool outlives the directory. The destructor closes it.
/// Example: examples/46_file.cpp
class directory {
public:
    directory() noexcept = default;

    /// `co_await directory::open("/var/log")`.
    /// Errors: std::invalid_argument for a path with a zero byte. Else with the path in its text:
    /// std::errc::no_such_file_or_directory, not_a_directory, permission_denied and so on.
    /// Stops: as all operations: a directory that was opened is given.
    [[nodiscard("nothing is opened until this is awaited: co_await it")]] static detail::open_directory_request
    open(std::string path, directory_options options = {}) {
        return {std::move(path), options};
    }

    /// The next entries.
    /// Returns: a std::span<const directory_entry>, which is empty at the end, and not before. It and the names are
    /// valid until the next next(), and as long as the directory.
    /// Stops: loses nothing: entries that were read are given. As a case of when_any() or select() that loses they are
    /// dropped, as each value of a losing case.
    [[nodiscard("nothing is read until this is awaited: co_await it")]] detail::next_entries_request next() noexcept {
        return {opened_, batch_};
    }

    /// The entry `from` is named `to`, in one step: what has that name is replaced, and whoever opens it finds the one
    /// or the other.
    /// Errors: std::invalid_argument for a name that is empty, or has a / or a zero byte. Else of the system, with the
    /// entry behind the path.
    /// Pre: `to` is not empty.
    [[nodiscard("nothing is renamed until this is awaited: co_await it")]] detail::change_names_request
    rename(std::string from, std::string to) noexcept {
        return {opened_, std::move(from), std::move(to)};
    }
    /// The file `name` is no entry any more; one that is open lives until it is closed.
    /// Errors: as rename(); std::errc::is_a_directory.
    [[nodiscard("nothing is removed until this is awaited: co_await it")]] detail::change_names_request
    remove(std::string name) noexcept {
        return {opened_, std::move(name), std::string()};
    }
    /// Until the names are on the drive: those of new files, and what rename() and remove() have done.
    [[nodiscard("nothing is kept until this is awaited: co_await it")]] detail::sync_file_request sync() noexcept {
        return {opened_, false};
    }

    /// Closes it.
    /// Errors: a checked error if next() waits.
    void close() noexcept { opened_.drop("is closed"); }
    [[nodiscard]] bool is_open() const noexcept { return opened_.state() != nullptr; }
    /// As it was opened.
    /// Errors: a checked error if it is not open.
    [[nodiscard]] const std::string& path() const noexcept { return opened_.get().path; }
    /// The system's number; -1 if it is closed. It stays the directory's own.
    [[nodiscard]] int native_handle() const noexcept { return is_open() ? opened_.state()->number : -1; }

private:
    friend class detail::open_directory_awaiter;
    directory(detail::file_handle opened, std::unique_ptr<detail::directory_batch> batch) noexcept
        : batch_(std::move(batch)),
          opened_(std::move(opened)) {}

    std::unique_ptr<detail::directory_batch> batch_;
    detail::file_handle opened_;
};

}  // namespace coflux

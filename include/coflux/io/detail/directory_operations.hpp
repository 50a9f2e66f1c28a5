// The awaits of directory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/io/detail/file_operations.hpp>
#include <coflux/io/result.hpp>

namespace coflux {

class directory;
struct directory_options;

/// The type of an entry of a directory. The numbers are those of Linux.
enum class entry_type : std::uint8_t {
    unknown = 0,    ///< it was gone when its file system was asked
    fifo = 1,       ///< a pipe with a name
    character = 2,  ///< a device, of characters
    directory = 4,
    block = 6,  ///< a device, of blocks
    regular = 8,
    symlink = 10,  ///< itself, not what it leads to
    socket = 12
};

/// A name in a directory, without the way to it.
struct directory_entry {
    std::string_view name;
    entry_type type = entry_type::unknown;
};

namespace detail {

/// The entries that one call of the system has given.
struct directory_batch {
    /// Errors: std::bad_alloc.
    directory_batch();

    static constexpr std::size_t size = 32 * 1024;

    alignas(8) std::array<std::byte, size> records;  // as the system gives them; the names lie there
    std::vector<directory_entry> entries;            // has room for as many as `records` has
};

class open_directory_awaiter : public pool_operation {
public:
    /// Errors: std::invalid_argument, std::bad_alloc.
    open_directory_awaiter(promise_base& p, std::string& path, const directory_options& options);
    directory await_resume();
    io_result<directory> resume_with_result();

private:
    open_directory_awaiter(promise_base& p, std::string& path, blocking_threads& threads, file_calls& by);
    static void open(pool_operation& op) noexcept;
    static const steps does;

    file_handle made_;
    std::unique_ptr<directory_batch> batch_;
};

class next_entries_awaiter : public file_operation {
public:
    next_entries_awaiter(promise_base& p, file_handle& on, std::unique_ptr<directory_batch>& into) noexcept;
    std::span<const directory_entry> await_resume() {
        done();
        check();
        return into_.entries;
    }
    io_result<std::span<const directory_entry>> resume_with_result() {
        done();
        if (result_ < 0) return error();
        return std::span<const directory_entry>(into_.entries);
    }

private:
    static void read(pool_operation& op) noexcept;
    void add_entries(std::size_t bytes) noexcept;
    static const steps does;

    directory_batch& into_;
};

/// Gives a name in a directory to another entry, or takes it away.
class change_names_awaiter : public file_change_awaiter {
public:
    /// `to`: empty: `from` is removed.
    /// Errors: std::invalid_argument for what is no name of an entry.
    change_names_awaiter(promise_base& p, file_handle& on, const std::string& from, const std::string& to);
    void await_resume();

private:
    static void rename(pool_operation& op) noexcept;
    static void remove(pool_operation& op) noexcept;
    static const steps renames;
    static const steps removes;

    const std::string& from_;
    const std::string& to_;
};

using change_names_request = io_request<change_names_awaiter, file_handle&, std::string, std::string>;
using open_directory_request = io_request<open_directory_awaiter, std::string, directory_options>;
using next_entries_request = io_request<next_entries_awaiter, file_handle&, std::unique_ptr<directory_batch>&>;

}  // namespace detail
}  // namespace coflux

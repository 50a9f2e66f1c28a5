// The calls that files are made of: the seam below which the system is, or a simulated disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <coflux/executor/detail/blocking_job.hpp>

#include "os/fs/directory.hpp"
#include "os/fs/file.hpp"

namespace coflux::detail {

/// Each function is that of os/file.hpp or os/directory.hpp, and returns the same. The object that opened a descriptor
/// is asked about it as long as it lives.
class file_calls {
public:
    file_calls(const file_calls&) = delete;
    file_calls& operator=(const file_calls&) = delete;

    /// The calls for the coroutine that runs on this thread now.
    [[nodiscard]] static file_calls& here() noexcept;

    virtual int open_file(const char* path, const os::open_flags& flags) noexcept = 0;
    virtual int close_file(int descriptor) noexcept = 0;
    virtual std::ptrdiff_t read_at(int descriptor, void* into, std::size_t size, std::uint64_t offset) noexcept = 0;
    virtual std::ptrdiff_t read_at_at_once(int descriptor, void* into, std::size_t size,
                                           std::uint64_t offset) noexcept = 0;
    virtual std::ptrdiff_t write_at(int descriptor, const void* from, std::size_t size,
                                    std::uint64_t offset) noexcept = 0;
    virtual std::ptrdiff_t write_at_at_once(int descriptor, const void* from, std::size_t size,
                                            std::uint64_t offset) noexcept = 0;
    virtual std::ptrdiff_t append(int descriptor, const void* from, std::size_t size) noexcept = 0;
    virtual int sync_file(int descriptor, bool data_only) noexcept = 0;
    virtual std::int64_t size_of_file(int descriptor) noexcept = 0;
    virtual int truncate_file(int descriptor, std::uint64_t size) noexcept = 0;
    virtual std::uint64_t copy_part(int from, std::uint64_t from_at, int to, std::uint64_t to_at,
                                    std::size_t most) noexcept = 0;

    /// close_file() closes what it opens, and sync_file() syncs it.
    virtual int open_directory(const char* path) noexcept = 0;
    virtual std::ptrdiff_t read_directory(int descriptor, void* into, std::size_t size) noexcept = 0;
    virtual int type_of_entry(int descriptor, const char* name) noexcept = 0;
    virtual int rename_entry(int descriptor, const char* from, const char* to) noexcept = 0;
    virtual int remove_entry(int descriptor, const char* name) noexcept = 0;

    /// Where operations wait that cannot be done at once, those that sync or the others. nullptr: for a thread.
    [[nodiscard]] virtual job_line* line(bool syncs) noexcept = 0;
    /// Asked of what thread_driver::files() names. nullptr: the system's.
    [[nodiscard]] virtual file_calls* of_running_coroutine() noexcept = 0;

protected:
    constexpr file_calls() noexcept = default;
    ~file_calls() = default;
};

/// Errors: std::invalid_argument for one with a zero byte.
void check_path(const std::string& path);

}  // namespace coflux::detail

#include "file_calls.hpp"

#include <stdexcept>

#include <coflux/core/detail/thread/thread_driver.hpp>
#include <coflux/core/detail/thread/thread_state.hpp>

namespace coflux::detail {
namespace {

class system_files final : public file_calls {
public:
    constexpr system_files() noexcept = default;

    int open_file(const char* path, const os::open_flags& flags) noexcept override {
        return os::open_file(path, flags);
    }
    int close_file(int descriptor) noexcept override { return os::close_file(descriptor); }
    std::ptrdiff_t read_at(int descriptor, void* into, std::size_t size, std::uint64_t offset) noexcept override {
        return os::read_at(descriptor, into, size, offset);
    }
    std::ptrdiff_t read_at_at_once(int descriptor, void* into, std::size_t size,
                                   std::uint64_t offset) noexcept override {
        return os::read_at_at_once(descriptor, into, size, offset);
    }
    std::ptrdiff_t write_at(int descriptor, const void* from, std::size_t size,
                            std::uint64_t offset) noexcept override {
        return os::write_at(descriptor, from, size, offset);
    }
    std::ptrdiff_t write_at_at_once(int descriptor, const void* from, std::size_t size,
                                    std::uint64_t offset) noexcept override {
        return os::write_at_at_once(descriptor, from, size, offset);
    }
    std::ptrdiff_t append(int descriptor, const void* from, std::size_t size) noexcept override {
        return os::append(descriptor, from, size);
    }
    int sync_file(int descriptor, bool data_only) noexcept override { return os::sync_file(descriptor, data_only); }
    std::int64_t size_of_file(int descriptor) noexcept override { return os::size_of_file(descriptor); }
    int truncate_file(int descriptor, std::uint64_t size) noexcept override {
        return os::truncate_file(descriptor, size);
    }
    std::uint64_t copy_part(int from, std::uint64_t from_at, int to, std::uint64_t to_at,
                            std::size_t most) noexcept override {
        return os::copy_part(from, from_at, to, to_at, most);
    }
    int open_directory(const char* path) noexcept override { return os::open_directory(path); }
    std::ptrdiff_t read_directory(int descriptor, void* into, std::size_t size) noexcept override {
        return os::read_directory(descriptor, into, size);
    }
    int type_of_entry(int descriptor, const char* name) noexcept override {
        return os::type_of_entry(descriptor, name);
    }
    int rename_entry(int descriptor, const char* from, const char* to) noexcept override {
        return os::rename_entry(descriptor, from, to);
    }
    int remove_entry(int descriptor, const char* name) noexcept override { return os::remove_entry(descriptor, name); }
    job_line* line(bool) noexcept override { return nullptr; }
    file_calls* of_running_coroutine() noexcept override { return this; }
};

constinit system_files the_systems_files;

}  // namespace

file_calls& file_calls::here() noexcept {
    const thread_driver* const driver = this_thread.driver;
    file_calls* const simulated = driver != nullptr ? driver->files() : nullptr;
    file_calls* const own = simulated != nullptr ? simulated->of_running_coroutine() : nullptr;
    return own != nullptr ? *own : the_systems_files;
}

void check_path(const std::string& path) {
    // Up to there: the text of an exception ends with its first zero byte.
    if (const std::size_t zero = path.find('\0'); zero != std::string::npos)
        throw std::invalid_argument("coflux: open: the path has a zero byte after " + path.substr(0, zero));
}

}  // namespace coflux::detail

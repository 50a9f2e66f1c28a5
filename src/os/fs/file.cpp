#include "file.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace coflux::detail::os {
namespace {

static_assert(sizeof(off_t) == 8, "files of more than 2 GiB");

/// The system moves no more in one call.
constexpr std::size_t most_of_a_call = 0x7ffff000;

/// The result of a call; it is repeated where a signal has interrupted it.
template <typename Call>
auto file_call(Call call) noexcept -> decltype(call()) {
    for (;;) {
        const auto result = call();
        if (result >= 0) return result;
        if (errno != EINTR) return -errno;
    }
}

/// An offset that off_t cannot hold is an error of the system's, as a negative one.
off_t offset_of(std::uint64_t offset) noexcept {
    return offset > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()) ? -2 : static_cast<off_t>(offset);
}

/// How the system call takes an offset: in two registers where one does not hold it.
long low_half(off_t offset) noexcept {
    return static_cast<long>(offset);
}
long high_half(off_t offset) noexcept {
    return sizeof(long) == sizeof(off_t) ? 0L : static_cast<long>(offset >> 31 >> 1);
}

std::ptrdiff_t read_with(int descriptor, void* into, std::size_t size, std::uint64_t offset, int flags) noexcept {
    const iovec part{into, std::min(size, most_of_a_call)};
    // Not preadv2(): that is a point of cancellation, which costs a process with threads 10 ns a call.
    const off_t at = offset_of(offset);
    return file_call([&] { return syscall(SYS_preadv2, descriptor, &part, 1L, low_half(at), high_half(at), flags); });
}
/// POSIX lets a write move none of the bytes that it is given. A loop would call for ever, and its end would be no
/// success. Drivers that do so are at the end of their drive.
/// Source: full_write() of gnulib, which takes it so, too.
std::ptrdiff_t moved_of(std::ptrdiff_t written, std::size_t size) noexcept {
    return written == 0 && size != 0 ? -ENOSPC : written;
}
std::ptrdiff_t write_with(int descriptor, const void* from, std::size_t size, off_t offset, int flags) noexcept {
    const iovec part{const_cast<void*>(from), std::min(size, most_of_a_call)};
    return moved_of(file_call([&] { return pwritev2(descriptor, &part, 1, offset, flags); }), size);
}

}  // namespace

int open_file(const char* path, const open_flags& flags) noexcept {
    int how = flags.read ? (flags.write ? O_RDWR : O_RDONLY) : O_WRONLY;
    how |= O_CLOEXEC | O_NOCTTY;
    if (flags.create) how |= O_CREAT;
    if (flags.exclusive) how |= O_EXCL;
    if (flags.truncate) how |= O_TRUNC;
    if (flags.append) how |= O_APPEND;
    // A pipe without a peer would hold the thread for ever.
    int opened = file_call([&] { return open(path, how | O_NONBLOCK, flags.permissions); });
    const bool is_leased = opened == -EWOULDBLOCK;
    if (is_leased) opened = file_call([&] { return open(path, how, flags.permissions); });
    if (opened < 0) return opened == -ENXIO ? -ESPIPE : opened;
    struct stat is{};
    int error = file_call([&] { return fstat(opened, &is); });
    if (error >= 0 && S_ISDIR(is.st_mode)) error = -EISDIR;
    if (error >= 0 && (S_ISFIFO(is.st_mode) || S_ISSOCK(is.st_mode))) error = -ESPIPE;
    if (error >= 0 && !is_leased && !S_ISREG(is.st_mode))
        error = file_call([&] { return fcntl(opened, F_SETFL, how & O_APPEND); });
    if (error >= 0) return opened;
    close(opened);
    return error;
}

int close_file(int descriptor) noexcept {
    // Interrupted: it is closed nevertheless.
    return close(descriptor) < 0 && errno != EINTR ? -errno : 0;
}

std::ptrdiff_t read_at(int descriptor, void* into, std::size_t size, std::uint64_t offset) noexcept {
    return file_call([&] { return pread(descriptor, into, std::min(size, most_of_a_call), offset_of(offset)); });
}
std::ptrdiff_t read_at_at_once(int descriptor, void* into, std::size_t size, std::uint64_t offset) noexcept {
    return read_with(descriptor, into, size, offset, RWF_NOWAIT);
}
std::ptrdiff_t write_at(int descriptor, const void* from, std::size_t size, std::uint64_t offset) noexcept {
    const std::size_t most = std::min(size, most_of_a_call);
    return moved_of(file_call([&] { return pwrite(descriptor, from, most, offset_of(offset)); }), size);
}
std::ptrdiff_t write_at_at_once(int descriptor, const void* from, std::size_t size, std::uint64_t offset) noexcept {
    return write_with(descriptor, from, size, offset_of(offset), RWF_NOWAIT);
}
std::ptrdiff_t append(int descriptor, const void* from, std::size_t size) noexcept {
    return write_with(descriptor, from, size, 0, RWF_APPEND);
}
namespace {

/// True: `to` reads as zeros there, and is as long.
bool leave_hole(int to, off_t at, off_t length, bool is_last) noexcept {
    struct stat is{};
    if (fstat(to, &is) < 0) return false;
    if (is.st_size > at) {
        const off_t covered = std::min(is.st_size - at, length);
        if (fallocate(to, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, covered) < 0) return false;
    }
    if (!is_last || is.st_size >= at + length) return true;
    // Not ftruncate(), which would cut off what another has appended meanwhile.
    return pwrite(to, "", 1, at + length - 1) == 1;
}

}  // namespace

std::uint64_t copy_part(int from, std::uint64_t from_at, int to, std::uint64_t to_at, std::size_t most) noexcept {
    struct stat is{};
    off_t at = offset_of(from_at);
    off_t into = offset_of(to_at);
    // A file of the kernel's may have bytes and no size.
    if (at < 0 || into < 0 || fstat(from, &is) < 0 || !S_ISREG(is.st_mode) || at >= is.st_size) return 0;
    const off_t data = lseek(from, at, SEEK_DATA);
    const bool is_last = data < 0 && errno == ENXIO;
    if (data < 0 && !is_last) return 0;
    if (is_last || data > at) {
        const off_t length = (is_last ? is.st_size : data) - at;
        return leave_hole(to, into, length, is_last) ? static_cast<std::uint64_t>(length) : 0;
    }
    const off_t hole = lseek(from, at, SEEK_HOLE);
    if (hole <= at) return 0;
    const auto size = std::min(static_cast<std::size_t>(hole - at), std::min(most, most_of_a_call));
    const ssize_t moved = copy_file_range(from, &at, to, &into, size, 0);
    return moved > 0 ? static_cast<std::uint64_t>(moved) : 0;
}
bool is_refused(std::ptrdiff_t result) noexcept {
    return result == -EOPNOTSUPP || result == -ENOSYS;
}

int sync_file(int descriptor, bool data_only) noexcept {
    return file_call([&] { return data_only ? fdatasync(descriptor) : fsync(descriptor); });
}
std::int64_t size_of_file(int descriptor) noexcept {
    struct stat is{};
    const int e = file_call([&] { return fstat(descriptor, &is); });
    return e < 0 ? e : std::int64_t{is.st_size};
}
int truncate_file(int descriptor, std::uint64_t size) noexcept {
    return file_call([&] { return ftruncate(descriptor, offset_of(size)); });
}

}  // namespace coflux::detail::os

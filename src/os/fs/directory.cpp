#include "directory.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/system_call.hpp"

namespace coflux::detail::os {
namespace {

/// As in the kernel's linux/dirent.h. A name and its zero byte follow, and what aligns the next one.
struct record_head {
    std::uint64_t inode;
    std::int64_t offset;
    std::uint16_t size;
    unsigned char type;
};
constexpr std::size_t name_at = offsetof(record_head, type) + 1;

constexpr std::size_t size_of_record(std::size_t name) noexcept {
    return (name_at + name + 1 + 7) / 8 * 8;
}
static_assert(size_of_record(1) == least_record);

}  // namespace

int open_directory(const char* path) noexcept {
    return result_of([&] { return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY); });
}

std::ptrdiff_t read_directory(int descriptor, void* into, std::size_t size) noexcept {
    return result_of([&] { return syscall(SYS_getdents64, descriptor, into, size); });
}

directory_record take_record(const std::byte* records, std::size_t& at) noexcept {
    record_head head;
    std::memcpy(&head, records + at, name_at);
    const auto* const name = reinterpret_cast<const char*>(records + at + name_at);
    at += head.size;
    return {name, head.type};
}

std::size_t put_record(void* into, std::size_t room, const directory_record& record) noexcept {
    const std::size_t size = size_of_record(record.name.size());
    if (size > room) return 0;
    const record_head head{1, 0, static_cast<std::uint16_t>(size), record.type};
    auto* const to = static_cast<std::byte*>(into);
    std::memset(to, 0, size);
    std::memcpy(to, &head, name_at);
    std::memcpy(to + name_at, record.name.data(), record.name.size());
    return size;
}

int rename_entry(int descriptor, const char* from, const char* to) noexcept {
    return result_of([&] { return renameat(descriptor, from, descriptor, to); });
}
int remove_entry(int descriptor, const char* name) noexcept {
    return result_of([&] { return unlinkat(descriptor, name, 0); });
}

int type_of_entry(int descriptor, const char* name) noexcept {
    struct stat is{};
    const int e = result_of([&] { return fstatat(descriptor, name, &is, AT_SYMLINK_NOFOLLOW); });
    return e < 0 ? e : static_cast<int>(IFTODT(is.st_mode));
}

}  // namespace coflux::detail::os

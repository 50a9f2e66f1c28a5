#include "os/process/own_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "os/system_call.hpp"

#if defined(__linux__)
#    include <fcntl.h>
#    include <sys/mman.h>
#    include <sys/uio.h>
#    include <unistd.h>
#endif

namespace coflux::detail::os {

#if defined(__linux__)

std::size_t read_own_memory(const memory_piece* pieces, std::size_t count, void* into) noexcept {
    constexpr std::size_t at_once = 16;
    std::size_t done = 0;
    while (count != 0) {
        iovec remote[at_once];
        const std::size_t n = std::min(count, at_once);
        std::size_t wanted = 0;
        for (std::size_t i = 0; i < n; ++i) {
            remote[i] = {reinterpret_cast<void*>(pieces[i].from), pieces[i].size};
            wanted += pieces[i].size;
        }
        const iovec local{static_cast<char*>(into) + done, wanted};
        const auto got = result_of([&] { return process_vm_readv(getpid(), &local, 1, remote, n, 0); });
        if (got < 0) return done;
        done += static_cast<std::size_t>(got);
        if (static_cast<std::size_t>(got) != wanted) return done;
        pieces += n;
        count -= n;
    }
    return done;
}

bool can_read_own_memory() noexcept {
    const char here = 1;
    char copy = 0;
    const memory_piece piece{reinterpret_cast<std::uintptr_t>(&here), 1};
    return read_own_memory(&piece, 1, &copy) == 1;
}

void* map_pages(std::size_t bytes) noexcept {
    void* const pages =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return pages == MAP_FAILED ? nullptr : pages;
}

void unmap_pages(void* begin, std::size_t bytes) noexcept {
    (void)munmap(begin, bytes);
}

namespace {

/// One line of /proc/self/maps after the other: `begin-end rwxp offset device inode path`.
class line_reader {
public:
    explicit line_reader(int descriptor) noexcept : descriptor_(descriptor) {}

    /// Without its end; what is longer than a line may be is cut off.
    bool next(char* line, std::size_t most) noexcept {
        std::size_t n = 0;
        for (;;) {
            if (at_ == end_) {
                const auto got = result_of([this] { return ::read(descriptor_, buffer_, sizeof buffer_); });
                if (got <= 0) return false;
                at_ = 0;
                end_ = static_cast<std::size_t>(got);
            }
            const char c = buffer_[at_++];
            if (c == '\n') break;
            if (n + 1 < most) line[n++] = c;
        }
        line[n] = '\0';
        return true;
    }

private:
    int descriptor_;
    std::size_t at_ = 0;
    std::size_t end_ = 0;
    char buffer_[1024];
};

std::uintptr_t hexadecimal(const char*& text) noexcept {
    std::uintptr_t value = 0;
    for (;; ++text) {
        const char c = *text;
        if (c >= '0' && c <= '9') {
            value = value * 16 + static_cast<unsigned>(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            value = value * 16 + static_cast<unsigned>(c - 'a' + 10);
        } else {
            return value;
        }
    }
}

}  // namespace

std::size_t own_mapped_parts(mapped_part* parts, std::size_t most) noexcept {
    const int descriptor = result_of([] { return ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC); });
    if (descriptor < 0) return 0;
    line_reader lines(descriptor);
    std::size_t count = 0;
    char line[256];
    while (lines.next(line, sizeof line)) {
        const char* text = line;
        const std::uintptr_t begin = hexadecimal(text);
        if (*text++ != '-') continue;
        const std::uintptr_t end = hexadecimal(text);
        const bool readable = std::strlen(text) > 4 && text[1] == 'r';
        if (!readable || std::strchr(text, '/') == nullptr) continue;
        const bool executable = text[3] == 'x';
        if (count != 0 && parts[count - 1].end == begin && parts[count - 1].executable == executable) {
            parts[count - 1].end = end;
        } else if (count < most) {
            parts[count++] = {begin, end, executable};
        }
    }
    (void)::close(descriptor);
    return count;
}

bool write_all(int descriptor, const char* from, std::size_t size) noexcept {
    while (size != 0) {
        const auto done = result_of([&] { return ::write(descriptor, from, size); });
        if (done <= 0) return false;
        from += done;
        size -= static_cast<std::size_t>(done);
    }
    return true;
}

#else

std::size_t read_own_memory(const memory_piece*, std::size_t, void*) noexcept {
    return 0;
}
bool can_read_own_memory() noexcept {
    return false;
}
void* map_pages(std::size_t) noexcept {
    return nullptr;
}
void unmap_pages(void*, std::size_t) noexcept {}
std::size_t own_mapped_parts(mapped_part*, std::size_t) noexcept {
    return 0;
}
bool write_all(int, const char*, std::size_t) noexcept {
    return false;
}

#endif

kept_errno::kept_errno() noexcept : value_(errno) {}
kept_errno::~kept_errno() {
    errno = value_;
}

}  // namespace coflux::detail::os

// Memory of which no page was touched before.
#pragma once

#include <cstddef>
#include <new>
#include <sys/mman.h>

namespace harness {

// Pages of 4 KiB, as the system of the document has them, each of which the kernel makes when it is first written to.
class fresh_pages {
public:
    explicit fresh_pages(std::size_t bytes)
        : bytes_{bytes},
          begin_{mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)} {
        if (begin_ == MAP_FAILED) {
            throw std::bad_alloc{};
        }
        madvise(begin_, bytes_, MADV_NOHUGEPAGE);
    }
    ~fresh_pages() { munmap(begin_, bytes_); }
    fresh_pages(const fresh_pages&) = delete;
    fresh_pages& operator=(const fresh_pages&) = delete;

    [[nodiscard]] void* data() const noexcept { return begin_; }
    [[nodiscard]] std::size_t size() const noexcept { return bytes_; }

private:
    std::size_t bytes_;
    void* begin_;
};

}  // namespace harness

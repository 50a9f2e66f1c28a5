// A memory resource that never goes through operator new, so that counting the one does not count the other.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory_resource>
#include <new>

namespace coflux_test {

/// Frees what is deallocated; every block is the C library's own.
class malloc_resource final : public std::pmr::memory_resource {
private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        if (alignment < alignof(std::max_align_t)) alignment = alignof(std::max_align_t);
        void* const block = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
        if (block == nullptr) throw std::bad_alloc();
        return block;
    }
    void do_deallocate(void* block, std::size_t, std::size_t) override { std::free(block); }
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
};

}  // namespace coflux_test

// A monotonic arena for one subtree of coroutines.
#pragma once

#include <cstddef>
#include <memory_resource>

#include <coflux/memory/frame_pool.hpp>

namespace coflux {

/// A resource that bumps a pointer and frees everything at once: `make_environment(here, &arena)` for a subtree that
/// lives and dies together.
///
/// Shapes: owns its chunks, which come from `upstream` and double in size.
/// Errors: what `upstream` throws.
/// Threads: one at a time; children that run on other threads need a resource that is safe for them.
/// Costs: a few instructions an allocation, none a deallocation; `release()` gives the chunks back and keeps none.
/// Lifetime: outlives every environment made with it.
class arena final : public std::pmr::memory_resource {
public:
    /// `first_chunk` is the size of the first chunk in bytes.
    explicit arena(std::size_t first_chunk = 16 * 1024, std::pmr::memory_resource* upstream = &frame_pool::shared())
        : memory_(first_chunk, upstream) {}

    /// Frees all at once.
    /// Pre: nothing allocated from the arena is in use.
    void release() noexcept {
        memory_.release();
        used_ = 0;
    }

    /// Bytes handed out since the start or the last release, padding not counted.
    [[nodiscard]] std::size_t used() const noexcept { return used_; }

private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        void* const block = memory_.allocate(bytes, alignment);
        used_ += bytes;
        return block;
    }
    void do_deallocate(void*, std::size_t, std::size_t) noexcept override {}
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

    std::pmr::monotonic_buffer_resource memory_;
    std::size_t used_ = 0;
};

}  // namespace coflux

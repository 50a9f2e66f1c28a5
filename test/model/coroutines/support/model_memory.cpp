// Replaces src/memory/frame_pool.cpp in the model programs: each block is one of the heap's, is filled when
// it is freed and is not used again in the same interleaving, so that a use after that is found.
#include "model_memory.hpp"

#include <cstdlib>
#include <cstring>

#include <coflux/base/assert.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/memory/frame_pool.hpp>

namespace coflux {
namespace model {
namespace {

constexpr std::size_t most = 1024;

struct block {
    void* memory;
    std::size_t bytes;
    bool lives;
};
// The blocks of the current interleaving; not atomic, because they belong to the model and not to what is checked.
block blocks[most];
std::size_t made = 0;
std::size_t lives = 0;

void* take(std::size_t bytes) noexcept {
    if (made == most) std::abort();  // a scenario that is too large
    constexpr std::size_t alignment = 64;
    void* const memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory == nullptr) std::abort();
    blocks[made++] = {memory, bytes, true};
    ++lives;
    return memory;
}

void give(void* memory) noexcept {
    for (std::size_t i = made; i-- != 0;) {
        block& b = blocks[i];
        if (b.memory != memory) continue;
        if (!b.lives) fail_here("memory was given back twice");
        b.lives = false;
        --lives;
        forget(memory, b.bytes);
        std::memset(memory, 0xdd, b.bytes);
        return;
    }
    fail_here("memory was given back that was not taken");
}

}  // namespace

void begin_memory() noexcept {
    while (made != 0) std::free(blocks[--made].memory);
    lives = 0;
}

std::size_t living_blocks() noexcept {
    return lives;
}

}  // namespace model

namespace detail {

void set_failure_context(failure_context) noexcept {}  // Relacy's history says more

void cpu_pause() noexcept {
    if (!model::runs()) return;
    const model::switch_point point;
    model::let_others_run();
}

void* refill_frame_cache(std::size_t size_class) noexcept {
    return model::take((size_class + 1) * frame_cache::granule);
}

void count_frame_cache(void* block, std::size_t) noexcept {
    model::give(block);
}

void* allocate_large_frame(std::size_t bytes, std::size_t) noexcept {
    return model::take(bytes);
}

void deallocate_large_frame(void* block, std::size_t, std::size_t) noexcept {
    model::give(block);
}

void throw_bad_alloc() {
    throw std::bad_alloc();
}

}  // namespace detail

frame_pool& frame_pool::shared() noexcept {
    static frame_pool pool;
    return pool;
}

void* frame_pool::do_allocate(std::size_t bytes, std::size_t) {
    return model::take(bytes);
}

void frame_pool::do_deallocate(void* block, std::size_t, std::size_t) noexcept {
    model::give(block);
}

}  // namespace coflux

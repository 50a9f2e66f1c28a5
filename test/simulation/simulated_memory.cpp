// The operator new of an example and of the library's objects that are linked with it (--wrap, CMakeLists.txt), and in
// place of the library's frame pool one in which each frame is a block of its own.
#include <memory_resource>
#include <new>

#include <coflux/core/detail/frame/frame.hpp>
#include <coflux/memory/frame_pool.hpp>

#include "allocation_faults.hpp"

namespace {

bool fails() noexcept {
    return coflux_simulations::allocation_faults::fails();
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the names that the linker gives
void* __real__Znwm(std::size_t);
void* __real__Znam(std::size_t);
void* __real__ZnwmSt11align_val_t(std::size_t, std::align_val_t);
void* __real__ZnwmRKSt9nothrow_t(std::size_t, const std::nothrow_t&) noexcept;
void* __real__ZnwmSt11align_val_tRKSt9nothrow_t(std::size_t, std::align_val_t, const std::nothrow_t&) noexcept;
void __real__ZN6coflux6detail16block_until_doneERNS0_13frame_controlEb(coflux::detail::frame_control&, bool);

void* __wrap__Znwm(std::size_t bytes) {
    if (fails()) throw std::bad_alloc();
    return __real__Znwm(bytes);
}
void* __wrap__Znam(std::size_t bytes) {
    if (fails()) throw std::bad_alloc();
    return __real__Znam(bytes);
}
void* __wrap__ZnwmSt11align_val_t(std::size_t bytes, std::align_val_t alignment) {
    if (fails()) throw std::bad_alloc();
    return __real__ZnwmSt11align_val_t(bytes, alignment);
}
void* __wrap__ZnwmRKSt9nothrow_t(std::size_t bytes, const std::nothrow_t& no) noexcept {
    return fails() ? nullptr : __real__ZnwmRKSt9nothrow_t(bytes, no);
}
void* __wrap__ZnwmSt11align_val_tRKSt9nothrow_t(std::size_t bytes, std::align_val_t alignment,
                                                const std::nothrow_t& no) noexcept {
    return fails() ? nullptr : __real__ZnwmSt11align_val_tRKSt9nothrow_t(bytes, alignment, no);
}
void __wrap__ZN6coflux6detail16block_until_doneERNS0_13frame_controlEb(coflux::detail::frame_control& c,
                                                                       bool may_throw) {
    const coflux_simulations::main_waits here;
    __real__ZN6coflux6detail16block_until_doneERNS0_13frame_controlEb(c, may_throw);
}
// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"

namespace coflux {
namespace detail {

// The lists of a thread stay empty and are never opened: so each allocation comes to refill_frame_cache(), and each
// block that is returned to count_frame_cache().
void* refill_frame_cache(std::size_t size_class) noexcept {
    return allocate_large_frame((size_class + 1) * frame_cache::granule, frame_cache::granule);
}
void count_frame_cache(void* block, std::size_t size_class) noexcept {
    deallocate_large_frame(block, (size_class + 1) * frame_cache::granule, frame_cache::granule);
}
void* allocate_checked_frame(std::size_t bytes, std::size_t alignment) {
    void* const taken = allocate_large_frame(bytes, alignment);
    if (taken == nullptr) throw_bad_alloc();
    return taken;
}
void deallocate_checked_frame(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    deallocate_large_frame(block, bytes, alignment);
}
void* allocate_large_frame(std::size_t bytes, std::size_t alignment) noexcept {
    if (fails()) return nullptr;
    const coflux_simulations::simulation_at_work counted_above;
    void* const block = ::operator new(bytes, std::align_val_t{alignment}, std::nothrow);
    coflux_simulations::allocation_faults::frames += block != nullptr ? 1 : 0;
    return block;
}
void deallocate_large_frame(void* block, std::size_t, std::size_t alignment) noexcept {
    --coflux_simulations::allocation_faults::frames;
    ::operator delete(block, std::align_val_t{alignment});
}
void throw_bad_alloc() {
    throw std::bad_alloc();
}

}  // namespace detail

frame_pool& frame_pool::shared() noexcept {
    alignas(frame_pool) static char storage[sizeof(frame_pool)];
    static frame_pool* const pool = ::new (storage) frame_pool;
    return *pool;
}
void frame_pool::trim() noexcept {}
void frame_pool::set_reserve_limit(std::size_t) noexcept {}
frame_pool_stats frame_pool::stats() const noexcept {
    return {};
}
void* frame_pool::do_allocate(std::size_t bytes, std::size_t alignment) {
    return detail::allocate_pooled(bytes == 0 ? 1 : bytes, alignment);
}
void frame_pool::do_deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    detail::deallocate_pooled(block, bytes == 0 ? 1 : bytes, alignment);
}

}  // namespace coflux

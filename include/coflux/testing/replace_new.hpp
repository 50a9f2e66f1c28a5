// Include this in one file of a test program: it replaces the program's operator new by one that counts
// (alloc_guard.hpp).
//
// A header, because a library must not replace operator new for every program that links it. Two files of one program
// that include it do not link. The sanitizers have an operator new of their own, which finds more: with them it
// replaces nothing.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

#include <coflux/base/config.hpp>
#include <coflux/testing/alloc_guard.hpp>

#if defined(__SANITIZE_THREAD__)
#    define COFLUX_TESTING_KEEPS_NEW 1
#elif defined(__has_feature)
#    if __has_feature(thread_sanitizer)
#        define COFLUX_TESTING_KEEPS_NEW 1
#    endif
#endif
#if !defined(COFLUX_TESTING_KEEPS_NEW)
#    define COFLUX_TESTING_KEEPS_NEW COFLUX_ASAN
#endif

#if !COFLUX_TESTING_KEEPS_NEW
namespace coflux::testing::detail {
namespace {

[[maybe_unused]] const bool new_is_replaced = (new_is_counted.store(true, coflux::detail::memory_order_relaxed), true);

void* counted_new(std::size_t bytes, std::size_t alignment) {
    new_calls.fetch_add(1, coflux::detail::memory_order_relaxed);
    new_bytes.fetch_add(bytes, coflux::detail::memory_order_relaxed);
    if (new_fails.load(coflux::detail::memory_order_relaxed)) throw std::bad_alloc();
    if (bytes == 0) bytes = 1;
    void* const block = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (block == nullptr) throw std::bad_alloc();
    return block;
}

}  // namespace
}  // namespace coflux::testing::detail

// The other forms of the standard library call these.
void* operator new(std::size_t bytes) {
    return coflux::testing::detail::counted_new(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return coflux::testing::detail::counted_new(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* block) noexcept {
    std::free(block);
}
void operator delete(void* block, std::size_t) noexcept {
    std::free(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
    std::free(block);
}
void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
    std::free(block);
}
#endif

// A resource that counts what passes through it, and fails on demand: for tests and benchmarks.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <new>

#include <coflux/base/atomic.hpp>
#include <coflux/memory/frame_pool.hpp>

namespace coflux {

/// Forwards to `upstream` and counts allocations, deallocations, live and peak bytes; can be set to fail the n-th
/// allocation.
///
/// Errors: std::bad_alloc at the allocation named by fail_at(), before anything reached `upstream`; otherwise
/// upstream's errors.
/// Threads: any, if `upstream` allows it.
/// Costs: four relaxed atomic additions a call.
class counting_resource final : public std::pmr::memory_resource {
public:
    explicit counting_resource(std::pmr::memory_resource* upstream = &frame_pool::shared()) noexcept
        : upstream_(upstream) {}

    [[nodiscard]] std::size_t allocations() const noexcept { return allocations_.load(detail::memory_order_relaxed); }
    [[nodiscard]] std::size_t deallocations() const noexcept {
        return deallocations_.load(detail::memory_order_relaxed);
    }
    [[nodiscard]] std::size_t live() const noexcept { return allocations() - deallocations(); }
    [[nodiscard]] std::size_t live_bytes() const noexcept { return bytes_.load(detail::memory_order_relaxed); }
    [[nodiscard]] std::size_t peak_bytes() const noexcept { return peak_.load(detail::memory_order_relaxed); }

    /// The `n`-th allocation from now (1 is the next) throws std::bad_alloc; 0 disarms.
    void fail_at(std::size_t n) noexcept { fail_in_.store(n, detail::memory_order_relaxed); }

private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        std::size_t left = fail_in_.load(detail::memory_order_relaxed);
        while (left != 0 && !fail_in_.compare_exchange_weak(left, left - 1, detail::memory_order_relaxed)) {}
        if (left == 1) throw std::bad_alloc();
        void* const block = upstream_->allocate(bytes, alignment);
        allocations_.fetch_add(1, detail::memory_order_relaxed);
        const std::size_t now = bytes_.fetch_add(bytes, detail::memory_order_relaxed) + bytes;
        std::size_t peak = peak_.load(detail::memory_order_relaxed);
        while (peak < now && !peak_.compare_exchange_weak(peak, now, detail::memory_order_relaxed)) {}
        return block;
    }
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
        upstream_->deallocate(block, bytes, alignment);
        bytes_.fetch_sub(bytes, detail::memory_order_relaxed);
        deallocations_.fetch_add(1, detail::memory_order_relaxed);
    }
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

    std::pmr::memory_resource* upstream_;
    // Counters only; no other memory is ordered by them, so relaxed throughout.
    detail::atomic<std::size_t> allocations_{0};
    detail::atomic<std::size_t> deallocations_{0};
    detail::atomic<std::size_t> bytes_{0};
    detail::atomic<std::size_t> peak_{0};
    detail::atomic<std::size_t> fail_in_{0};
};

}  // namespace coflux

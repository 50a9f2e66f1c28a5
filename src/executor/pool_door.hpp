// What stands for a thread pool where environments name it.
#pragma once

#include <coflux/base/atomic.hpp>

namespace coflux::detail {

class thread_pool;

/// It stays when the pool is gone, so that a caller that comes too late learns of it, and no later pool is taken for
/// this one. It costs 16 bytes for each pool that ever was.
class pool_door {
public:
    explicit pool_door(thread_pool& pool) : kept_(*new kept{&pool, nullptr}) {
        // In a list, so that what looks for lost memory finds it. release pairs with nothing: the list is never read.
        kept_.next = all.load(memory_order_relaxed);
        while (!all.compare_exchange_weak(kept_.next, &kept_, memory_order_release, memory_order_relaxed)) {}
    }
    pool_door(const pool_door&) = delete;
    pool_door& operator=(const pool_door&) = delete;
    ~pool_door() { close(); }

    void close() noexcept { kept_.pool.store(nullptr, memory_order_release); }  // pairs with behind()

    [[nodiscard]] void* identity() const noexcept { return &kept_; }
    /// The pool behind the door with this identity; nullptr: it is gone.
    [[nodiscard]] static thread_pool* behind(void* identity) noexcept {
        return static_cast<kept*>(identity)->pool.load(memory_order_acquire);  // pairs with close()
    }

private:
    struct kept {
        atomic<thread_pool*> pool;
        kept* next;
    };
    static inline constinit atomic<kept*> all{nullptr};

    kept& kept_;
};

}  // namespace coflux::detail

// Environments name an executor with threads of its own by it.
#pragma once

#include <coflux/base/atomic.hpp>

namespace coflux::detail {

/// It stays when the executor is gone, so that a caller that comes too late learns of it, and no later executor is
/// taken for this one. It costs 16 bytes for each executor that ever was.
template <typename Behind>
class executor_door {
public:
    explicit executor_door(Behind& executor) : kept_(*new kept{&executor, nullptr}) {
        // In a list, so that what looks for lost memory finds it. release pairs with nothing: the list is never read.
        kept_.next = all.load(memory_order_relaxed);
        while (!all.compare_exchange_weak(kept_.next, &kept_, memory_order_release, memory_order_relaxed)) {}
    }
    executor_door(const executor_door&) = delete;
    executor_door& operator=(const executor_door&) = delete;
    ~executor_door() { close(); }

    void close() noexcept { kept_.executor.store(nullptr, memory_order_release); }  // pairs with behind()

    [[nodiscard]] void* identity() const noexcept { return &kept_; }
    /// The executor behind the door with this identity; nullptr: it is gone.
    [[nodiscard]] static Behind* behind(void* identity) noexcept {
        return static_cast<kept*>(identity)->executor.load(memory_order_acquire);  // pairs with close()
    }

private:
    struct kept {
        atomic<Behind*> executor;
        kept* next;
    };
    static inline constinit atomic<kept*> all{nullptr};

    kept& kept_;
};

}  // namespace coflux::detail

// Values that several receivers look at: each in a node of its own, which lives as long as a receiver looks at it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <type_traits>
#include <utility>

#include <coflux/channel/detail/shared_state.hpp>
#include <coflux/channel/detail/version_wait.hpp>

namespace coflux::detail {

template <typename T>
class versioned_slots : public shared_state, public slot_version {
public:
    struct node {
        node* next;             ///< in the list of unused nodes
        std::uint32_t holders;  ///< under the lock: the board, and the receivers at it. 0: the value is dead or dying
        alignas(T) std::byte bytes[sizeof(T)];

        [[nodiscard]] T& value() noexcept { return *std::launder(reinterpret_cast<T*>(bytes)); }
    };

    /// A node with `value`, held by the board. Throws std::bad_alloc, and then `value` is as it was.
    [[nodiscard]] node* made(T&& value) {
        lock();
        node* n = unused_;
        if (n != nullptr) unused_ = n->next;
        unlock();
        if (n == nullptr) n = ::new (resource()->allocate(sizeof(node), alignof(node))) node;
        n->holders = 1;
        ::new (static_cast<void*>(n->bytes)) T(std::move(value));
        return n;
    }
    /// Pre: locked, and `n` is held.
    void hold(node& n) noexcept { ++n.holders; }
    /// Pre: locked. True if the caller must call dispose() after the unlock.
    [[nodiscard]] bool drop_locked(node* n) noexcept { return n != nullptr && --n->holders == 0; }
    void drop(node* n) noexcept {
        lock();
        const bool dead = drop_locked(n);
        unlock();
        if (dead) dispose(n);
    }
    /// Ends the value, without the lock: its destructor is the user's. The node is used again.
    void dispose(node* n) noexcept {
        n->value().~T();
        lock();
        n->next = std::exchange(unused_, n);
        unlock();
    }

    /// An end was made, or is gone: how many are left.
    [[nodiscard]] std::uint32_t senders() const noexcept { return senders_.load(memory_order_relaxed); }
    [[nodiscard]] std::uint32_t receivers() const noexcept { return receivers_.load(memory_order_relaxed); }
    void sender_made() noexcept { senders_.fetch_add(1, memory_order_relaxed); }
    void receiver_made() noexcept { receivers_.fetch_add(1, memory_order_relaxed); }
    /// True for the last.
    [[nodiscard]] bool receiver_gone() noexcept { return receivers_.fetch_sub(1, memory_order_relaxed) == 1; }
    /// The last sender ends the board and wakes the waiters.
    void sender_gone() noexcept {
        // acq_rel: the end comes behind all that other senders have published.
        if (senders_.fetch_sub(1, memory_order_acq_rel) != 1) return;
        lock();
        wait_operation* const all = end();
        unlock();
        wake_all(all);
    }

protected:
    explicit versioned_slots(std::pmr::memory_resource* resource) noexcept : shared_state(resource) {}
    ~versioned_slots() {
        while (unused_ != nullptr) free(std::exchange(unused_, unused_->next));
    }
    void free(node* n) noexcept { resource()->deallocate(n, sizeof(node), alignof(node)); }

private:
    node* unused_ = nullptr;  ///< under the lock
    // Ends alive; relaxed but for the last sender: an answer about them may be old at once.
    atomic<std::uint32_t> senders_{1};
    atomic<std::uint32_t> receivers_{0};
};

}  // namespace coflux::detail

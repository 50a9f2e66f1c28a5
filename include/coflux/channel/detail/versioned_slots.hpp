// Values that several receivers look at: each in a slot of its own, and a version that counts them.
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

/// One value, which lives as long as a receiver looks at it.
template <typename T>
struct versioned_slot {
    versioned_slot* next;   ///< in the list of unused slots
    std::uint32_t holders;  ///< under the lock: the state, and the receivers at it. 0: the value is dead or dying
    alignas(T) std::byte bytes[sizeof(T)];

    [[nodiscard]] T& value() noexcept { return *std::launder(reinterpret_cast<T*>(bytes)); }
};

template <typename T>
class versioned_slots : public shared_state, public slot_version {
public:
    using slot = versioned_slot<T>;

    /// Pre: locked, and `n` is held.
    void hold(slot& n) noexcept { ++n.holders; }
    /// Pre: locked. True if the caller must call dispose() after the unlock.
    [[nodiscard]] bool drop_locked(slot* n) noexcept { return n != nullptr && --n->holders == 0; }
    void drop(slot* n) noexcept {
        lock();
        const bool dead = drop_locked(n);
        unlock();
        if (dead) dispose(n);
    }
    /// Ends the value, without the lock: its destructor is the user's. The slot is used again.
    void dispose(slot* n) noexcept {
        n->value().~T();
        lock();
        n->next = std::exchange(unused_, n);
        unlock();
    }

    /// An end was made, or is gone: how many are left.
    [[nodiscard]] std::uint32_t senders() const noexcept { return senders_.load(memory_order_relaxed); }
    [[nodiscard]] std::uint32_t receivers() const noexcept { return receivers_.load(memory_order_relaxed); }
    void add_sender() noexcept { senders_.fetch_add(1, memory_order_relaxed); }
    void add_receiver() noexcept { receivers_.fetch_add(1, memory_order_relaxed); }
    /// True for the last.
    [[nodiscard]] bool remove_receiver() noexcept { return receivers_.fetch_sub(1, memory_order_relaxed) == 1; }
    /// The last sender ends the versions and wakes the waiters.
    void remove_sender() noexcept {
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
    /// A slot with `value`, held by the state. Throws std::bad_alloc, and then `value` is as it was.
    [[nodiscard]] slot* make(T&& value) {
        lock();
        slot* n = unused_;
        if (n != nullptr) unused_ = n->next;
        unlock();
        if (n == nullptr) n = ::new (resource()->allocate(sizeof(slot), alignof(slot))) slot;
        n->holders = 1;
        ::new (static_cast<void*>(n->bytes)) T(std::move(value));
        return n;
    }
    /// Publishes `value` in place of what `find()` refers to, which is called with the lock held.
    template <typename Find>
    void replace(T&& value, Find find) {
        slot* const fresh = make(std::move(value));
        lock();
        slot* const old = std::exchange(find(), fresh);
        wait_operation* const all = publish();
        const bool dead = drop_locked(old);
        unlock();
        wake_all(all);
        if (dead) dispose(old);
    }
    /// The state's destructor calls it.
    void destroy(slot* n) noexcept {
        if (n == nullptr) return;
        n->value().~T();
        free(n);
    }

private:
    void free(slot* n) noexcept { resource()->deallocate(n, sizeof(slot), alignof(slot)); }

    slot* unused_ = nullptr;  ///< under the lock
    // Ends alive; relaxed but for the last sender: an answer about them may be old at once.
    atomic<std::uint32_t> senders_{1};
    atomic<std::uint32_t> receivers_{0};
};

/// Waits until the version of the State is beyond the receiver's own, `cursor`. Shapes: `take(cursor)` of the State
/// gives what is there, and moves the cursor on.
template <typename State>
class cursor_wait : protected version_wait {
public:
    cursor_wait(promise_base& p, State& s, std::uint64_t& cursor) noexcept
        : version_wait(p, s, slot_version::after(cursor)),
          state_(s),
          cursor_(cursor) {}

protected:
    [[nodiscard]] auto take() noexcept(noexcept(std::declval<State&>().take(std::declval<std::uint64_t&>()))) {
        return state_.take(cursor_);
    }

private:
    State& state_;
    std::uint64_t& cursor_;
};

/// A sending end.
struct version_sending {
    static void copied(auto& state) noexcept { state.add_sender(); }
    static void release(auto& state) noexcept { state.remove_sender(); }
};

}  // namespace coflux::detail

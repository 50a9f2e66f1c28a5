// How many children of a scope have not been released, and which thread goes on when none is left.
//
// The page docs/design/environment.md has the protocol.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>

namespace coflux::detail {

enum class child_added : std::uint8_t {
    counted,
    too_late,  ///< no thread waits for children of this scope any more: the child would be lost
};

enum class children_left : std::uint8_t {
    none,  ///< and the scope is closed: the caller goes on with what waits for that
    some,  ///< or the scope is open
};

/// A child is counted by the scope's owner, without an atomic operation, or atomically by any other thread; it is
/// released by its owner, while that is suspended in an await of this very child, or atomically. Only the sum of the
/// two counts says how many children are left: one that its owner counted may be released atomically.
class child_count {
public:
    COFLUX_INLINE child_count() noexcept : by_owner_(none_by_owner), atomic_(open) {}
    child_count(const child_count&) = delete;
    child_count& operator=(const child_count&) = delete;

    // --- the owner: no other thread touches its count meanwhile

    COFLUX_INLINE void add_by_owner() noexcept {
        if (++by_owner_ == 0) [[unlikely]]
            fold();
    }
    /// Pre: the owner is suspended in an await of the child.
    COFLUX_INLINE void release_by_owner() noexcept { --by_owner_; }
    /// False: no child is left, and its effects are visible. True: there may be one. In an open scope it is one load
    /// less to wait for than has_any(), and wrong where a child was counted by its owner and released atomically.
    [[nodiscard]] COFLUX_INLINE bool may_have_any() const noexcept {
        // acquire pairs with release(): what the children did is visible.
        // [child_count.may_have_any]
        return ((by_owner_ - none_by_owner) | (atomic_.load(memory_order_acquire) ^ open)) != 0;
    }
    /// Whether a child is left in an open scope. If not, its effects are visible.
    [[nodiscard]] COFLUX_INLINE bool has_any() const noexcept {
        // [child_count.has_any]
        return by_owner_ - none_by_owner + atomic_.load(memory_order_acquire) != open;  // pairs with release()
    }
    /// The owner waits for its children, and counts no more. With `none` the effects of all are visible.
    COFLUX_INLINE children_left close() noexcept {
        // [child_count.close.owners]
        const std::int32_t left = by_owner_ - none_by_owner - open;
        // acq_rel pairs with release(): we see what the children did, the last of them sees what we did.
        // [child_count.close.adds]
        return atomic_.fetch_add(left, memory_order_acq_rel) + left == 0 ? children_left::none : children_left::some;
    }
    /// After close(), once no child is left: the scope takes children again.
    COFLUX_INLINE void reopen() noexcept {
        // [child_count.reopen.owners]
        by_owner_ = none_by_owner;
        atomic_.store(open, memory_order_relaxed);  // pairs with nothing: no other thread is left in the scope
    }
    /// The scope's memory is going, and no child is left: one that is added from now on is too late.
    COFLUX_INLINE void end() noexcept {
        // relaxed: only for this thread; to other threads it would be a look, not a promise.
        // [child_count.end.closes]
        atomic_.store(0, memory_order_relaxed);
    }

    // --- any thread

    /// Pre: the scope is kept open by the caller, or a child of it.
    COFLUX_INLINE child_added add_atomically() noexcept {
        // relaxed, pairs with nothing: what keeps the scope open is released, or closes it, after this.
        return atomic_.fetch_add(1, memory_order_relaxed) == 0 ? child_added::too_late : child_added::counted;
    }
    /// Counts a child by a thread that nothing keeps in the scope. False: no thread waits for children any more.
    /// Pre: the scope's memory stays.
    [[nodiscard]] bool try_add_atomically() noexcept {
        std::int32_t n = atomic_.load(memory_order_relaxed);
        // relaxed, pairs with nothing: it is released after this, and the owner waits for that.
        // [child_count.try_add]
        while (n != 0 && !atomic_.compare_exchange_weak(n, n + 1, memory_order_relaxed, memory_order_relaxed)) {}
        return n != 0;
    }
    /// The last use of the scope by its child; with `none` the caller goes on with the owner, and sees what all
    /// children did.
    COFLUX_INLINE children_left release() noexcept {
        // acq_rel pairs with close(), with the other releases, and with the looks of the owner.
        // [child_count.release]
        return atomic_.fetch_sub(1, memory_order_acq_rel) == 1 ? children_left::none : children_left::some;
    }
    // Looks, which promise nothing to other threads than those that must know the answer: relaxed.
    /// The owner does not wait for its children yet.
    [[nodiscard]] bool is_open() const noexcept { return atomic_.load(memory_order_relaxed) > open / 2; }
    /// The owner has waited for its children, or the scope has ended.
    [[nodiscard]] bool is_joined() const noexcept { return atomic_.load(memory_order_relaxed) == 0; }

private:
    friend struct own_counts;
    friend struct layout_access;

    /// Leaves by_owner_ to own_counts.
    struct without_owner {};
    COFLUX_INLINE explicit child_count(without_owner) noexcept : atomic_(open) {}

    COFLUX_ASIDE void fold() noexcept;

    /// Far from 0, so that releases do not bring the count of an open scope there.
    static constexpr std::int32_t open = std::int32_t{1} << 30;
    /// So many are folded into the atomic count; less these it is kept, so that a processor's flag shows when.
    static constexpr std::int32_t none_by_owner = -(std::int32_t{1} << 20);

    // Children counted by the owner, from none_by_owner up; fold() moves them to atomic_ when it reaches 0. Written by
    // the owner, or by a child while the owner is suspended in an await of it.
    std::int32_t by_owner_;
    // open + n        open. n: children counted atomically or folded, less those released atomically
    // n > 0           closed: n children are left, close() has added those counted by the owner
    // 0               joined: the thread that brought it to 0 goes on with the owner; or ended
    //
    // open --close()--> closed --release() of the last--> joined --reopen()--> open
    //    `-----------close(), no child is left------------^
    atomic<std::int32_t> atomic_;
};

/// The counts that begin together with a scope's count of children, in one store.
struct own_counts {
    /// The words of the owner have no value until begin().
    COFLUX_INLINE own_counts() noexcept : children(child_count::without_owner()) {}
    COFLUX_INLINE explicit own_counts(std::uint32_t seen) noexcept : own_counts() { begin(seen); }
    /// Before another thread knows it.
    COFLUX_INLINE void begin(std::uint32_t seen) noexcept {
        if constexpr (offsetof(own_counts, children) == sizeof(std::uint32_t)) {
            constexpr auto none = std::uint64_t{static_cast<std::uint32_t>(child_count::none_by_owner)};
            constexpr bool little = std::endian::native == std::endian::little;
            const std::uint64_t both = little ? seen | none << 32 : std::uint64_t{seen} << 32 | none;
            std::memcpy(static_cast<void*>(this), &both, sizeof both);
        } else {  // a model's words are larger
            stops_seen = seen;
            children.by_owner_ = child_count::none_by_owner;
        }
    }

    /// stop_requests when the ancestors were last found clean, and stop_count_inline. Read by each thread that makes a
    /// child there.
    relaxed<std::uint32_t> stops_seen;
    child_count children;
};

}  // namespace coflux::detail

// First in, first out: the waits that stand in front of one primitive.
#pragma once

#include <coflux/base/config.hpp>
#include <coflux/core/detail/wait/wait_operation.hpp>

namespace coflux::detail {

/// Queue of wait_operations; intrusive. Guarded by the primitive's lock.
///
/// An operation that is in no queue has `previous == nullptr`; the first has itself there.
class wait_queue {
public:
    [[nodiscard]] COFLUX_INLINE bool empty() const noexcept { return first_ == nullptr; }
    /// The first, nullptr if there is none.
    [[nodiscard]] COFLUX_INLINE wait_operation* front() const noexcept { return first_; }

    COFLUX_INLINE void push_back(wait_operation& w) noexcept {
        w.next = nullptr;
        if (first_ == nullptr) {
            first_ = &w;
            w.previous = &w;
        } else {
            last_->next = &w;
            w.previous = last_;
        }
        last_ = &w;
    }

    /// Takes the first out; nullptr if there is none.
    COFLUX_INLINE wait_operation* pop_front() noexcept {
        wait_operation* const w = first_;
        if (w == nullptr) return nullptr;
        first_ = w->next;
        if (first_ != nullptr) first_->previous = first_;
        w->next = nullptr;
        w->previous = nullptr;
        return w;
    }

    /// Takes `w` out; false if it is in no queue. Pre: if it is in one, it is in this.
    COFLUX_INLINE bool remove(wait_operation& w) noexcept {
        if (w.previous == nullptr) return false;
        if (&w == first_) {
            (void)pop_front();
            return true;
        }
        w.previous->next = w.next;
        (w.next != nullptr ? w.next->previous : last_) = w.previous;
        w.next = nullptr;
        w.previous = nullptr;
        return true;
    }

    /// Takes all out: a chain by `next`, oldest first, for wake_all().
    [[nodiscard]] wait_operation* take_all() noexcept {
        wait_operation* const all = first_;
        for (wait_operation* w = all; w != nullptr; w = w->next) w->previous = nullptr;
        first_ = nullptr;
        return all;
    }

private:
    wait_operation* first_ = nullptr;
    wait_operation* last_ = nullptr;  // has a value while first_ has
};

/// Wakes a chain that take_all() gave, in order. Without the primitive's lock.
inline void wake_all(wait_operation* chain) noexcept {
    while (chain != nullptr) {
        wait_operation* const w = chain;
        chain = w->next;  // before it is woken: then it may be gone
        w->wake();
    }
}

}  // namespace coflux::detail

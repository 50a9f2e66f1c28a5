// The guard of a lock, whatever the lock.
#pragma once

#include <type_traits>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/base/config.hpp>

namespace coflux {

class condition_variable;

namespace detail {

struct no_key {};

/// Owns a lock on a `Lock`, or none: what `co_await m.lock()` gives. Its destructor unlocks.
///
/// It may be moved, kept across suspensions and destroyed on any thread, by a coroutine or not. `Leave` gives the lock
/// up. A `Key` is what the lock wants back then; a guard that is moved asks for another one.
/// Lifetime: must not outlive the `Lock`, which checks that.
template <typename Lock, auto Leave, typename Key = no_key>
class [[nodiscard("the lock is given up at once: keep the guard")]] ownership {
public:
    /// Owns nothing.
    ownership() noexcept = default;
    COFLUX_INLINE ownership(ownership&& other) noexcept : of_(std::exchange(other.of_, nullptr)), key_(other.key_) {
        note_moved();
    }
    ownership& operator=(ownership&& other) noexcept {
        ownership(std::move(other)).swap(*this);
        return *this;
    }
    COFLUX_INLINE ~ownership() {
        if (of_ != nullptr) leave(*of_);
    }

    /// True if it owns a lock.
    [[nodiscard]] bool owns_lock() const noexcept { return of_ != nullptr; }
    explicit operator bool() const noexcept { return of_ != nullptr; }
    /// True if it owns a lock on `lock`.
    [[nodiscard]] bool owns_lock_on(const Lock& lock) const noexcept { return of_ == &lock; }

    /// Gives the lock up before the guard dies.
    void unlock() noexcept {
        COFLUX_VERIFY(of_ != nullptr, "unlock() of a guard that owns no lock");
        leave(*std::exchange(of_, nullptr));
    }
    void swap(ownership& other) noexcept {
        note_moved();
        other.note_moved();
        std::swap(of_, other.of_);
        std::swap(key_, other.key_);
    }

private:
    static constexpr bool has_key = !std::is_same_v<Key, no_key>;

    /// A lock that knows the coroutine that has it does not know whose the guard is now.
    COFLUX_INLINE void note_moved() noexcept {
        if constexpr (has_key) {
            if (of_ != nullptr) key_ = of_->renew(key_);
        }
    }
    COFLUX_INLINE void leave(Lock& of) noexcept {
        if constexpr (has_key) {
            (of.*Leave)(key_);
        } else {
            (of.*Leave)();
        }
    }

    friend Lock;
    friend class coflux::condition_variable;

    COFLUX_INLINE explicit ownership(Lock* of, Key key = Key()) noexcept : of_(of), key_(key) {}

    Lock* of_ = nullptr;
    [[no_unique_address]] Key key_{};
};

}  // namespace detail
}  // namespace coflux

// The guard of a lock, whatever the lock.
#pragma once

#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/base/config.hpp>

namespace coflux {

class condition_variable;

namespace detail {

/// Owns a lock on a `Lock`, or none: what `co_await m.lock()` gives. Its destructor unlocks.
///
/// It may be moved, kept across suspensions and destroyed on any thread, by a coroutine or not. `Leave` gives the lock
/// up.
/// Lifetime: must not outlive the `Lock`, which checks that.
template <typename Lock, void (Lock::*Leave)() noexcept>
class [[nodiscard("the lock is given up at once: keep the guard")]] ownership {
public:
    /// Owns nothing.
    ownership() noexcept = default;
    COFLUX_INLINE ownership(ownership&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    ownership& operator=(ownership&& other) noexcept {
        ownership(std::move(other)).swap(*this);
        return *this;
    }
    COFLUX_INLINE ~ownership() {
        if (of_ != nullptr) (of_->*Leave)();
    }

    /// True if it owns a lock.
    [[nodiscard]] bool owns_lock() const noexcept { return of_ != nullptr; }
    explicit operator bool() const noexcept { return of_ != nullptr; }
    /// True if it owns a lock on `lock`.
    [[nodiscard]] bool owns_lock_on(const Lock& lock) const noexcept { return of_ == &lock; }

    /// Gives the lock up before the guard dies.
    void unlock() noexcept {
        COFLUX_VERIFY(of_ != nullptr, "unlock() of a guard that owns no lock");
        (std::exchange(of_, nullptr)->*Leave)();
    }
    void swap(ownership& other) noexcept { std::swap(of_, other.of_); }

private:
    friend Lock;
    friend class coflux::condition_variable;

    COFLUX_INLINE explicit ownership(Lock* of) noexcept : of_(of) {}

    Lock* of_ = nullptr;
};

}  // namespace detail
}  // namespace coflux

// A coroutine's parent.
#pragma once

#include <cstdint>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>

namespace coflux {
class environment;
}  // namespace coflux

namespace coflux::detail {

/// A coroutine's parent, and whether the coroutine has views or callbacks. If not, the parent may await it on its own
/// stack without a look at its state.
class parent_ref {
public:
    COFLUX_INLINE explicit parent_ref(environment* parent) noexcept : bits_(reinterpret_cast<std::uintptr_t>(parent)) {}

    [[nodiscard]] COFLUX_INLINE environment* get() const noexcept {
        return reinterpret_cast<environment*>(bits_ & ~shared);
    }
    [[nodiscard]] COFLUX_INLINE environment* operator->() const noexcept { return get(); }
    /// For use while only this thread knows the coroutine.
    [[nodiscard]] COFLUX_INLINE environment* own() const noexcept {
        return reinterpret_cast<environment*>(bits_.own() & ~shared);
    }
    /// A call that was given no environment has no parent before it is awaited.
    [[nodiscard]] COFLUX_INLINE bool is_none() const noexcept { return bits_ == 0; }
    [[nodiscard]] COFLUX_INLINE environment& operator*() const noexcept { return *get(); }
    /// It is `e`, and the coroutine is not shared.
    [[nodiscard]] COFLUX_INLINE bool is_unshared(const environment* e) const noexcept {
        return bits_ == reinterpret_cast<std::uintptr_t>(e);
    }
    /// For use before another thread knows the coroutine.
    void become(environment* parent) noexcept { bits_ = reinterpret_cast<std::uintptr_t>(parent); }
    /// The owner of the handle makes the first view or callback. Other threads may be reading.
    void share() noexcept { bits_ = bits_ | shared; }

private:
    static constexpr std::uintptr_t shared = 1;

    relaxed<std::uintptr_t> bits_;
};

}  // namespace coflux::detail

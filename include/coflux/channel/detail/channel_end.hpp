// An end of a channel, a permit and a look at a value: holds on something that are given up once.
#pragma once

#include <concepts>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/base/config.hpp>

namespace coflux::detail {

/// A reference that does not keep alive what it leads to, and that a move leaves empty.
template <typename T>
class unowned {
public:
    explicit unowned(T& to) noexcept : to_(&to) {}
    unowned(const unowned&) noexcept = default;
    unowned(unowned&& other) noexcept : to_(std::exchange(other.to_, nullptr)) {}
    unowned& operator=(unowned other) noexcept {
        std::swap(to_, other.to_);
        return *this;
    }
    ~unowned() = default;

    void reset() noexcept { to_ = nullptr; }
    [[nodiscard]] T& operator*() const noexcept { return *to_; }
    explicit operator bool() const noexcept { return to_ != nullptr; }

private:
    T* to_;
};

/// A role whose holder can be copied.
template <typename Role>
concept copyable_role = requires { typename Role::copyable; };

/// Base of all ends: gives up what it holds when it dies or is assigned to, or before, by release(). A source of a
/// move holds nothing.
///
/// Shapes: `Reference` leads to the state: a state_handle or unowned. `Role` says what is held: `release(state)` gives
/// it up; `empty` says what state() was called on in vain. A copyable_role also has `copied(state)`, for the new
/// holder.
template <typename Reference, typename Role>
class channel_end {
public:
    explicit channel_end(Reference to, Role role = {}) noexcept : to_(std::move(to)), role_(std::move(role)) {}
    channel_end(const channel_end& other) noexcept
        requires copyable_role<Role>
        : to_(other.to_),
          role_(other.role_) {
        if (to_) role_.copied(*to_);
    }
    channel_end(channel_end&&) noexcept = default;
    channel_end& operator=(channel_end other) noexcept {
        std::swap(to_, other.to_);
        std::swap(role_, other.role_);
        return *this;
    }
    COFLUX_INLINE ~channel_end() { release(); }

protected:
    COFLUX_INLINE void release() noexcept {
        if (!to_) return;
        role_.release(*to_);
        to_.reset();
    }
    /// Pre: its hold is given up already.
    void drop() noexcept { to_.reset(); }

    [[nodiscard]] COFLUX_INLINE bool holds() const noexcept { return static_cast<bool>(to_); }
    [[nodiscard]] COFLUX_INLINE auto& state() const noexcept {
        COFLUX_VERIFY(holds(), "%s", Role::empty);
        return *to_;
    }
    [[nodiscard]] const Reference& reference() const noexcept { return to_; }
    [[nodiscard]] const Role& role() const noexcept { return role_; }

private:
    Reference to_;
    [[no_unique_address]] Role role_;
};

}  // namespace coflux::detail

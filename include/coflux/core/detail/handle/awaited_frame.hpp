// A handle holds its coroutine's frame, and how its await went.
#pragma once

#include <cstdint>
#include <utility>

#include <coflux/base/config.hpp>
#include <coflux/core/detail/frame/frame.hpp>

namespace coflux::detail {

/// A handle's pointer to a frame, and whether its await had to wait: if not, it ran in place to its end, and there is
/// nothing to ask of the frame but its value.
class awaited_frame {
public:
    COFLUX_INLINE explicit awaited_frame(frame_control* c) noexcept : pointer_(c) {}

    [[nodiscard]] COFLUX_INLINE bool empty() const noexcept { return pointer_ == nullptr; }
    COFLUX_INLINE frame_control* take() noexcept {
        frame_control* const c = get();
        pointer_ = nullptr;
        return c;
    }
    COFLUX_INLINE void swap(awaited_frame& other) noexcept { std::swap(pointer_, other.pointer_); }
    [[nodiscard]] COFLUX_INLINE frame_control* get() const noexcept {
        return reinterpret_cast<frame_control*>(reinterpret_cast<std::uintptr_t>(pointer_) & ~waited_bit);
    }
    COFLUX_INLINE void clear() noexcept { pointer_ = nullptr; }
    /// Where it has not waited.
    [[nodiscard]] COFLUX_INLINE frame_control* const& plain() const noexcept { return pointer_; }
    COFLUX_INLINE void set_waited() noexcept {
        pointer_ = reinterpret_cast<frame_control*>(reinterpret_cast<std::uintptr_t>(pointer_) | waited_bit);
    }
    /// Gives the optimiser what it cannot know of a pointer that it loads again.
    COFLUX_INLINE void assume_not_waited() const noexcept {
        const bool waits = waited();
        COFLUX_ASSUME(!waits);
    }
    /// The await threw, and nothing has happened.
    COFLUX_INLINE void clear_waited() noexcept { pointer_ = get(); }
    [[nodiscard]] COFLUX_INLINE bool waited() const noexcept {
        return (reinterpret_cast<std::uintptr_t>(pointer_) & waited_bit) != 0;
    }

private:
    static constexpr std::uintptr_t waited_bit = 1;

    frame_control* pointer_;
};

/// Empties a handle at the end of a scope.
class emptied_frame {
public:
    COFLUX_INLINE explicit emptied_frame(awaited_frame& handle) noexcept : handle_(handle) {}
    COFLUX_INLINE ~emptied_frame() { handle_.clear(); }
    emptied_frame(const emptied_frame&) = delete;
    emptied_frame& operator=(const emptied_frame&) = delete;

private:
    awaited_frame& handle_;
};

/// Around a wait that may throw: clears `waited` unless dismissed.
class waited_guard {
public:
    COFLUX_INLINE explicit waited_guard(awaited_frame& handle) noexcept : handle_(&handle) {}
    COFLUX_INLINE ~waited_guard() {
        if (handle_ != nullptr) handle_->clear_waited();
    }
    waited_guard(const waited_guard&) = delete;
    waited_guard& operator=(const waited_guard&) = delete;
    COFLUX_INLINE void dismiss() noexcept { handle_ = nullptr; }

private:
    awaited_frame* handle_;
};

}  // namespace coflux::detail

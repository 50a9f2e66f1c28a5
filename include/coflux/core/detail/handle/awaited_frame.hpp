// What a handle holds: its coroutine's frame, how its await went, and on g++ whether the handle is where it was made.
#pragma once

#include <cstdint>
#include <source_location>
#include <type_traits>
#include <utility>

#include <coflux/base/config.hpp>
#include <coflux/core/detail/frame/frame_control.hpp>

namespace coflux::detail {

/// Where a handle was made or moved to. g++ 12 copies what a conditional operator chooses bit by bit,
/// `co_await (c ? f(here) : g(here))`, and destroys the original, too. A copy that is awaited stands at another
/// address, and that is detected. With clang it costs nothing, because it is nothing.
class kept_address {
public:
    COFLUX_INLINE kept_address() noexcept : address_(this) {}
    kept_address(const kept_address&) = delete;
    kept_address& operator=(const kept_address&) = delete;
    [[nodiscard]] COFLUX_INLINE bool is_here() const noexcept { return address_ == this; }
    [[nodiscard]] bool is_left() const noexcept { return address_ == nullptr; }
    COFLUX_INLINE void leave() noexcept { address_ = nullptr; }

private:
    const kept_address* address_;
};
struct no_address {
    [[nodiscard]] static constexpr bool is_here() noexcept { return true; }
    [[nodiscard]] static constexpr bool is_left() noexcept { return false; }
    static constexpr void leave() noexcept {}
};
using handle_address = std::conditional_t<COFLUX_CLANG, no_address, kept_address>;

class promise_base;
/// What `p` awaits is a bitwise copy.
[[noreturn]] COFLUX_COLD void fail_copied(promise_base& p, std::source_location where) noexcept;

/// A handle's pointer to a frame, and whether its await had to wait: if not, it ran in place to its end, and there is
/// nothing to ask of the frame but its value.
class awaited_frame {
public:
    COFLUX_INLINE explicit awaited_frame(frame_control* c) noexcept : pointer_(c) {}

    /// Not where it was made: a bitwise copy.
    [[nodiscard]] COFLUX_INLINE bool is_copied() const noexcept { return !address_.is_here(); }
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

protected:
    [[no_unique_address]] handle_address address_;  // first: where the handle is, too

private:
    frame_control* pointer_;
};

/// The awaited frame of a handle that never moves. Where the handle keeps its address, it is empty at any other
/// address, and so is a copy.
class awaited_call_frame : public awaited_frame {
public:
    using awaited_frame::awaited_frame;

    [[nodiscard]] COFLUX_INLINE bool empty() const noexcept {
        if constexpr (COFLUX_CLANG) return awaited_frame::empty();
        return is_copied();
    }
    COFLUX_INLINE void clear() noexcept {
        if constexpr (COFLUX_CLANG) awaited_frame::clear();
        address_.leave();
    }
    /// Of an empty one: because it is a copy.
    [[nodiscard]] bool is_empty_copy() const noexcept { return !COFLUX_CLANG && !address_.is_left(); }
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

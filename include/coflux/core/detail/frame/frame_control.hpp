// The words in front of every coroutine frame: where its memory comes from, what waits for it, how it ended.
//
// They live outside the promise because they outlive it: a stopped coroutine's locals die when it ends, and its awaiter
// still reads here that it was stopped. The page docs/design/fork_join.md has the states, and which thread may write
// what.
#pragma once

#include <bit>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <source_location>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/detail/join/join_state.hpp>

namespace coflux::detail {

class failure;

enum class ending : std::uint32_t { value, error, stopped };  // bits: see frame_word

/// Where a coroutine is counted as a child.
enum class counting : std::uint32_t {
    none,      ///< a call: nowhere, its awaiter owns it
    by_owner,  ///< made by the parent coroutine itself: in the parent's own count
    atomic,    ///< made by another coroutine or thread, or in an environment object: in the parent's atomic count
};

namespace frame_flags {
/// It asked for its context: it may have children.
inline constexpr std::uint32_t scope_open = 1 << 2;
/// The memory is of `resource`, not of the frame pool.
inline constexpr std::uint32_t from_resource = 1 << 3;
/// A call that cannot end by going on with its caller: it went to another executor, or its nested run has suspended.
inline constexpr std::uint32_t moved = 1 << 4;
/// The memory is of a resource whose deallocate() does nothing: spare the call.
inline constexpr std::uint32_t freed_at_once = 1 << 7;
/// It runs inside the call that makes it, and has not suspended yet.
inline constexpr std::uint32_t inline_start = 1 << 8;
/// Its current await takes a child's stop as an outcome.
inline constexpr std::uint32_t takes_stop = 1 << 9;
/// operator delete leaves the memory: the control outlives the frame.
inline constexpr std::uint32_t retain = 1 << 10;
/// The frame is gone, the memory is not; or it is going, and what it returns is in `result`.
inline constexpr std::uint32_t destroyed = 1 << 11;
/// An environment object lists it: root_links precede the control.
inline constexpr std::uint32_t listed = 1 << 12;
/// Stopped in its body: resuming it unwinds it.
inline constexpr std::uint32_t unwinding = 1 << 13;
/// `error` is set and owned.
inline constexpr std::uint32_t has_error = 1 << 14;
/// The promise holds a result that has a destructor.
inline constexpr std::uint32_t holds_value = 1 << 15;
}  // namespace frame_flags

/// Where a coroutine is counted, how it ended and its frame_flags, in one word that is always read and written whole. A
/// load then finds one store of its own size and address, which this kind of processor forwards at once. Written when
/// the frame is made and, on the fast path, never again: a value is the default end. Not atomic: written by the thread
/// that runs the coroutine.
class frame_word {
public:
    COFLUX_INLINE frame_word(counting counted, std::uint32_t flags) noexcept
        : bits_(static_cast<std::uint32_t>(counted) | flags) {}

    [[nodiscard]] COFLUX_INLINE counting counted() const noexcept { return static_cast<counting>(bits_ & 3); }
    /// How the coroutine ended, once its state says done.
    [[nodiscard]] COFLUX_INLINE ending end() const noexcept { return static_cast<ending>((bits_ >> end_shift) & 3); }
    COFLUX_INLINE void set_end(ending e) noexcept {
        bits_ = (bits_ & ~(3U << end_shift)) | static_cast<std::uint32_t>(e) << end_shift;
    }
    [[nodiscard]] COFLUX_INLINE bool ended_with_value() const noexcept { return (bits_ & (3U << end_shift)) == 0; }
    // Tests of one bit each, for fast paths.
    [[nodiscard]] COFLUX_INLINE bool ended_stopped() const noexcept {
        return (bits_ & (static_cast<std::uint32_t>(ending::stopped) << end_shift)) != 0;
    }
    [[nodiscard]] COFLUX_INLINE bool is_counted_by_owner() const noexcept {
        return (bits_ & static_cast<std::uint32_t>(counting::by_owner)) != 0;
    }
    [[nodiscard]] COFLUX_INLINE bool is_counted_atomically() const noexcept {
        return (bits_ & static_cast<std::uint32_t>(counting::atomic)) != 0;
    }
    void count_atomically() noexcept {
        bits_ = (bits_ & ~std::uint32_t{3}) | static_cast<std::uint32_t>(counting::atomic);
    }
    [[nodiscard]] COFLUX_INLINE bool has(std::uint32_t flags) const noexcept { return (bits_ & flags) != 0; }
    /// The same of a coroutine that may be running.
    [[nodiscard]] COFLUX_GLANCE bool glance_at(std::uint32_t flags) const noexcept { return (bits_ & flags) != 0; }
    COFLUX_INLINE void set(std::uint32_t flags) noexcept { bits_ |= flags; }
    COFLUX_INLINE void clear(std::uint32_t flags) noexcept { bits_ &= ~flags; }
    /// A number that a simulation knows the coroutine by, in bits with no other use; 0: none yet. Set once it has left
    /// an inline start.
    [[nodiscard]] std::uint32_t number() const noexcept { return (bits_ >> number_shift) & largest_number; }
    void set_number(std::uint32_t n) noexcept {
        bits_ = (bits_ & ~(largest_number << number_shift)) | n << number_shift;
    }
    static constexpr std::uint32_t largest_number = 255;

    /// The frame pool's class of a frame in which nothing has a destructor to run once it has ended; 0: it is to be
    /// destroyed.
    [[nodiscard]] COFLUX_INLINE std::size_t freed_as() const noexcept {
        // A byte of a wider store is forwarded; only one that is not all there is waited for.
        if constexpr (std::endian::native == std::endian::little) {
            return reinterpret_cast<const unsigned char*>(&bits_)[freed_shift / 8];
        } else {
            return bits_ >> freed_shift;
        }
    }
    /// `size_class` < 256.
    [[nodiscard]] static constexpr std::uint32_t freed_as(std::size_t size_class) noexcept {
        return static_cast<std::uint32_t>(size_class) << freed_shift;
    }

    /// True if it is counted so, the end a value and the flags are exactly these, whatever the memory.
    [[nodiscard]] COFLUX_INLINE bool is_exactly(counting t, std::uint32_t flags) const noexcept {
        return (bits_ & ~(frame_flags::from_resource | frame_flags::freed_at_once | ~0U << freed_shift)) ==
               (static_cast<std::uint32_t>(t) | flags);
    }

private:
    static constexpr unsigned end_shift = 5;  // bits 0 and 1: counting; up to 15: flags; then number() and freed_as()
    static constexpr unsigned number_shift = 16;
    static constexpr unsigned freed_shift = 24;

    std::uint32_t bits_;
};

struct alignas(16) frame_control {
    // Every member costs a store a coroutine: what the common case never reads has no value until it is needed.
    std::pmr::memory_resource* resource;  // set with from_resource
    join_state join;
    union {
        std::source_location where;  // its last await; before that a queued one's function, else no value
        failure* error;              // once it ended with an error
        std::uint64_t result;        // of a frame that frees itself, while its parameters die
    };
    frame_word word;
    std::uint32_t references_;  // set when the frame is shared, not before; see references()

    COFLUX_INLINE frame_control(std::pmr::memory_resource* memory, counting counted, std::uint32_t flags) noexcept
        : word(counted, flags) {
        if (memory != nullptr) resource = memory;
        if (counted != counting::none && (flags & frame_flags::inline_start) == 0)
            join.begin();  // the thread that gets the handle may use it at once
    }
    ~frame_control() = delete;

    /// Counts the handle, the views and the running coroutine of a shared frame. Others have no count.
    [[nodiscard]] atomic_ref<std::uint32_t> references() noexcept { return atomic_ref<std::uint32_t>(references_); }

    [[nodiscard]] std::coroutine_handle<> frame() noexcept { return std::coroutine_handle<>::from_address(this + 1); }
    static frame_control& of(std::coroutine_handle<> h) noexcept {
        return static_cast<frame_control*>(h.address())[-1];
    }
    static frame_control& of(void* frame) noexcept { return static_cast<frame_control*>(frame)[-1]; }

    /// Its place in the source, for messages; nothing once the error is stored there.
    [[nodiscard]] COFLUX_GLANCE std::source_location location() const noexcept {
        return word.glance_at(frame_flags::has_error) ? std::source_location() : where;
    }

    /// Has ended, and not by a stop.
    [[nodiscard]] bool is_ready() const noexcept { return done() && !word.ended_stopped(); }
    [[nodiscard]] bool done() const noexcept { return join.done(); }
    [[nodiscard]] bool has_ended() const noexcept { return join.has_ended(); }
};

/// In front of the control of a child of an environment object, whose destructor must be able to name it.
struct root_links {
    root_links* next;
    root_links* previous;
    [[nodiscard]] frame_control& control() noexcept { return *reinterpret_cast<frame_control*>(this + 1); }
};

static_assert(sizeof(std::source_location) == sizeof(void*), "the await location is one store");

}  // namespace coflux::detail

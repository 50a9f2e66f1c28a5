// A frame, and the words in front of it: where its memory comes from, what waits for it, how it ended.
//
// The words live outside the promise because they outlive it: a stopped coroutine's locals die when it ends, and its
// awaiter still reads here that it was stopped. The page docs/design/fork_join.md has the states, and which thread may
// write what.
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
#include <coflux/base/no_coroutine.hpp>
#include <coflux/core/detail/promise/coroutine_kind.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/memory/detail/frame_layout.hpp>
#include <coflux/memory/frame_pool.hpp>

namespace coflux::detail {

class promise_base;
struct frame_control;

/// The target of a frame's join word. The first to see the end calls `ended` exactly once, on the thread that ran the
/// coroutine, which is on executor `here`; it returns the coroutine that this thread goes on with, or the noop
/// coroutine. Aligned so that the join word has four bits to spare.
struct alignas(16) waiter {
    std::coroutine_handle<> (*ended)(waiter& self, frame_control& child, const void* here) noexcept = nullptr;
    waiter* next = nullptr;             ///< in a list of waiters
    promise_base* coroutine = nullptr;  ///< the one suspended until `ended` is called, if it is a coroutine
    environment* scope = nullptr;       ///< set before a callback is called: the scope that the coroutine belongs to
    bool first = false;                 ///< a callback: called before the waiters are woken
    bool alone = false;                 ///< nothing else ends the wait of `coroutine`, but a stop; for a dump
};

/// How the await of a frame began.
enum class join_result : std::uint8_t {
    popped,      ///< it had not begun, and was the newest of this worker's forks: the awaiter transfers into it
    registered,  ///< its end wakes the awaiter
    completed,   ///< it has ended: the awaiter goes on
};

/// Whom the end of a coroutine wakes.
enum class awaited_by : std::uint8_t {
    nothing,    ///< no awaiter yet: the result waits in the frame
    coroutine,  ///< one in a plain await
    waiter,     ///< one waiter
    list,       ///< the waiters and callbacks of a shared frame, of which there may be none; end_callbacks() follows
    detached,   ///< the handle is gone: the end frees the frame
};

/// How a handle that is given up finds its frame.
enum class handle_end : std::uint8_t {
    shared,   ///< the frame has a count of references, of which this was one
    untaken,  ///< ended, and its awaiter was woken, but has not taken the result
    runs,     ///< the coroutine frees its frame when it ends
    ended,    ///< ended without an awaiter: the frame is the caller's to free
};

/// The word of a join_state as it was read.
class join_snapshot {
public:
    [[nodiscard]] COFLUX_INLINE bool done() const noexcept { return (word_ & done_bit) != 0; }
    [[nodiscard]] COFLUX_INLINE bool has_ended() const noexcept {
        return done() || (word_ & in_callbacks) == in_callbacks;
    }
    [[nodiscard]] COFLUX_INLINE bool is_shared() const noexcept { return (word_ & list_bit) != 0; }
    /// The handle is gone, and no awaiter is there; of a call: it has not begun.
    [[nodiscard]] COFLUX_INLINE bool is_detached() const noexcept { return word_ == detached_bit; }
    [[nodiscard]] COFLUX_INLINE bool is_in_plain_await() const noexcept { return (word_ & direct_bit) != 0; }
    /// Neither in a plain await nor shared.
    [[nodiscard]] COFLUX_INLINE bool has_no_coroutine() const noexcept {
        return (word_ & (direct_bit | list_bit)) == 0;
    }
    [[nodiscard]] COFLUX_INLINE bool is_awaited_by(const promise_base* p) const noexcept {
        return word_ == (reinterpret_cast<std::uintptr_t>(p) | direct_bit);
    }
    /// Where is_in_plain_await(), or nested: the coroutine that awaits it.
    [[nodiscard]] COFLUX_INLINE promise_base* coroutine() const noexcept {
        return reinterpret_cast<promise_base*>(word_ & ~tags);
    }
    /// coroutine() where it is in a plain await and nothing else.
    [[nodiscard]] COFLUX_INLINE promise_base* only_coroutine() const noexcept {
        return reinterpret_cast<promise_base*>(word_ - direct_bit);
    }
    /// One waiter waits, and the frame is not shared.
    [[nodiscard]] COFLUX_INLINE bool has_one_waiter() const noexcept { return (word_ & tags) == 0 && word_ != 0; }
    /// Where has_one_waiter() or is_shared(): the waiter, or the youngest of the list, which may be nullptr.
    [[nodiscard]] COFLUX_INLINE waiter* youngest() const noexcept { return reinterpret_cast<waiter*>(word_ & ~tags); }

    /// Pre: it has ended.
    [[nodiscard]] COFLUX_INLINE awaited_by by() const noexcept {
        if (is_shared()) return awaited_by::list;
        if (is_in_plain_await()) return awaited_by::coroutine;
        if ((word_ & ~tags) != 0) return awaited_by::waiter;
        return is_detached() ? awaited_by::detached : awaited_by::nothing;
    }

private:
    friend class join_state;
    friend struct layout_access;
    COFLUX_INLINE explicit join_snapshot(std::uintptr_t word) noexcept : word_(word) {}

    // join_state::word_ has their table.
    static constexpr std::uintptr_t done_bit = 1;
    static constexpr std::uintptr_t detached_bit = 2;
    static constexpr std::uintptr_t list_bit = 4;
    static constexpr std::uintptr_t direct_bit = 8;
    static constexpr std::uintptr_t nested_bits = done_bit | direct_bit;
    static constexpr std::uintptr_t in_callbacks = list_bit | detached_bit;
    static constexpr std::uintptr_t tags = 15;

    std::uintptr_t word_;
};

/// Exactly one of the end and the awaiter sees the other; so do the end and the handle's end. An awaiter is final: a
/// frame that is not shared has one handle, and so one awaiter.
class join_state {
    using bits = join_snapshot;

public:
    // No value until it begins: a store that the common case never reads.
    COFLUX_INLINE join_state() noexcept {}
    join_state(const join_state&) = delete;
    join_state& operator=(const join_state&) = delete;
    COFLUX_INLINE ~join_state() {}

    // --- the beginning: from now on other threads may reach the frame through its handle

    COFLUX_INLINE void begin() noexcept { begin_as(0); }
    /// A call, before it begins.
    COFLUX_INLINE void begin_unawaited_call() noexcept { begin_as(bits::detached_bit); }
    COFLUX_INLINE void begin_awaited_by(const promise_base& caller) noexcept { begin_as(plain_await_of(&caller)); }
    template <nested_frame Frame>
    COFLUX_INLINE void begin_nested(const promise_base* awaiter) noexcept {
        begin_as(nested_in<Frame>(awaiter));
    }
    /// It has ended in the call that made it.
    COFLUX_INLINE void begin_ended() noexcept { begin_as(bits::done_bit); }

    // --- the awaiter

    /// Its awaiter may go on: it has ended, and its callbacks have returned; or it is nested. The result is visible.
    [[nodiscard]] COFLUX_INLINE bool done() const noexcept {
        // pairs with the CAS of end() and the exchange of end_callbacks()
        // [join.done]
        return (word_.load(memory_order_acquire) & bits::done_bit) != 0;
    }
    /// done(), or its callbacks are being called. The result is visible.
    [[nodiscard]] bool has_ended() const noexcept {
        return join_snapshot(word_.load(memory_order_acquire)).has_ended();  // pairs with the CAS and exchange of end()
    }
    /// A plain await by `p` of a frame that is not shared.
    COFLUX_INLINE join_result await(const promise_base& p) noexcept {
        std::uintptr_t s = 0;
        // release: the end sees `p` suspended; acquire: if the frame's coroutine has ended, its result is visible.
        // [join.await]
        return word_.compare_exchange_strong(s, plain_await_of(&p), memory_order_acq_rel, memory_order_acquire)
                   ? join_result::registered
                   : join_result::completed;
    }
    COFLUX_INLINE join_result await(waiter& w) noexcept {
        std::uintptr_t s = 0;
        // release: the end sees the waiter; acquire: if the coroutine has ended, its result is visible.
        // [join.await.waits]
        if (word_.compare_exchange_strong(s, reinterpret_cast<std::uintptr_t>(&w), memory_order_acq_rel,
                                          memory_order_acquire))
            return join_result::registered;
        return (s & bits::list_bit) != 0 ? await_in_list(w) : join_result::completed;
    }
    /// await() where the frame was popped: it has not begun, and only this thread can begin it.
    COFLUX_INLINE void await_popped(const promise_base& p) noexcept {
        word_.store(plain_await_of(&p), memory_order_relaxed);  // pairs with nothing: this thread begins it
    }
    COFLUX_INLINE void await_popped(const waiter& w) noexcept {
        word_.store(reinterpret_cast<std::uintptr_t>(&w), memory_order_relaxed);  // as above
    }
    /// Where the end was this thread's, or woke this coroutine.
    [[nodiscard]] COFLUX_INLINE join_snapshot own() const noexcept {
        return join_snapshot(word_.load(memory_order_relaxed));  // pairs with nothing: what woke it published the word
    }

    // --- nested on the awaiter's stack: only that stack's thread knows the frame

    /// It was popped, and runs nested.
    template <nested_frame Frame>
    COFLUX_INLINE void nest(const promise_base* awaiter) noexcept {
        word_.store(nested_in<Frame>(awaiter), memory_order_relaxed);
    }
    /// A thread that comes to know the coroutine does so by what this thread publishes later.
    COFLUX_INLINE void leave_nested() noexcept { word_.store(0, memory_order_relaxed); }
    [[nodiscard]] COFLUX_INLINE bool is_nested() const noexcept {
        return (word_.load(memory_order_relaxed) & bits::nested_bits) == bits::nested_bits;
    }
    /// Nested, and its awaiter wants no frame.
    [[nodiscard]] COFLUX_INLINE bool frees_itself() const noexcept {
        constexpr std::uintptr_t both = bits::nested_bits | bits::detached_bit;
        return (word_.load(memory_order_relaxed) & both) == both;
    }

    // --- the end

    [[nodiscard]] COFLUX_INLINE join_snapshot seen_by_end() const noexcept {
        // [join.body_end.awaiter]
        return join_snapshot(word_.load(memory_order_acquire));  // pairs with the CAS of await(): it is suspended
    }
    /// The coroutine has ended, and its result is published where no awaiter is there to take it. `unawaited()` is
    /// called before that: from then on the frame may be gone, if it is not shared.
    template <typename F>
    COFLUX_INLINE join_snapshot end(F unawaited) noexcept {
        // [join.end.looks]
        join_snapshot seen(word_.load(memory_order_acquire));  // pairs with the CAS of await(), as seen_by_end()
        if (seen.youngest() != nullptr && !seen.is_shared()) return seen;
        unawaited();
        while (!seen.is_shared()) {
            if (seen.word_ != 0) return seen;  // an awaiter has come, or the handle has gone
            // release publishes the result: pairs with done(), await(), detach(); acquire: the awaiter is suspended.
            // [join.end.publishes]
            if (word_.compare_exchange_strong(seen.word_, bits::done_bit, memory_order_release, memory_order_acquire))
                return seen;
        }
        return begin_callbacks();
    }
    /// The callbacks that end() of a shared frame found have returned, and the awaiters may go on. Returns
    /// the youngest of those that have come meanwhile.
    [[nodiscard]] waiter* end_callbacks() noexcept;
    /// Before the awaiter that end() found is woken, where it may not come to take the result: the handle then finds
    /// that the coroutine has ended.
    COFLUX_INLINE void forget_awaiter() noexcept {
        word_.store(bits::done_bit, memory_order_relaxed);  // pairs with nothing: waking publishes it
    }

    // --- the handle

    /// False only if it has ended.
    [[nodiscard]] bool may_run() const noexcept {
        // acquire pairs with the CAS and the exchange of end(): if it has ended, it looks at nothing any more.
        const join_snapshot now(word_.load(memory_order_acquire));
        return !now.has_ended() && !now.is_in_plain_await();
    }
    /// Woken by its end, the awaiter has not taken the result. Where results are taken late
    /// (COFLUX_LATE_RESULTS), another await of the expression may have thrown.
    [[nodiscard]] bool is_untaken() const noexcept {
        // acquire pairs with the end's, where that was elsewhere. The awaiter keeps the handle until it is woken.
        return (word_.load(memory_order_acquire) & bits::nested_bits) == bits::direct_bit;
    }
    /// The handle is given up.
    handle_end detach() noexcept;
    /// Only the handle may do so. From now on there are a list and a count of `references`, with `extra` of them beside
    /// those of the handle and of the coroutine that runs; `runs()` is called first if it may.
    template <typename F>
    void share(atomic_ref<std::uint32_t> references, std::uint32_t extra, F runs) noexcept {
        // [join.share.looks]
        const join_snapshot seen(word_.load(memory_order_acquire));  // pairs with the CAS of end()
        if (seen.is_shared()) {
            references.fetch_add(extra, memory_order_relaxed);
        } else if (seen.done()) {
            share_ended(references, extra);
        } else {
            runs();
            share_running(references, extra);
        }
    }
    /// relaxed: only the handle, which is the caller's, makes it so.
    [[nodiscard]] COFLUX_INLINE bool is_shared() const noexcept { return own().is_shared(); }

    // --- generators: one thread has the generator and its consumer

    /// It goes on, for `consumer`, which is suspended.
    COFLUX_INLINE void resume_for(const promise_base& consumer) noexcept {
        word_.store(plain_await_of(&consumer), memory_order_relaxed);  // pairs with nothing, as all four
    }
    /// It is suspended at an element, or has ended.
    COFLUX_INLINE void stand() noexcept { word_.store(0, memory_order_relaxed); }
    /// stand(), if it still runs for `consumer`.
    void stand_if_awaited_by(const promise_base& consumer) noexcept;
    /// It is unwound without its handle.
    void run_detached() noexcept { word_.store(bits::detached_bit, memory_order_relaxed); }

    // --- after all that, while the frame waits to be freed: the next one that does

    [[nodiscard]] frame_control* next_to_free() const noexcept {
        return reinterpret_cast<frame_control*>(word_.load(memory_order_relaxed));
    }
    void set_next_to_free(const frame_control* next) noexcept {
        word_.store(reinterpret_cast<std::uintptr_t>(next), memory_order_relaxed);
    }

private:
    [[nodiscard]] static COFLUX_INLINE std::uintptr_t plain_await_of(const promise_base* p) noexcept {
        return reinterpret_cast<std::uintptr_t>(p) | bits::direct_bit;
    }
    template <nested_frame Frame>
    [[nodiscard]] static COFLUX_INLINE std::uintptr_t nested_in(const promise_base* awaiter) noexcept {
        return reinterpret_cast<std::uintptr_t>(awaiter) + bits::nested_bits +
               (Frame == nested_frame::freed ? bits::detached_bit : 0);
    }
    COFLUX_INLINE void begin_as(std::uintptr_t word) noexcept { ::new (&word_) atomic<std::uintptr_t>(word); }

    join_snapshot begin_callbacks() noexcept;
    join_result await_in_list(waiter& w) noexcept;
    void share_ended(atomic_ref<std::uint32_t> references, std::uint32_t extra) noexcept;
    void share_running(atomic_ref<std::uint32_t> references, std::uint32_t extra) noexcept;

    // The low bits; the rest is a pointer to a waiter or, with `direct`, to a promise.
    //   0                 runs, or is queued; no awaiter
    //   pointer           one waiter
    //   pointer | direct  one coroutine in a plain await
    //   list [| pointer]  views or callbacks exist: a stack of waiters; the frame is then counted by `references`. With
    //                     `detached` it has ended and its callbacks are being called; afterwards with `done`
    //   done              ended without an awaiter, or that was woken; the result is in the frame
    //   detached          the handle is gone: the frame frees itself when it ends; of a call: it has not begun
    //   pointer | nested  runs on the stack of the coroutine that awaits it, or has ended there; with `detached`, it
    //                     frees itself when it ends there, which its awaiter then knows from what is left on the stack
    union {
        atomic<std::uintptr_t> word_;  // nested = done | direct
    };
};

class failure;

enum class ending : std::uint32_t { value, error, stopped };  // bits: see frame_word

/// Where a coroutine is counted as a child. None is 0: these bits tell a frame from a free block, whose link to the
/// next is where the frame_word was, and is 0 there (docs/design/inspect.md).
enum class counting : std::uint32_t {
    by_owner = 1,  ///< made by the parent coroutine itself: in the parent's own count
    atomic = 2,    ///< made by another coroutine or thread, or in an environment object: in the parent's atomic count
    none = 3,      ///< a call: nowhere, its awaiter owns it
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
        return (bits_ & static_cast<std::uint32_t>(counting::atomic)) == 0;
    }
    [[nodiscard]] COFLUX_INLINE bool is_counted_atomically() const noexcept {
        return (bits_ & static_cast<std::uint32_t>(counting::by_owner)) == 0;
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

static_assert(offsetof(frame_control, word) == offsetof(free_block, next), "one word says that a block is free");

/// The word in front of a control that is not at the start of its block, but 32 bytes behind: there it is where the
/// block's free_block::next is, as the frame_word of other frames.
inline constexpr std::uint64_t control_follows = 8;

/// In front of the control of a child of an environment object, whose destructor must be able to name it.
struct root_links {
    root_links* next;
    root_links* previous;
    std::uint64_t unused;
    std::uint64_t mark = control_follows;

    COFLUX_INLINE root_links() noexcept : next(nullptr), previous(nullptr) {}
    [[nodiscard]] frame_control& control() noexcept { return *reinterpret_cast<frame_control*>(this + 1); }
};
static_assert(sizeof(root_links) == sizeof(frame_control) && offsetof(root_links, mark) == offsetof(free_block, next));

static_assert(sizeof(std::source_location) == sizeof(void*), "the await location is one store");

// These give nullptr where the resource threw, and keep what it threw for rethrow_allocation_failure(). By value: the
// target of a reference is on the stack, and clang 19 with AddressSanitizer at -O1 takes the later looks at it
// for uses after its scope.
COFLUX_ASIDE void* try_allocate_from_resource(std::size_t bytes, std::size_t alignment,
                                              const environment& parent) noexcept;
COFLUX_ASIDE void* try_allocate_shared_frame(frame_shape shape, environment& parent, std::uint32_t flags) noexcept;
[[noreturn]] COFLUX_COLD void rethrow_allocation_failure();

/// Where the control begins in a block of the frame pool or of a resource. In one with root_links these mark it.
COFLUX_INLINE void* control_in(void* base, std::size_t offset) noexcept {
    void* const control = static_cast<char*>(base) + offset - sizeof(frame_control);
    if (offset != sizeof(frame_control))
        ::new (static_cast<std::uint64_t*>(control) - 1) std::uint64_t(control_follows);
    return control;
}

template <bool EndsTrivially>
COFLUX_INLINE void* allocate_pooled_frame(frame_shape shape, counting counted, std::uint32_t flags) {
    const frame_layout layout = layout_of_frame(shape, sizeof(frame_control));
    void* const base = allocate_pooled(layout.bytes, layout.alignment);
    if (EndsTrivially && !COFLUX_ASAN && layout.offset == sizeof(frame_control)) {
        // A block without a list in the pool is destroyed: only its deallocate() knows where the block came from.
        const std::size_t size_class = frame_class(layout.bytes, layout.alignment);
        if (size_class < frame_cache::classes) flags |= frame_word::freed_as(size_class);
    }
    return ::new (control_in(base, layout.offset)) frame_control(nullptr, counted, flags) + 1;
}

/// Memory for a frame behind its control, counted as `counted` by its parent. Throws what the resource throws,
/// before any effect.
template <bool EndsTrivially = false>
COFLUX_INLINE void* allocate_frame(frame_shape shape, const environment& parent, counting counted,
                                   std::uint32_t flags = 0) {
    if (data_ref_of(parent).pooled()) [[likely]]
        return allocate_pooled_frame<EndsTrivially>(shape, counted, flags);
    const frame_layout layout = layout_of_frame(shape, sizeof(frame_control));
    void* const base = try_allocate_from_resource(layout.bytes, layout.alignment, parent);
    if (base == nullptr) [[unlikely]]
        rethrow_allocation_failure();
    const environment_data& data = data_of(parent);  // only now: nothing of it is kept in a register across the call
    return ::new (control_in(base, layout.offset)) frame_control(data.frames, counted, flags | data.frames_flags) + 1;
}

/// Allocates for a child that another coroutine than its parent creates, or that is made in an environment object.
COFLUX_INLINE void* allocate_shared_frame(frame_shape shape, environment& parent, std::uint32_t flags) {
    void* const frame = try_allocate_shared_frame(shape, parent, flags);
    if (frame == nullptr) [[unlikely]]
        rethrow_allocation_failure();
    return frame;
}

/// Allocates for a coroutine that learns its maker when it is queued; until then it is its parent's own.
template <bool EndsTrivially>
COFLUX_INLINE void* allocate_queued_frame(frame_shape shape, environment& parent) {
    const data_ref& data = data_ref_of(parent);
    if (data.is_usual()) [[likely]]
        return allocate_pooled_frame<EndsTrivially>(shape, counting::by_owner, 0);
    return data.is_of_object() ? allocate_shared_frame(shape, parent, 0)
                               : allocate_frame<EndsTrivially>(shape, parent, counting::by_owner);
}

/// Frames with an error, a list entry, or a control that must survive.
COFLUX_NOINLINE void deallocate_special_frame(void* frame, frame_shape shape) noexcept;
/// A call out of line: a caller that only calls in the end needs no stack frame on the way there.
COFLUX_NOINLINE void deallocate_to(std::pmr::memory_resource& frames, void* base, std::size_t bytes,
                                   std::size_t alignment) noexcept;

COFLUX_INLINE void deallocate_frame(void* frame, frame_shape shape) noexcept {
    frame_control& control = frame_control::of(frame);
    constexpr std::uint32_t special = frame_flags::retain | frame_flags::listed | frame_flags::has_error;
    const frame_layout layout = layout_of_frame(shape, sizeof(frame_control));
    if (!control.word.has(special | frame_flags::from_resource)) [[likely]]
        return deallocate_pooled(static_cast<char*>(frame) - layout.offset, layout.bytes, layout.alignment);
    if (control.word.has(special)) [[unlikely]]
        return deallocate_special_frame(frame, shape);
    if (control.word.has(frame_flags::freed_at_once)) return;
    deallocate_to(*control.resource, static_cast<char*>(frame) - layout.offset, layout.bytes, layout.alignment);
}

}  // namespace coflux::detail

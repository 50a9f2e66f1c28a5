// The join word: how a coroutine's end meets its awaiter, and its handle.
//
// The page docs/design/fork_join.md has the argument. No other file knows the word's bits.
#pragma once

#include <cstdint>
#include <new>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/detail/join/waiter.hpp>
#include <coflux/core/detail/promise/coroutine_kind.hpp>

namespace coflux::detail {

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

}  // namespace coflux::detail

// The end of a coroutine: where its result goes, what becomes of its frame, how its awaiter goes on, and takes the
// result. The fast paths; end.cpp has the slow ones.
//
// The page docs/design/fork_join.md has the argument.
#pragma once

#include <array>
#include <bit>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include <coflux/base/address_of.hpp>
#include <coflux/base/assert.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/base/no_coroutine.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/outcome.hpp>

namespace coflux::detail {

// --- the result

/// Room for a result. Over-aligned types are aligned by hand, so that the promise never is (promise_base.hpp).
template <typename T>
class result_room {
    static constexpr std::size_t guaranteed = alignof(void*);

public:
    [[nodiscard]] T* address() noexcept {
        if constexpr (alignof(T) <= guaranteed) {
            return std::launder(reinterpret_cast<T*>(bytes_));
        } else {
            const auto at = reinterpret_cast<std::uintptr_t>(bytes_);
            return std::launder(reinterpret_cast<T*>((at + alignof(T) - 1) & ~(alignof(T) - 1)));
        }
    }

private:
    static constexpr std::size_t slack = alignof(T) <= guaranteed ? 0 : alignof(T) - guaranteed;
    alignas(guaranteed < alignof(T) ? guaranteed : alignof(T)) std::byte bytes_[sizeof(T) + slack];
};

/// True if nothing is left to destroy in the frame of a coroutine that returns T, has these parameters, and has ended.
template <typename T, typename... Args>
inline constexpr bool ends_trivially =
    (std::is_void_v<T> || std::is_reference_v<T> || std::is_trivially_destructible_v<T>) &&
    (... && (std::is_reference_v<Args> || std::is_trivially_destructible_v<Args>));

/// True if a result can go by way of the thread, and its frame need not wait for the taker.
template <typename T>
inline constexpr bool is_passed_by_thread = [] {
    if constexpr (std::is_void_v<T>) {
        return true;
    } else {
        using kept = kept_result<T>;
        return std::is_trivially_copyable_v<kept> && sizeof(kept) <= sizeof(std::uint64_t);
    }
}();

/// The fate of the frame of a coroutine that returns T, where its awaiter has no use for it but the result.
template <typename T>
inline constexpr nested_frame nested_frame_for = is_passed_by_thread<T> ? nested_frame::freed : nested_frame::kept;

/// The result of a coroutine that has just freed itself, from the word that it left.
template <typename T>
COFLUX_INLINE T take_from(const std::uint64_t& word) noexcept {
    if constexpr (!std::is_void_v<T>) {
        using kept = kept_result<T>;
        std::array<std::byte, sizeof(kept)> bytes;
        std::memcpy(bytes.data(), &word, sizeof(kept));
        if constexpr (std::is_reference_v<T>) {
            return static_cast<T>(*std::bit_cast<kept>(bytes));
        } else {
            return std::bit_cast<kept>(bytes);
        }
    }
}

/// The word that take_from<T>() makes a T of.
template <typename T>
COFLUX_INLINE std::uint64_t word_of(const kept_result<T>& kept) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, &kept, sizeof(kept));
    return word;
}

/// Result part for objects and references.
template <typename T>
class typed_promise : public promise_base {
    using kept = kept_result<T>;

public:
    template <typename U = T>
        requires std::is_constructible_v<T, U>
    void return_value(U&& value) noexcept(std::is_nothrow_constructible_v<T, U>) {
        if constexpr (std::is_reference_v<T>) {
            ::new (static_cast<void*>(room_.address()))
                kept(detail::address_of(static_cast<T>(std::forward<U>(value))));
        } else {
            ::new (static_cast<void*>(room_.address())) kept(std::forward<U>(value));
        }
        if constexpr (!std::is_trivially_destructible_v<kept>) this->control().word.set(frame_flags::holds_value);
    }

    template <typename U>
        requires(!std::is_constructible_v<T, U>)
    void return_value(U&&) {
        static_assert(never<U>, "coflux: the result of this coroutine cannot be made of what this co_return gives");
    }

    [[nodiscard]] kept& result() noexcept { return *room_.address(); }
    /// As a whole word, so that the compiler knows that storing it changes no other member of a frame.
    [[nodiscard]] COFLUX_INLINE std::uint64_t result_word() noexcept {
        std::uint64_t word = 0;
        std::memcpy(&word, room_.address(), sizeof(kept));
        return word;
    }

protected:
    using promise_base::promise_base;
    ~typed_promise() {
        if constexpr (!std::is_trivially_destructible_v<kept>) {
            if (this->control().word.has(frame_flags::holds_value)) result().~kept();
        }
    }

private:
    result_room<kept> room_;
};

/// Result part for void.
template <>
class typed_promise<void> : public promise_base {
public:
    void return_void() const noexcept {}
    [[nodiscard]] std::uint64_t result_word() const noexcept { return 0; }

protected:
    using promise_base::promise_base;
    ~typed_promise() = default;
};

/// The promise of a frame whose coroutine returns T.
template <typename T>
typed_promise<T>& promise_of(frame_control& c) noexcept {
    return static_cast<typed_promise<T>&>(promise_base::of(c));
}

// --- the frame that frees itself

/// If a child is left, it suspends in its nested run at once: a second look may find none.
COFLUX_INLINE bool promise_base::frees_itself() noexcept {
    frame_control& c = control();
    if (!c.join.frees_itself()) return false;
    // [nested.frees_itself.children]
    if (c.word.has(frame_flags::scope_open) && has_children()) [[unlikely]] {
        // [nested.frees_itself.leaves]
        rematerialized_this()->leave_nested_run();
        return false;
    }
    return true;
}

COFLUX_INLINE void promise_base::keep_result_and_free(std::uint64_t result) noexcept {
    frame_control* c = &control();
    // To the optimiser the control is a part of the promise, whose last stores are never read.
    asm("" : "+r"(c));
    this_thread.current = c->join.own().coroutine();
    c->result = result;
    c->word.set(frame_flags::destroyed);
}

/// Before the final suspension of a coroutine that returns T: it frees itself if it may, and need not suspend. `Args`
/// are its parameters.
template <typename T, typename... Args>
[[nodiscard]] COFLUX_INLINE bool frees_itself(typed_promise<T>& p) noexcept {
    if constexpr (!is_passed_by_thread<T>) {
        return false;
    } else {
        if (!p.frees_itself()) return false;
        if constexpr (!ends_trivially<T, Args...>) {
            // The destructors of parameters may run whole coroutines, whose results go by the thread too.
            p.keep_result_and_free(p.result_word());
        } else if constexpr (!std::is_void_v<T>) {
            thread_result() = p.result_word();
        }
        return true;
    }
}
/// In its operator delete.
template <typename T, typename... Args>
COFLUX_INLINE void pass_result_on(void* frame) noexcept {
    if constexpr (is_passed_by_thread<T> && !std::is_void_v<T> && !ends_trivially<T, Args...>) {
        frame_control& c = frame_control::of(frame);
        if (c.word.has(frame_flags::destroyed)) thread_result() = c.result;
    }
}

// --- the frame that stays: its awaiter goes on

COFLUX_INLINE std::coroutine_handle<> promise_base::notify_waiters_after_clear() noexcept {
    return clear_current(), transfer(rematerialized_this()->notify_waiters());
}

/// The end of a call on its caller's executor. It is awaited, or it would not have begun; what the caller wrote is this
/// thread's own.
COFLUX_INLINE std::coroutine_handle<> promise_base::call_ended(frame_control& c) noexcept {
    const join_snapshot own = c.join.own();
    if (own.done()) return no_coroutine();  // nested: the caller goes on below
    return transfer(own.only_coroutine()->handle());
}

/// The end of a child that its parent may be suspended for, in a plain await or by one waiter: then the child is
/// released by the owner, and the parent goes on.
COFLUX_INLINE std::coroutine_handle<> promise_base::ended_as_child(frame_control& c, bool is_own) noexcept {
    const join_snapshot seen = c.join.seen_by_end();
    if (seen.done()) return no_coroutine();  // nested: the awaiter goes on below
    if (is_own) [[likely]] {
        if (seen.is_awaited_by(static_cast<promise_base*>(parent_.get()))) [[likely]] {
            promise_base& w = static_cast<promise_base&>(*parent_);
            w.own_.children.release_by_owner();
            if (runs_on() == w.runs_on()) [[likely]]
                return transfer(w.handle());
            return rematerialized_this()->hand_over(w);
        }
        if (seen.has_one_waiter() && c.word.end() == ending::value) {
            waiter& w = *seen.youngest();
            if (w.coroutine == parent_.get()) {
                parent_->own_.children.release_by_owner();
                c.join.forget_awaiter();
                clear_current();
                return transfer(w.ended(w, c, identity_of(executor_)));
            }
        }
    }
    return notify_waiters_after_clear();
}

template <ending_kind Kind>
COFLUX_INLINE std::coroutine_handle<> promise_base::body_ended() noexcept {
    frame_control& c = control();
    const frame_word word = c.word;
    if constexpr (Kind == ending_kind::may_be_inline) {
        if (word.is_exactly(counting::by_owner, frame_flags::inline_start)) {
            // The handle is not out yet, and the creator waits on this very thread: nothing to count, no waiter to
            // wake.
            c.join.begin_ended();
            return no_coroutine();
        }
    }
    if constexpr (Kind == ending_kind::call) {
        if (!word.has(frame_flags::scope_open | frame_flags::moved)) [[likely]]
            return call_ended(c);
    }
    if (word.has(frame_flags::scope_open) && has_children()) [[unlikely]]
        return rematerialized_this()->join_children();
    if constexpr (Kind == ending_kind::call) {
        if (!word.has(frame_flags::moved)) [[likely]]
            return call_ended(c);
        // [nested.moved_call.notifies]
        return notify_waiters_after_clear();
    } else {
        if constexpr (Kind == ending_kind::may_be_inline) {
            if (word.has(frame_flags::inline_start)) return rematerialized_this()->end_inline();
        }
        return ended_as_child(c, word.is_counted_by_owner());
    }
}

/// The final suspension, which is none for a coroutine that frees itself.
template <ending_kind Kind>
class end_awaiter {
public:
    COFLUX_INLINE explicit end_awaiter(bool gone) noexcept : gone_(gone) {}
    [[nodiscard]] COFLUX_INLINE bool await_ready() const noexcept { return gone_; }
    template <typename P>
    COFLUX_INLINE std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) const noexcept {
        // g++ saves each register that this way needs where the coroutine begins, also of a call that frees itself.
        if constexpr (Kind == ending_kind::call && !COFLUX_CLANG) {
            return ended_aside(h.promise());
        } else {
            return h.promise().template body_ended<Kind>();
        }
    }
    void await_resume() const noexcept {}

private:
    static COFLUX_NOINLINE std::coroutine_handle<> ended_aside(promise_base& p) noexcept {
        return p.body_ended<Kind>();
    }

    bool gone_;
};

// --- the awaiter takes the result, and frees the frame

/// Copies results of type T. Only view() and callbacks make what copies: a type may say that it can be copied, and not
/// compile where it is, as a std::vector of what only moves does, and a class that has one.
template <typename T>
class copied_result {
    using kept = kept_result<T>;

public:
    /// Before a frame gets its first view or callback, which publishes it.
    static void made_possible() noexcept {
        if constexpr (!std::is_trivially_copy_constructible_v<kept>) copy_.store(&copy, memory_order_relaxed);
    }
    static COFLUX_INLINE kept of(const kept& result) {
        if constexpr (std::is_trivially_copy_constructible_v<kept>) {
            return result;
        } else {
            return copied_aside(result);
        }
    }

private:
    static COFLUX_NOINLINE kept copied_aside(const kept& result) {
        const auto copies = copy_.load(memory_order_relaxed);
        COFLUX_VERIFY(copies != nullptr,
                      "a result has views or callbacks that were made by another library, which hides its symbols");
        return copies(result);
    }
    static kept copy(const kept& result) { return result; }

    COFLUX_SHARED static inline constinit atomic<kept (*)(const kept&)> copy_{nullptr};
};

/// Moves the value out of a finished coroutine.
template <typename T>
T take_value(frame_control& c) {
    if constexpr (std::is_reference_v<T>) {
        return static_cast<T>(*promise_of<T>(c).result());
    } else if constexpr (!std::is_void_v<T>) {
        return std::move(promise_of<T>(c).result());
    }
}

/// Frees a finished frame at the end of a scope.
class consumed_frame {
public:
    explicit consumed_frame(frame_control& c) noexcept : c_(c) {}
    ~consumed_frame() { promise_base::consumed(c_); }
    consumed_frame(const consumed_frame&) = delete;
    consumed_frame& operator=(const consumed_frame&) = delete;

private:
    frame_control& c_;
};

/// At the end of a scope frees a frame that ended with a value and was never shared.
class destroyed_frame {
public:
    COFLUX_INLINE explicit destroyed_frame(frame_control& c) noexcept : c_(c) {}
    COFLUX_INLINE ~destroyed_frame() { promise_base::free_plainly(c_); }
    destroyed_frame(const destroyed_frame&) = delete;
    destroyed_frame& operator=(const destroyed_frame&) = delete;

private:
    frame_control& c_;
};

/// Frees a finished frame that holds an error, and throws it.
[[noreturn]] COFLUX_COLD void consume_error(frame_control& c);

/// True if views of a finished coroutine are left besides its handle.
inline bool is_viewed(frame_control& c) noexcept {
    // [join.is_viewed]
    return c.join.is_shared() &&
           c.references().load(memory_order_acquire) > 1;  // pairs with the release in drop_reference()
}

/// Takes the result of a finished coroutine that was not stopped: moves the value out or throws the error; the frame
/// is freed.
template <typename T>
COFLUX_INLINE T consume(frame_control& c) {
    if (c.word.end() == ending::error) [[unlikely]]
        consume_error(c);
    const consumed_frame frees(c);
    if constexpr (std::is_object_v<T> && std::is_copy_constructible_v<T>) {
        // Views still look at the value: leave it to them.
        if (is_viewed(c)) return copied_result<T>::of(promise_of<T>(c).result());
    }
    return take_value<T>(c);
}

/// `make()` as an outcome: what it throws is one, too.
template <typename T, typename Make>
outcome<T> caught_outcome(Make make) noexcept {
    try {
        if constexpr (std::is_void_v<T>) {
            make();
            return outcome<T>(std::in_place);
        } else {
            return outcome<T>(std::in_place, make());
        }
    } catch (...) {
        return outcome<T>(std::current_exception());
    }
}

/// The end of a finished coroutine as an outcome; the value is moved out. An exception of the move is an error like
/// another.
template <typename T>
outcome<T> outcome_of(frame_control& c) noexcept {
    if (c.word.end() == ending::stopped) return stopped;
    if (c.word.end() == ending::error) {
        c.error->observe();
        return outcome<T>(*c.error);
    }
    if constexpr (std::is_void_v<T>) {
        return outcome<T>(std::in_place);
    } else if constexpr (std::is_reference_v<T>) {
        return outcome<T>(std::in_place, promise_of<T>(c).result());
    } else {
        if constexpr (std::is_copy_constructible_v<T>) {
            if (is_viewed(c))
                return caught_outcome<T>([&c] { return copied_result<T>::of(promise_of<T>(c).result()); });
        }
        return caught_outcome<T>([&c]() -> kept_result<T>&& { return std::move(promise_of<T>(c).result()); });
    }
}

/// Takes the outcome, and frees the frame.
template <typename T>
outcome<T> consume_outcome(frame_control& c) noexcept {
    const consumed_frame frees(c);
    return outcome_of<T>(c);
}

}  // namespace coflux::detail

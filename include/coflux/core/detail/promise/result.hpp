// The result part of a promise.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <coflux/core/detail/handle/awaited_frame.hpp>
#include <coflux/core/detail/promise/completion.hpp>
#include <coflux/core/detail/promise/copied_result.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/outcome.hpp>

namespace coflux::detail {

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
inline constexpr bool goes_by_thread = [] {
    if constexpr (std::is_void_v<T>) {
        return true;
    } else {
        using kept = kept_result<T>;
        return std::is_trivially_copyable_v<kept> && sizeof(kept) <= sizeof(thread_result);
    }
}();

/// What becomes of the frame of a coroutine that returns T, where its awaiter has no use for it but the result.
template <typename T>
inline constexpr nested_frame nested_frame_for = goes_by_thread<T> ? nested_frame::freed : nested_frame::kept;

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

/// Result part for objects and references.
template <typename T>
class typed_promise : public promise_base {
    using kept = kept_result<T>;

public:
    template <typename U = T>
        requires std::is_constructible_v<T, U>
    void return_value(U&& value) noexcept(std::is_nothrow_constructible_v<T, U>) {
        if constexpr (std::is_reference_v<T>) {
            ::new (static_cast<void*>(room_.address())) kept(std::addressof(static_cast<T>(std::forward<U>(value))));
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

/// The final suspension, which is none for a coroutine that frees itself.
template <ending_kind Kind>
class end_awaiter {
public:
    COFLUX_INLINE explicit end_awaiter(bool gone) noexcept : gone_(gone) {}
    [[nodiscard]] COFLUX_INLINE bool await_ready() const noexcept { return gone_; }
    template <typename P>
    COFLUX_INLINE std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) const noexcept {
        return h.promise().template body_ended<Kind>();
    }
    void await_resume() const noexcept {}

private:
    bool gone_;
};

/// Before the final suspension of a coroutine that returns T: it frees itself if it may, and need not suspend. `Args`
/// are its parameters.
template <typename T, typename... Args>
[[nodiscard]] COFLUX_INLINE bool frees_itself(typed_promise<T>& p) noexcept {
    if constexpr (!goes_by_thread<T>) {
        return false;
    } else {
        if (!p.frees_itself()) return false;
        if constexpr (!ends_trivially<T, Args...>) {
            // The destructors of parameters may run whole coroutines, whose results go by the thread too.
            p.keep_result_and_free(p.result_word());
        } else if constexpr (!std::is_void_v<T>) {
            thread_result = p.result_word();
        }
        return true;
    }
}
/// In its operator delete.
template <typename T, typename... Args>
COFLUX_INLINE void pass_result_on(void* frame) noexcept {
    if constexpr (goes_by_thread<T> && !std::is_void_v<T> && !ends_trivially<T, Args...>) {
        frame_control& c = frame_control::of(frame);
        if (c.word.has(frame_flags::destroyed)) thread_result = c.result;
    }
}

/// The promise of a frame whose coroutine returns T.
template <typename T>
typed_promise<T>& promise_of(frame_control& c) noexcept {
    return static_cast<typed_promise<T>&>(promise_base::of(c));
}

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

/// At the end of a scope frees a frame that ended nested on its awaiter's stack.
class plainly_freed_frame {
public:
    COFLUX_INLINE explicit plainly_freed_frame(awaited_frame& c) noexcept : c_(c) {}
    COFLUX_INLINE ~plainly_freed_frame() {
        promise_base::free_plainly(*c_.plain());
        c_.clear();
    }
    plainly_freed_frame(const plainly_freed_frame&) = delete;
    plainly_freed_frame& operator=(const plainly_freed_frame&) = delete;

private:
    awaited_frame& c_;
};

/// Frees a finished frame that holds an error, and throws it.
[[noreturn]] COFLUX_COLD void consume_error(frame_control& c);

/// True if views of a finished coroutine are left besides its handle.
inline bool is_viewed(frame_control& c) noexcept {
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

/// The end of a finished coroutine as an outcome; the value is moved out. What that throws is an error like another.
template <typename T>
outcome<T> outcome_of(frame_control& c) noexcept {
    if (c.word.end() == ending::stopped) return stopped;
    if (c.word.end() == ending::error) {
        c.error->observe();
        return outcome<T>(c.error->error());
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

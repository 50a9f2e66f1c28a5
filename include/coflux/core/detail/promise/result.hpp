// How an awaiter takes the result from the frame of a coroutine that has ended, and frees the frame.
#pragma once

#include <exception>
#include <type_traits>
#include <utility>

#include <coflux/core/detail/handle/awaited_frame.hpp>
#include <coflux/core/detail/promise/completion.hpp>
#include <coflux/core/detail/promise/copied_result.hpp>
#include <coflux/core/outcome.hpp>

namespace coflux::detail {

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

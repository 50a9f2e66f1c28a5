// The one way to what handles and operations keep from their users.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <type_traits>
#include <utility>

#include <coflux/base/config.hpp>
#include <coflux/core/detail/promise/coroutine_kind.hpp>
#include <coflux/core/detail/thread/thread_state.hpp>

namespace coflux::detail {

class promise_base;

/// Awaitables and the handles of coroutines have members for the library alone: those are private, and
/// befriend this.
///
/// An operand of co_await has `await_in(p, where)`, which gives its awaiter in the coroutine `p`; it may have
///   await_outcome_in(p, where)  the awaiter under as_outcome()
///   home(p)                     of a call, which combinators run in a fork (promise_base)
///   single_use                  it can be awaited once
///   may_stop_its_awaiter        under as_outcome() it needs await_outcome_in()
///   never_throws                an await of the library's own: no test point
///   keeps_location              the coroutine's recorded place stays as it is
///   loses_its_lock              a stop takes a lock from the coroutine that awaits it
///   operand                     what it awaits in its turn
/// and of these types each may be in its `operation`, too (request.hpp).
/// A handle that is given to a combinator has the members of an owned_frame.
struct await_access {
    template <typename A>
    [[nodiscard]] static consteval bool is_operand() noexcept {
        return requires(A&& a, promise_base& p, std::source_location where) { std::forward<A>(a).await_in(p, where); };
    }
    template <typename A>
    static COFLUX_INLINE decltype(auto) await_in(A&& awaited, promise_base& p, std::source_location where) {
        return std::forward<A>(awaited).await_in(p, where);
    }
    template <typename A>
    [[nodiscard]] static consteval bool has_outcome() noexcept {
        return requires(A&& a, promise_base& p, std::source_location where) {
            std::forward<A>(a).await_outcome_in(p, where);
        };
    }
    template <typename A>
    static COFLUX_INLINE decltype(auto) await_outcome_in(
        A&& awaited, promise_base& p,
        std::source_location where) noexcept(noexcept(std::forward<A>(awaited).await_outcome_in(p, where))) {
        return std::forward<A>(awaited).await_outcome_in(p, where);
    }

    // Facts of its type.
    template <typename A>
    [[nodiscard]] static consteval bool is_single_use() noexcept {
        return requires { typename std::remove_cvref_t<A>::single_use; } ||
               requires { typename std::remove_cvref_t<A>::operation::single_use; };
    }
    template <typename A>
    [[nodiscard]] static consteval bool may_stop_its_awaiter() noexcept {
        return requires { typename std::remove_cvref_t<A>::may_stop_its_awaiter; } ||
               requires { typename std::remove_cvref_t<A>::operation::may_stop_its_awaiter; };
    }
    template <typename A>
    [[nodiscard]] static consteval bool never_throws() noexcept {
        return requires { typename std::remove_cvref_t<A>::never_throws; } ||
               requires { typename std::remove_cvref_t<A>::operation::never_throws; };
    }
    template <typename A>
    [[nodiscard]] static consteval bool keeps_location() noexcept {
        return requires { typename std::remove_cvref_t<A>::keeps_location; } ||
               requires { typename std::remove_cvref_t<A>::operation::keeps_location; };
    }

    /// Its type says so, or that of an operand that it is stopped with.
    template <typename A>
    [[nodiscard]] static consteval bool loses_its_lock() noexcept {
        using type = std::remove_cvref_t<A>;
        if constexpr (requires { typename type::operand; }) {
            return loses_its_lock<typename type::operand>();
        } else if constexpr (requires { type::operation::an_operand_loses_its_lock; }) {
            return type::operation::an_operand_loses_its_lock;
        } else {
            return requires { typename type::operation::loses_its_lock; };
        }
    }

    // The two steps of an operation (request.hpp).
    template <typename A>
    [[nodiscard]] static consteval bool has_claim() noexcept {
        if constexpr (requires { typename std::remove_cvref_t<A>::operation::has_two_steps; }) {
            using operation = typename std::remove_cvref_t<A>::operation;
            return std::is_same_v<operation, typename operation::has_two_steps>;
        } else {
            return false;
        }
    }
    template <typename A>
    static auto claim(const A& operation) {
        return operation.claim(typename A::positions());
    }
    template <typename A, typename... Kept>
    static decltype(auto) finish(const A& operation, Kept&&... kept) {
        return operation.finish(typename A::positions(), std::forward<Kept>(kept)...);
    }

    // Steps of combinators before it begins.
    template <typename A>
    [[nodiscard]] static consteval bool has_home() noexcept {
        return requires(const A& a, promise_base& p) { a.home(p); };
    }
    template <typename A>
    [[nodiscard]] static auto& home(const A& awaited, promise_base& p) noexcept {
        return awaited.home(p);
    }

    // Handles.
    template <typename H>
    [[nodiscard]] static COFLUX_INLINE auto& release(H&& handle) noexcept {
        auto& frame = handle.release();
        note_taken_over(frame);
        return frame;
    }
    template <typename H>
    [[nodiscard]] static COFLUX_INLINE auto& used(const H& handle) noexcept {
        return handle.used();
    }
    template <typename H>
    [[nodiscard]] static COFLUX_INLINE auto* frame(const H& handle) noexcept {
        return handle.frame();
    }
    template <typename H>
    [[nodiscard]] static COFLUX_INLINE const void* address(const H& handle) noexcept {
        return handle.address();
    }
    /// The fate of the frame that a handle of type H owns when it has run nested.
    template <typename H>
    [[nodiscard]] static consteval nested_frame frame_after_nested_run() noexcept {
        if constexpr (requires { H::frame_after_nested_run; }) return H::frame_after_nested_run;
        return nested_frame::kept;
    }
    /// The frame has freed itself.
    template <typename H>
    static COFLUX_INLINE void clear(H& handle) noexcept {
        handle.clear();
    }
    /// It keeps a word in place of a frame, until take_word() or clear() empties it.
    template <typename H>
    static COFLUX_INLINE void keep_word(H& handle, std::uint64_t word) noexcept {
        handle.keep_word(word);
    }
    template <typename H>
    [[nodiscard]] static COFLUX_INLINE std::uint64_t take_word(H& handle) noexcept {
        return handle.take_word();
    }
    /// A view of `c`, which has been shared.
    template <typename View, typename Frame>
    [[nodiscard]] static View view_of(Frame& c) noexcept {
        return View(c);
    }

    // Calls that the library awaits by itself.
    template <typename Call>
    static auto begin_for(Call& call, promise_base& p) noexcept {
        return call.begin_for(p);
    }
    template <typename Call>
    static decltype(auto) take(Call& call) {
        return call.take();
    }
    template <typename Call>
    [[nodiscard]] static auto error(const Call& call) noexcept {
        return call.error();
    }
};

/// The std::tuple_size of what is to be awaited: `auto [a, b] = when_all(…)` has forgotten the co_await.
template <typename Awaitable>
struct size_before_await {
    static_assert(never<Awaitable>,
                  "coflux: this is what is to be awaited, and not its result: auto [a, b] = co_await …");
    static constexpr std::size_t value = 0;
};

}  // namespace coflux::detail

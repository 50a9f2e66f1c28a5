// How a Coflux coroutine turns the operand of co_await into an awaiter.
#pragma once

#include <coroutine>
#include <source_location>
#include <type_traits>
#include <utility>

#include <coflux/core/context.hpp>
#include <coflux/core/detail/handle/await_access.hpp>
#include <coflux/core/detail/promise/foreign_awaiter.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/thread/thread_driver.hpp>

namespace coflux::detail {

template <typename A>
inline constexpr bool is_context_request = std::is_same_v<std::remove_cvref_t<A>, context_request>;

/// Something of ours: knows how to wait inside a coroutine of ours.
template <typename A>
concept native_awaitable = await_access::is_operand<A>();

/// How a foreign type becomes an awaitable of ours: specialised with `static R request(A)`, where R is a native
/// awaitable that need not outlive the binding of the await.
template <typename A>
struct awaited_as;

template <typename A>
concept translated_awaitable = requires(A&& a) { awaited_as<std::remove_cvref_t<A>>::request(std::forward<A>(a)); };

/// A handle that may be awaited once, used as an lvalue.
template <typename A>
concept single_use_lvalue = std::is_lvalue_reference_v<A> && await_access::is_single_use<A>();

class context_awaiter {
public:
    explicit context_awaiter(promise_base& self) noexcept : self_(self) {}
    [[nodiscard]] bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    [[nodiscard]] COFLUX_INLINE environment& await_resume() const noexcept { return self_.open_scope(); }

private:
    promise_base& self_;
};

/// With COFLUX_TEST_POINTS defined as 1, in all files of a program that have coroutines, a simulation is called for
/// each await (testing/simulation.hpp). The library is compiled without: its coroutines, those of stream jobs among
/// them, have no such points.
template <typename A>
COFLUX_INLINE void pass_test_point() {
#if defined(COFLUX_TEST_POINTS) && COFLUX_TEST_POINTS
    if constexpr (!await_access::never_throws<A>()) {
        if (thread_driver* const d = this_thread.driver; d != nullptr) d->at_await();
    }
#endif
}

template <typename A>
COFLUX_INLINE decltype(auto) bind_operand(promise_base& p, A&& awaited, std::source_location where) {
    if constexpr (is_context_request<A>) {
        return context_awaiter(p);
    } else if constexpr (single_use_lvalue<A>) {
        static_assert(
            !single_use_lvalue<A>,
            "coflux: this handle can be awaited once: write co_await std::move(handle), or take handle.view() for "
            "several readers. An operation is written in its await, co_await when_any(a(here), b(here)): it refers to "
            "its operands");
        return context_awaiter(p);
    } else if constexpr (native_awaitable<A>) {
        return await_access::await_in(std::forward<A>(awaited), p, where);
    } else if constexpr (translated_awaitable<A>) {
        return await_access::await_in(awaited_as<std::remove_cvref_t<A>>::request(std::forward<A>(awaited)), p, where);
    } else {
        return foreign_awaiter<A>(p, std::forward<A>(awaited));
    }
}

#ifndef NDEBUG
/// The coroutine awaits something: it may be found elsewhere from now on. A sibling that it has made before, and
/// hands to no operation with this await, is told.
class begun_await {
public:
    explicit begun_await(const promise_base& p) noexcept : p_(p) { this_thread.begun = nullptr; }
    begun_await(const begun_await&) = delete;
    begun_await& operator=(const begun_await&) = delete;
    ~begun_await() {
        if (this_thread.sibling.maker == &p_) [[unlikely]]
            tell_of_sibling();
    }

private:
    const promise_base& p_;
};
#endif

/// Every await of a coroutine of ours begins here, the one place that notes its location.
template <typename A>
COFLUX_INLINE decltype(auto) bind_await(promise_base& p, A&& awaited, std::source_location where) {
    pass_test_point<A>();
    // To ask for the context is not to wait: the coroutine is the one that runs here before and after.
    if constexpr (is_context_request<A>) {
        return bind_operand(p, std::forward<A>(awaited), where);
    } else {
#ifndef NDEBUG
        const begun_await begun(p);
#endif
        if constexpr (!await_access::keeps_location<A>()) p.set_await_location(where);
        return bind_operand(p, std::forward<A>(awaited), where);
    }
}
/// The await inside of one that has begun.
template <typename A>
COFLUX_INLINE decltype(auto) bind_inner_await(promise_base& p, A&& awaited, std::source_location where) {
    pass_test_point<A>();
    return bind_operand(p, std::forward<A>(awaited), where);
}

}  // namespace coflux::detail

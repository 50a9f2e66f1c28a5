// for_each_concurrent: one coroutine for each element of a range, a bounded number of them at a time.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <functional>
#include <ranges>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <coflux/base/address_of.hpp>
#include <coflux/combine/detail/concurrency_window.hpp>
#include <coflux/core/call.hpp>
#include <coflux/core/detail/handle/wrapper.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/core/fork.hpp>
#include <coflux/core/this_coroutine.hpp>
#include <coflux/scope/error_policy.hpp>

namespace coflux {
namespace detail {

template <typename T>
inline constexpr bool is_generated_by_awaits = false;
template <typename T>
inline constexpr bool is_generated_by_awaits<async_generator<T>> = true;

template <typename F, typename Element>
inline constexpr bool takes_environment = std::is_invocable_v<F&, environment&, Element>;

template <typename F, typename Element>
decltype(auto) apply_to(F& f, environment& here, Element&& element) {
    if constexpr (takes_environment<F, Element>) {
        return std::invoke(f, here, std::forward<Element>(element));
    } else {
        return std::invoke(f, std::forward<Element>(element));
    }
}
template <typename F, typename Element>
using applied = decltype(apply_to(std::declval<F&>(), std::declval<environment&>(), std::declval<Element>()));

/// The form in which an element is given on: moved out of a container that was given away, else as the range gives it.
template <typename Range>
using element_of =
    std::conditional_t<!std::is_lvalue_reference_v<Range> && !std::ranges::view<std::remove_cvref_t<Range>>,
                       std::ranges::range_rvalue_reference_t<Range>, std::ranges::range_reference_t<Range>>;

template <typename F, typename Range>
concept applicable_to = takes_environment<F, element_of<Range>> || std::is_invocable_v<F&, element_of<Range>>;

/// An element on its way into a fork: where it is if it stays there, else moved or copied along.
template <typename Range>
class kept_element {
    using given = element_of<Range>;
    static constexpr bool stays =
        std::ranges::forward_range<Range> && std::is_lvalue_reference_v<std::ranges::range_reference_t<Range>>;

public:
    using type = std::conditional_t<stays, given, std::ranges::range_value_t<Range>>;

    explicit kept_element(given&& element) : kept_(keep(static_cast<given&&>(element))) {}
    type&& give() noexcept {
        if constexpr (stays) {
            return static_cast<type&&>(*kept_);
        } else {
            return std::move(kept_);
        }
    }

private:
    static decltype(auto) keep(given&& element) noexcept {
        if constexpr (stays) {
            return detail::address_of(element);
        } else {
            return static_cast<given&&>(element);
        }
    }

    std::conditional_t<stays, std::add_pointer_t<given>, std::ranges::range_value_t<Range>> kept_;
};

/// The fork, on the executor of the loop, of an element that is given to something else than a fork or a task.
template <typename F, typename Kept>
fork<void> of_element(environment&, borrowed<F> f, Kept element) {
    using result = applied<F, typename Kept::type>;
    if constexpr (native_awaitable<result> || foreign_awaitable<result>) {
        auto&& here = co_await context();
        auto&& made = apply_to(*f, here, element.give());
        if constexpr (has_home<std::remove_cvref_t<result>>) {
            if (&await_access::home(made, static_cast<promise_base&>(here)) != &here) {
                (void)co_await when_all(std::forward<result>(made));
                co_return;
            }
        }
        (void)co_await std::forward<result>(made);  // a call is a part of this fork, which is what is stopped
    } else if constexpr (takes_environment<F, typename Kept::type>) {
        auto&& here = co_await context();
        (void)std::invoke(*f, here, element.give());
    } else {
        (void)std::invoke(*f, element.give());
        co_return;
    }
}

template <typename Range, typename F>
call<void> for_each_in_window(environment&, std::remove_reference_t<Range>& range, std::size_t size, F& f,
                              error_policy policy) {
    auto&& here = co_await context();
    concurrency_window running(static_cast<promise_base&>(here), size, policy);
    std::exception_ptr error;
    bool cut = false;
    [[maybe_unused]] std::size_t position = 0;
    try {
        for (auto&& element : range) {
            if (running.is_full()) co_await running.next_ends();
            cut = running.must_end();
            if (cut) break;
            running.reserve();
            using given = element_of<Range>;
            if constexpr (is_owned_handle<std::remove_cvref_t<applied<F, given>>>) {
                auto child = apply_to(f, here, static_cast<given&&>(element));
                check_handle("for_each_concurrent", "the result for element", position, child);
                running.add(await_access::release(child));
            } else {
                using kept = kept_element<Range>;
                running.add(
                    await_access::release(of_element(here, borrowed<F>(f), kept(static_cast<given&&>(element)))));
            }
            ++position;
        }
    } catch (...) {
        error = std::current_exception();
    }
    if (cut || error != nullptr) running.stop_all();
    while (!running.is_empty()) {
        co_await running.next_ends();
        if (running.must_end()) running.stop_all();
    }
    if (error != nullptr) std::rethrow_exception(error);
    // The errors of children are in the scope of this call: its end throws them.
    if (!running.has_failed() && (cut || running.was_stopped())) co_await this_coroutine::stop();
}

class [[nodiscard]] for_each_awaiter {
public:
    template <typename Make>
    explicit for_each_awaiter(Make make) : loop_(make()) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <typename P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) noexcept {
        return await_access::begin_for(loop_, h.promise());
    }
    void await_resume() { await_access::take(loop_); }

private:
    call<void> loop_;
};

class [[nodiscard]] for_each_outcome_awaiter {
public:
    template <typename Make>
    for_each_outcome_awaiter(promise_base& p, Make make)
        : loop_(make()),
          outcome_(await_access::await_outcome_in(std::move(loop_), p, p.control().where)) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) const noexcept {
        return outcome_.await_suspend(h);
    }
    outcome<void> await_resume() const;

private:
    call<void> loop_;
    call_frame<void>::outcome_awaiter outcome_;
};

/// Makes the loop where it is awaited.
template <typename Range, typename F>
struct for_each_operation {
    using single_use = void;

    static for_each_awaiter bind(promise_base& p, auto& range, std::size_t window, auto& f, error_policy policy) {
        return for_each_awaiter([&] { return loop(p, range, window, f, policy); });
    }
    struct on_outcome {
        static for_each_outcome_awaiter bind(promise_base& p, auto& range, std::size_t window, auto& f,
                                             error_policy policy) {
            return for_each_outcome_awaiter(p, [&] { return loop(p, range, window, f, policy); });
        }
    };
    static call<void> loop(promise_base& p, auto& range, std::size_t window, auto& f, error_policy policy) {
        if (window == 0)
            throw std::invalid_argument("coflux: for_each_concurrent: with a window of 0 it would never begin");
        return for_each_in_window<Range, std::remove_reference_t<F>>(p.open_scope(), range, window, f, policy);
    }
};
template <typename Range, typename F>
using for_each_request = request<for_each_operation<Range, F>, Range&&, std::size_t, F&&, error_policy>;

}  // namespace detail

/// Applies `f` to each element of a range, to at most `window` at a time, and waits for all: `co_await
/// coflux::for_each_concurrent(urls, 16, fetch);`
///
/// Shapes: an input range, a generator too. `f(env, element)` or `f(element)` gives a fork or task (made by the
/// awaiting coroutine), a call or another awaitable, or is a plain function; those run in a fork of their own on the
/// executor of the awaiting coroutine. A fork or task takes its element by value; all else may take a reference: to the
/// element itself in a forward range of lvalues, else to a copy that the fork owns. A container that is given away
/// gives rvalues. `f` is used from several threads at once if the executor has several; range and `f` live until the
/// end.
/// Returns: nothing; results are dropped.
/// Resumes: the awaiting coroutine, after the last child ended.
/// Errors: the first error, of a child, of `f` or of the range, ends the loop and stops the children that run; they are
/// joined, and the error is thrown, with those of the other children in other_errors(). With
/// `for_each_concurrent(collect_all, urls, 16, fetch)` (error_policy) a child that fails, or is stopped, does not end
/// the loop, and the others run to their ends; each error is kept until then. An error of the range, and want of memory
/// for a child, end it under both policies. A window of 0: std::invalid_argument.
/// Stops: a stop point at each element and while the window is full: no more children are begun, the running ones are
/// stopped and joined. A child that was stopped ends the loop in this way, too, unless all are collected. An element
/// that was taken from the range and not begun is lost.
/// Threads: the range is read by the awaiting coroutine alone.
/// Costs: a frame for the loop, one (a call: two) for each element, and a slot of 80 bytes for each child of the
/// largest number that ever ran at once. Memory is bounded by the window, not by the range.
template <std::ranges::input_range Range, detail::applicable_to<Range> F>
[[nodiscard("for_each_concurrent does nothing until it is awaited: co_await it")]]
detail::for_each_request<Range, F> for_each_concurrent(error_policy policy, Range&& range, std::size_t window,
                                                       F&& f) noexcept {
    return detail::for_each_request<Range, F>(std::forward<Range>(range), window, std::forward<F>(f), policy);
}
template <std::ranges::input_range Range, detail::applicable_to<Range> F>
[[nodiscard("for_each_concurrent does nothing until it is awaited: co_await it")]]
detail::for_each_request<Range, F> for_each_concurrent(Range&& range, std::size_t window, F&& f) noexcept {
    return for_each_concurrent(stop_on_error, std::forward<Range>(range), window, std::forward<F>(f));
}

// Not over an async_generator.
template <typename... As>
    requires(... || detail::is_generated_by_awaits<std::remove_cvref_t<As>>)
call<void> for_each_concurrent(As&&...) {
    static_assert(detail::never<void(As...)>,
                  "coflux: an async_generator is no range, because its elements are awaited: in a with_scope, `while "
                  "(auto* x = co_await g.next()) scope.spawn(f, std::move(*x));`; a semaphore bounds how many run");
    std::terminate();
}

}  // namespace coflux

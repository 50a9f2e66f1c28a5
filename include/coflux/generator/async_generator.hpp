// async_generator: a lazy sequence, computed by a coroutine that may wait between elements.
#pragma once

#include <coroutine>
#include <source_location>
#include <type_traits>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/core/outcome.hpp>
#include <coflux/generator/detail/async_generator_promise.hpp>

namespace coflux {

/// An asynchronous generator: `while (auto* x = co_await numbers.next()) use(*x);`
///
/// Shapes: a coroutine with an environment and parameters that it owns (law 10); a member function as in fork. Elements
/// as in generator: the pointer that next() gives is to `T` for an object type, which may be moved from;
/// `async_generator<T&>` lends objects for change, `async_generator<const T&>` for reading. `co_yield v` copies
/// nothing, but for an lvalue where T is an object type. `co_yield elements_of(std::move(sub))` yields what another one
/// still has to give, in constant time an element at any depth. Move-only.
/// Returns: nothing runs before the first next(). Between elements it is suspended at a co_yield; it runs as part of
/// the coroutine that awaits next(), on that coroutine's executor. resume_on() inside lasts until the next co_yield.
/// Errors: what the body throws comes out of next(), and out of each one after. std::bad_alloc from the call that makes
/// it, without effect. The unobserved errors of children come out of the next() that finds its end, or go to the scope
/// of its environment if it is destroyed before.
/// Stops: below the environment that it was given. It stops where it waits, or at the co_yield where next() finds it,
/// and stops its consumer in turn, which as_outcome() prevents; so does each next() after. timeout(), when_any() and
/// select() of a next() do not cut its wait short, and its element is lost where another case wins.
/// Threads: used by one coroutine at a time; a next() while another is awaited is a checked error.
/// Costs: one frame; an element that needs no wait: two transfers, no allocation, no atomic read-modify-write; some 6
/// ns. Its forks are counted in each scope up to the first that is no generator's: two locked instructions a scope.
/// Lifetime: must end or die before what its environment belongs to: it is stored in that coroutine or below. Destroyed
/// at a co_yield its locals die at once; if a child lives, or is just ending on another thread, it is stopped, and the
/// scope of its environment waits for it.
/// Destroyed while next() is awaited: a checked error.
/// Source: cppcoro's async_generator; the stack of generators as in generator.
template <typename T>
class [[nodiscard("a generator that is not consumed never begins")]] async_generator {
    static_assert(std::is_object_v<std::remove_reference_t<T>>,
                  "coflux: the elements of an async_generator are objects, or references to objects");
    class next_awaiter;
    class next_outcome_awaiter;
    using next_request = detail::request<next_awaiter, detail::frame_control&>;

public:
    using value_type = std::remove_cvref_t<T>;
    using reference = std::conditional_t<std::is_reference_v<T>, T, T&&>;
    using pointer = std::add_pointer_t<reference>;

    async_generator(async_generator&& other) noexcept : control_(std::exchange(other.control_, nullptr)) {}
    async_generator& operator=(async_generator&& other) noexcept {
        async_generator(std::move(other)).swap(*this);
        return *this;
    }
    async_generator(const async_generator&) = delete;
    async_generator& operator=(const async_generator&) = delete;
    ~async_generator() {
        if (control_ != nullptr) detail::async_generator_base::discard(*control_);
    }
    void swap(async_generator& other) noexcept { std::swap(control_, other.control_); }

    /// False after it was moved from.
    [[nodiscard]] bool valid() const noexcept { return control_ != nullptr; }

    /// `co_await next()`: a pointer to the next element, valid until the next next(); nullptr at the end.
    /// Resumes: the consumer, by transfer from the generator, or through its executor if the generator went to another.
    /// Errors: what the generator threw. A generator that was moved from, or whose next() is being awaited, is a
    /// checked error.
    /// Stops: a stop point, which loses nothing: the generator stays where it is. A generator that stops, stops its
    /// consumer; `as_outcome(next())` gives that as a value. A request that reaches the consumer alone does not cut
    /// short the wait for an element: make the generator in an environment that the request reaches.
    [[nodiscard("nothing is generated until it is awaited: co_await it")]] next_request next() noexcept {
        return next_request(checked());
    }

private:
    template <typename, typename...>
    friend class detail::async_generator_promise;
    template <typename>
    friend class detail::async_generator_elements;
    explicit async_generator(detail::frame_control& c) noexcept : control_(&c) {}

    COFLUX_INLINE detail::frame_control& checked() const noexcept {
        COFLUX_VERIFY(control_ != nullptr, "an async_generator was used after it was moved from");
        return *control_;
    }
    /// Releases it to a co_yield, which takes it over.
    static detail::frame_control& release(async_generator& from) noexcept {
        detail::frame_control& c = from.checked();
        from.control_ = nullptr;
        return c;
    }

    detail::frame_control* control_;
};

template <typename T>
class [[nodiscard]] async_generator<T>::next_awaiter {
public:
    using on_outcome = next_outcome_awaiter;

    COFLUX_INLINE next_awaiter(detail::promise_base& consumer, detail::frame_control& of) noexcept
        : consumer_(&consumer),
          of_(of) {}
    COFLUX_INLINE ~next_awaiter() {
        if constexpr (COFLUX_LATE_RESULTS) {
            if (consumer_ != nullptr) [[unlikely]]
                detail::async_generator_base::end_next(*consumer_, of_);
        }
    }

    [[nodiscard]] COFLUX_INLINE bool await_ready() const noexcept {
        COFLUX_VERIFY(!detail::async_generator_base::is_running(of_),
                      "next() of an async_generator whose next() is being awaited");
        return detail::async_generator_base::is_ready(of_) && detail::goes_on();
    }
    COFLUX_INLINE std::coroutine_handle<> await_suspend(std::coroutine_handle<>) const noexcept {
        if (consumer_->begin_suspend() == detail::suspension::stop || of_.frame().done()) [[unlikely]]
            return detail::async_generator_base::end_at_once(*consumer_, of_);
        return detail::async_generator_base::of(of_).advance_for(*consumer_);
    }
    COFLUX_INLINE pointer await_resume() {
        detail::this_thread.current = consumer_;
        of_.join.stand();
        if (!of_.word.ended_with_value()) [[unlikely]]
            throw_error();
        const pointer element = static_cast<pointer>(detail::async_generator_base::of(of_).element());
        if constexpr (COFLUX_LATE_RESULTS) consumer_ = nullptr;  // right before the destructor asks for it
        return element;
    }

private:
    [[noreturn]] COFLUX_COLD void throw_error() const {
        of_.error->retain();
        of_.error->rethrow();
    }

    detail::promise_base* consumer_;  // COFLUX_LATE_RESULTS: nullptr once it has resumed
    detail::frame_control& of_;
};

/// The await of next() as an outcome: error and stop are values.
template <typename T>
class [[nodiscard]] async_generator<T>::next_outcome_awaiter {
public:
    next_outcome_awaiter(detail::promise_base& consumer, detail::frame_control& of) noexcept
        : consumer_(consumer),
          of_(of) {}

    [[nodiscard]] bool await_ready() const noexcept {
        COFLUX_VERIFY(!detail::async_generator_base::is_running(of_),
                      "next() of an async_generator whose next() is being awaited");
        return of_.frame().done() && detail::goes_on();
    }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) const noexcept {
        if (of_.frame().done()) return detail::let_others_run(consumer_);
        if (consumer_.begin_suspend() == detail::suspension::stop) return consumer_.stop_here();
        consumer_.control().word.set(detail::frame_flags::takes_stop);
        return detail::async_generator_base::of(of_).advance_for(consumer_);
    }
    outcome<pointer> await_resume() const {
        detail::this_thread.current = &consumer_;
        consumer_.control().word.clear(detail::frame_flags::takes_stop);
        of_.join.stand();
        if (of_.word.ended_stopped()) return stopped;
        if (!of_.word.ended_with_value()) {
            of_.error->observe();
            return outcome<pointer>(of_.error->error());
        }
        return outcome<pointer>(std::in_place, static_cast<pointer>(detail::async_generator_base::of(of_).element()));
    }

private:
    detail::promise_base& consumer_;
    detail::frame_control& of_;
};

}  // namespace coflux

template <typename T, typename... Args>
struct std::coroutine_traits<coflux::async_generator<T>, Args...> {
    using promise_type = coflux::detail::async_generator_promise<T, Args...>;
};

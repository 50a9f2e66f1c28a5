// The promise of an async_generator: for which coroutine it runs, the stack of generators that yield one another, what
// co_yield takes.
//
// The page docs/design/async_generator.md has the states, and which thread may touch what.
#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <type_traits>
#include <utility>

#include <coflux/base/address_of.hpp>
#include <coflux/core/detail/frame/frame.hpp>
#include <coflux/core/detail/promise/await.hpp>
#include <coflux/core/detail/promise/end.hpp>
#include <coflux/core/environment_object.hpp>
#include <coflux/core/parameters.hpp>
#include <coflux/core/this_coroutine.hpp>
#include <coflux/fwd.hpp>
#include <coflux/generator/detail/generator_promise.hpp>

namespace coflux::detail {

/// The environment of a generator's children. They are counted in all environments from here up to the first
/// coroutine that is no generator, which therefore joins them before its locals, the generator among them, die.
class generator_scope final : public environment_object {
public:
    explicit generator_scope(environment& of) noexcept : environment_object(&of) {}
    generator_scope(const generator_scope&) = delete;
    generator_scope& operator=(const generator_scope&) = delete;
    ~generator_scope() { close(); }

    void set_executor(const executor_entry* e) noexcept { executor_ = e; }
};

/// The part of the promise that does not know the type of the elements.
class async_generator_base : public promise_base {
public:
    async_generator_base(const async_generator_base&) = delete;
    async_generator_base& operator=(const async_generator_base&) = delete;

    [[nodiscard]] static async_generator_base& of(frame_control& c) noexcept {
        return static_cast<async_generator_base&>(promise_base::of(c));
    }
    void return_void() const noexcept {}

    class end_awaiter {
    public:
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        template <typename P>
        COFLUX_INLINE std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) const noexcept {
            return h.promise().end_body();
        }
        void await_resume() const noexcept {}
    };
    /// Lazy: the first next() begins it.
    std::suspend_always initial_suspend() const noexcept { return {}; }
    end_awaiter final_suspend() const noexcept { return {}; }

    // --- the consumer's side, of a root ------------------------------------------------------------------------------

    /// A generator that is in a plain await runs: its next() is being awaited, or it is being yielded.
    [[nodiscard]] COFLUX_INLINE static bool is_running(const frame_control& c) noexcept {
        return c.join.own().is_in_plain_await();
    }
    /// Nothing is left to wait for: it has ended, and not by a stop.
    [[nodiscard]] COFLUX_INLINE static bool is_ready(frame_control& c) noexcept {
        return c.frame().done() && !c.word.ended_stopped();
    }
    /// Goes on towards the next element, for `consumer`, which is suspended.
    COFLUX_INLINE std::coroutine_handle<> advance_for(promise_base& consumer) noexcept {
        control().join.resume_for(consumer);  // no other thread looks at it while the consumer runs
        async_generator_base& leaf = *leaf_;
        leaf.use_executor_of(consumer);
        if (leaf.control().word.has(frame_flags::scope_open | frame_flags::moved)) [[unlikely]]
            leaf.restore_executor();
        if (leaf.begin_suspend() == suspension::stop || (&leaf != this && is_stop_requested())) [[unlikely]]
            leaf.begin_unwind();
        return transfer(leaf.handle());
    }
    /// Next() of one that has ended, or for a consumer that must stop: `consumer` stops, if the generator was stopped
    /// or a stop was requested, or lets others run.
    COFLUX_COLD static std::coroutine_handle<> end_at_once(promise_base& consumer, frame_control& root) noexcept;
    /// As wait_operation::is_unresumed(): `consumer` has got an element, and does not look at it. The next next()
    /// goes on.
    COFLUX_COLD static void end_next(const promise_base& consumer, frame_control& root) noexcept;
    /// The present element; nullptr at the end.
    [[nodiscard]] COFLUX_INLINE void* element() const noexcept { return element_; }

    /// The handle dies: the frames of the stack go now, or once they are unwound if they have children.
    static void discard(frame_control& root) noexcept;

    // --- the body's side, of a leaf ----------------------------------------------------------------------------------

    /// Suspends at an element.
    COFLUX_INLINE std::coroutine_handle<> yield_element(const volatile void* element) noexcept {
        async_generator_base& root = *root_;
        root.element_ = const_cast<void*>(element);
        // The consumer's words before it let us run.
        const join_snapshot own = root.control().join.own();
        if (!own.is_in_plain_await()) [[unlikely]]
            return stop_here();  // the handle is gone, and an error of a child came in the way of the stop
        promise_base& consumer = *own.only_coroutine();
        if (control().word.has(frame_flags::moved)) [[unlikely]]
            return return_to(consumer);
        if (!goes_on()) [[unlikely]]
            return let_others_run(consumer);
        return transfer(consumer.handle());
    }

    /// Takes over a generator that is going to be yielded.
    COFLUX_INLINE void take_inner(frame_control& inner) noexcept { inner_ = &inner; }
    /// Suspends until what it took has ended.
    std::coroutine_handle<> yield_inner() noexcept;
    /// After that: frees it, throws its error.
    void inner_ended();

    /// The environment of the children.
    [[nodiscard]] environment& inner_environment() noexcept;

protected:
    explicit async_generator_base(environment& parent) noexcept : promise_base(parent) {
        marks_.store(is_call | is_generator, memory_order_relaxed);  // no other thread knows it yet
        own_.begin(0);
        take_stops_seen_of_parent();
        control().join.begin();
    }
    ~async_generator_base();

private:
    /// The body has ended.
    COFLUX_INLINE std::coroutine_handle<> end_body() noexcept {
        element_ = nullptr;
        if (outer_ != nullptr) [[unlikely]]
            leave_stack();
        if (control().word.is_counted_atomically()) [[unlikely]]
            return body_ended<ending_kind::queued>();  // its handle is gone, its scope waits for it
        return body_ended<ending_kind::call>();
    }
    [[nodiscard]] bool has_children() noexcept {
        return control().word.has(frame_flags::scope_open) && own_.children.has_any();
    }

    COFLUX_NOINLINE void restore_executor() noexcept;
    COFLUX_NOINLINE std::coroutine_handle<> return_to(promise_base& consumer) noexcept;
    void continue_from(async_generator_base& other) noexcept;
    COFLUX_NOINLINE void leave_stack() noexcept;
    void leave_failures() noexcept;
    [[nodiscard]] bool is_below_joined() noexcept;
    static void unwind_stack(async_generator_base& root) noexcept;

    void* element_ = nullptr;                // of a root: what the leaf has yielded; nullptr at the end
    async_generator_base* root_ = this;      // of a leaf: the generator that is consumed
    async_generator_base* leaf_ = this;      // of a root: the generator that runs
    async_generator_base* outer_ = nullptr;  // the generator that yields this one
    frame_control* inner_ = nullptr;         // what this one yields
    union {
        generator_scope scope_;  // once it asked for its context
    };
    bool has_scope_ = false;
};

/// An operand of co_yield in an async_generator<T>.
template <typename T>
class async_generator_elements : public async_generator_base {
public:
    /// As in generator: what the consumer may make of an element, and what co_yield binds to.
    using reference = std::conditional_t<std::is_reference_v<T>, T, T&&>;
    using object = std::remove_reference_t<reference>;
    static constexpr bool yields_rvalues = std::is_rvalue_reference_v<reference>;

    class element_awaiter {
    public:
        COFLUX_INLINE explicit element_awaiter(object& v) noexcept : element_(detail::address_of(v)) {}
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        template <typename P>
        COFLUX_INLINE std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) const noexcept {
            return h.promise().yield_element(element_);
        }
        void await_resume() const noexcept {}

    private:
        object* element_;
    };
    COFLUX_INLINE element_awaiter yield_value(reference v,
                                              std::source_location where = std::source_location::current()) noexcept {
        this->set_await_location(where);
        return element_awaiter(v);
    }

    /// The copy of an lvalue: it lives in the frame until the generator goes on.
    class copy_awaiter {
    public:
        COFLUX_INLINE explicit copy_awaiter(const object& v) : copy_(v) {}
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        template <typename P>
        COFLUX_INLINE std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) noexcept {
            return h.promise().yield_element(detail::address_of(copy_));
        }
        void await_resume() const noexcept {}

    private:
        std::remove_cv_t<object> copy_;
    };
    COFLUX_INLINE copy_awaiter yield_value(const object& v,
                                           std::source_location where = std::source_location::current())
        requires(yields_rvalues && std::constructible_from<std::remove_cv_t<object>, const object&>)
    {
        this->set_await_location(where);
        return copy_awaiter(v);
    }

    class inner_awaiter {
    public:
        inner_awaiter(async_generator_base& p, frame_control& inner) noexcept : p_(p), inner_(inner) {}
        [[nodiscard]] bool await_ready() const noexcept { return async_generator_base::is_ready(inner_) && goes_on(); }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<>) const noexcept { return p_.yield_inner(); }
        void await_resume() const { p_.inner_ended(); }

    private:
        async_generator_base& p_;
        frame_control& inner_;
    };
    /// The elements of another asynchronous generator.
    template <typename G>
    inner_awaiter yield_value(elements_of<G> inner,
                              std::source_location where = std::source_location::current()) noexcept {
        using given = std::remove_cvref_t<G>;
        static_assert(
            is_async_generator<given>,
            "coflux: co_yield elements_of() in an async_generator takes another async_generator: loop over a range, and "
            "yield its elements");
        static_assert(std::is_rvalue_reference_v<G&&>,
                      "coflux: co_yield elements_of() takes the generator over: write elements_of(std::move(sub))");
        static_assert(
            std::is_same_v<typename given::reference, reference>,
            "coflux: co_yield elements_of() needs a generator with the same elements: loop over it, and yield what it gives");
        this->set_await_location(where);
        auto&& from = std::move(inner).get();
        frame_control& c = given::release(from);
        this->take_inner(c);
        return inner_awaiter(*this, c);
    }

    template <typename A>
    COFLUX_INLINE decltype(auto) await_transform(A&& awaited,
                                                 std::source_location where = std::source_location::current()) {
        if constexpr (is_context_request<A>) {
            this->set_await_location(where);
            return answer_awaiter<environment&>(this->inner_environment());
        } else {
            return bind_await(*this, std::forward<A>(awaited), where);
        }
    }

protected:
    using async_generator_base::async_generator_base;
    ~async_generator_elements() = default;
};

/// Instantiated late, in get_return_object, when closures are complete types.
template <typename... Args>
consteval void check_generator_parameters() {
    check_environment<Args...>();
    using object = object_of<Args...>;
    static_assert(!is_capturing<std::remove_cvref_t<object>>,
                  "coflux: a lambda with captures cannot be an async_generator: the captures may die before the "
                  "generator does; pass them as parameters");
    static_assert(
        object_lives<object> || is_capturing<std::remove_cvref_t<object>>,
        "coflux: an async_generator that is a member function borrows *this: make it a static function that takes the "
        "object by value, std::shared_ptr or coflux::borrowed, or put `using outlives_its_coroutines = void;` into the "
        "class");
    if constexpr (environment_position<Args...> >= 0) {
        static_assert(
            parameters_own<environment_position<Args...>, Args...>(),
            "coflux: an async_generator must own its parameters: take them by value, or say coflux::borrowed<T>");
    }
}

template <typename T, typename... Args>
class async_generator_promise final : public async_generator_elements<T> {
public:
    COFLUX_COROUTINE_ARGUMENTS(Args, Given)
    explicit async_generator_promise(COFLUX_ARGUMENT(Args, Given) & ... args) noexcept
        : async_generator_elements<T>(find_environment(args...)) {}

    COFLUX_COROUTINE_ARGUMENTS(Args, Given)
    COFLUX_INLINE static void* operator new(std::size_t size, COFLUX_ARGUMENT(Args, Given) & ... args) {
        return allocate_frame(guess_frame_shape(size), find_environment(args...), counting::none);
    }
    COFLUX_COROUTINE_ARGUMENTS(Args, Given)
    COFLUX_INLINE static void* operator new(std::size_t size, std::align_val_t alignment,
                                            COFLUX_ARGUMENT(Args, Given) & ... args) {
        return allocate_frame(frame_shape_of(size, alignment), find_environment(args...), counting::none);
    }
    COFLUX_INLINE static void operator delete(void* frame, std::size_t size) noexcept {
        deallocate_frame(frame, guess_frame_shape(size));
    }
    COFLUX_INLINE static void operator delete(void* frame, std::size_t size, std::align_val_t alignment) noexcept {
        deallocate_frame(frame, frame_shape_of(size, alignment));
    }

    async_generator<T> get_return_object(std::source_location where = std::source_location::current()) noexcept {
        check_generator_parameters<Args...>();
        this->set_await_location(where);
        return async_generator<T>(this->control());
    }
};

}  // namespace coflux::detail

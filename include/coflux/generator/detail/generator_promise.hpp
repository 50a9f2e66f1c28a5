// The promise of a generator: the stack of generators that yield one another, and what co_yield takes.
#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <new>
#include <ranges>
#include <type_traits>
#include <utility>

#include <coflux/base/address_of.hpp>
#include <coflux/base/assert.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/parameters.hpp>
#include <coflux/fwd.hpp>
#include <coflux/generator/detail/generator_frame.hpp>

namespace coflux {
namespace detail {

template <typename G>
inline constexpr bool is_async_generator = false;
template <typename T>
inline constexpr bool is_async_generator<async_generator<T>> = true;

}  // namespace detail

/// For `co_yield elements_of(range)`: all elements of a range, one after the other.
///
/// An rvalue generator with the same elements is taken over, and an element costs the same whatever the depth. Any
/// other range, also an lvalue generator, is iterated by a generator of its own: one frame, from where the yielding
/// generator's frame came (the frame pool if that was an allocator). In an async_generator it takes an rvalue
/// async_generator with the same elements, and no other range.
/// Lifetime: refers to the range; used in the expression that makes it.
/// Source: std::ranges::elements_of, C++23.
template <typename R>
    requires(std::ranges::range<R> || detail::is_async_generator<std::remove_cvref_t<R>>)
class elements_of {
public:
    explicit elements_of(R&& range) noexcept : range_(std::forward<R>(range)) {}
    [[nodiscard]] R&& get() && noexcept { return std::forward<R>(range_); }

private:
    R&& range_;
};
template <typename R>
elements_of(R&&) -> elements_of<R&&>;

namespace detail {

template <typename G>
inline constexpr bool is_generator = false;
template <typename T>
inline constexpr bool is_generator<generator<T>> = true;
/// One that can be taken over by a generator whose elements are `Reference`.
template <typename R, typename Reference>
inline constexpr bool is_generator_of = false;
template <typename T, typename Reference>
inline constexpr bool is_generator_of<generator<T>, Reference> =
    std::is_same_v<typename generator<T>::reference, Reference>;

/// The state of a generator; kept by the root of a stack for all of it (docs/design/generator.md).
enum class generator_state : unsigned char {
    element,   ///< at an element, or running towards one
    fresh,     ///< not begun
    switched,  ///< the leaf is another now: it is to be resumed before there is an element
    ended,     ///< finished or failed
};

/// The part of the promise that does not know the type of the elements. At offset 0 of the promise, and aligned no
/// stricter than it, so that one generator can be had from another one's frame.
class generator_base {
public:
    generator_base() noexcept = default;
    generator_base(const generator_base&) = delete;
    generator_base& operator=(const generator_base&) = delete;

    std::suspend_always initial_suspend() const noexcept { return {}; }
    class end_awaiter {
    public:
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        template <typename P>
        COFLUX_INLINE void await_suspend(std::coroutine_handle<P> h) const noexcept {
            h.promise().pop();
        }
        void await_resume() const noexcept {}
    };
    end_awaiter final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() noexcept { error_ = std::current_exception(); }

    // --- the consumer's side, of a root ------------------------------------------------------------------------------

    void begin() {
        if (state_ != generator_state::fresh) return;
        state_ = generator_state::switched;
        go_on();
    }
    /// Goes to the next element or to the end.
    COFLUX_INLINE void next() {
        COFLUX_VERIFY(state_ != generator_state::ended, "a generator was incremented at its end");
        leaf_->resume();
        if (state_ != generator_state::element) [[unlikely]]
            go_on();
    }
    [[nodiscard]] COFLUX_INLINE bool at_end() const noexcept { return state_ == generator_state::ended; }
    [[nodiscard]] COFLUX_INLINE void* value() const noexcept { return value_; }

    /// Destroys the stack from the leaf to this root, in a loop: the frames own each other to any depth.
    COFLUX_INLINE void destroy() noexcept {
        for (generator_base* g = leaf_; g != nullptr;) {
            generator_base* const parent = g->parent_;
            g->handle().destroy();
            g = parent;
        }
    }

    // --- the body's side, of a leaf ----------------------------------------------------------------------------------

    template <typename V>
    COFLUX_INLINE void yield_element(V& v) noexcept {
        root_->value_ = const_cast<void*>(static_cast<const volatile void*>(detail::address_of(v)));
    }

    /// `sub` becomes the child of this leaf, its own leaf that of the stack.
    COFLUX_INLINE void push(generator_base& sub) noexcept {
        generator_base& root = *root_;
        sub.parent_ = this;
        sub.leaf_->root_ = &root;
        root.leaf_ = sub.leaf_;
        if (sub.state_ == generator_state::fresh) {
            root.state_ = generator_state::switched;
        } else {
            root.value_ = sub.value_;  // it is at an element
        }
    }
    COFLUX_INLINE void pop() noexcept {
        if (parent_ != nullptr) {
            parent_->root_ = root_;
            root_->leaf_ = parent_;
            root_->state_ = generator_state::switched;
        }
        state_ = generator_state::ended;
    }

    /// Holds the frame of a sub-generator while it is yielded. Has no destructor: the code that destroys a stack
    /// destroys all of its frames itself.
    class sub_awaiter {
    public:
        explicit sub_awaiter(generator_base& sub) noexcept : sub_(&sub) {}
        [[nodiscard]] COFLUX_INLINE bool await_ready() const noexcept { return sub_->at_end(); }
        template <typename P>
        COFLUX_INLINE void await_suspend(std::coroutine_handle<P> h) const noexcept {
            static_cast<generator_base&>(h.promise()).push(*sub_);
        }
        COFLUX_INLINE void await_resume() const {
            if (sub_->error_ != nullptr) [[unlikely]]
                sub_->fail();
            sub_->handle().destroy();
        }

    private:
        generator_base* sub_;
    };

protected:
    ~generator_base() = default;
    /// Where the frame came from, for another that belongs to it.
    [[nodiscard]] std::pmr::memory_resource* resource() noexcept {
        return frame_source::of(handle().address()).resource;
    }

private:
    [[nodiscard]] COFLUX_INLINE std::coroutine_handle<generator_base> handle() noexcept {
        return std::coroutine_handle<generator_base>::from_promise(*this);
    }
    COFLUX_INLINE void resume() noexcept { handle().resume(); }

    /// Resumes one leaf after the other until there is an element or the end; throws the error of the root.
    COFLUX_NOINLINE void go_on();
    /// Destroys an ended sub-generator and throws its error.
    [[noreturn]] COFLUX_COLD void fail();

    void* value_ = nullptr;
    generator_base* leaf_ = this;
    generator_base* root_ = this;
    generator_base* parent_ = nullptr;
    std::exception_ptr error_;
    generator_state state_ = generator_state::fresh;
};

/// An operand of co_yield in a generator<T>.
template <typename T>
class generator_elements : public generator_base {
public:
    /// As in C++23: what `*it` gives, and what co_yield binds to.
    using reference = std::conditional_t<std::is_reference_v<T>, T, T&&>;
    using object = std::remove_reference_t<reference>;
    static constexpr bool yields_rvalues = std::is_rvalue_reference_v<reference>;

    COFLUX_INLINE std::suspend_always yield_value(reference v) noexcept {
        this->yield_element(v);
        return {};
    }

    /// The copy of an lvalue: it lives in the frame until the generator goes on.
    class copy_awaiter {
    public:
        COFLUX_INLINE explicit copy_awaiter(const object& v) : copy_(v) {}
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        template <typename P>
        COFLUX_INLINE void await_suspend(std::coroutine_handle<P> h) noexcept {
            h.promise().yield_element(copy_);
        }
        void await_resume() const noexcept {}

    private:
        std::remove_cv_t<object> copy_;
    };
    COFLUX_INLINE copy_awaiter yield_value(const object& v)
        requires(yields_rvalues && std::constructible_from<std::remove_cv_t<object>, const object&>)
    {
        return copy_awaiter(v);
    }

    /// A generator instead of an element.
    template <typename G>
        requires(is_generator<std::remove_cvref_t<G>> &&
                 (is_generator_of<std::remove_cvref_t<G>, reference> || !std::convertible_to<G, reference>))
    COFLUX_INLINE sub_awaiter yield_value(G&& sub) {
        static_assert(
            is_generator_of<std::remove_cvref_t<G>, reference>,
            "coflux: co_yield of a generator needs one with the same elements: write co_yield coflux::elements_of(sub)");
        static_assert(std::is_same_v<G, std::remove_cvref_t<G>>,
                      "coflux: co_yield of a generator takes it over: write co_yield std::move(sub)");
        return sub_awaiter(std::remove_cvref_t<G>::release(sub));
    }

    /// The elements of a range.
    template <typename R>
    COFLUX_INLINE sub_awaiter yield_value(elements_of<R> range) {
        if constexpr (std::is_rvalue_reference_v<R&&> && is_generator_of<std::remove_reference_t<R>, reference>) {
            return yield_value(std::move(range).get());
        } else {
            generator<T> each = each_of(this->resource(), std::move(range).get());
            return sub_awaiter(generator<T>::release(each));
        }
    }

    // The deduced type lets the sentence come before what else is wrong with the expression.
    template <typename A>
    auto await_transform(A&&) const noexcept {
        static_assert(
            !std::is_same_v<A, A>,
            "coflux: a generator is synchronous: it cannot co_await; await before, and pass the result to it");
        return std::suspend_never();
    }

private:
    template <typename R>
    static generator<T> each_of(std::pmr::memory_resource*, R&& range) {
        auto end = std::ranges::end(range);
        for (auto it = std::ranges::begin(range); it != end; ++it) co_yield *it;
    }
};

template <typename T, typename... Args>
class generator_promise final : public generator_elements<T> {
public:
    COFLUX_COROUTINE_ARGUMENTS(Args, Given)
    COFLUX_INLINE static void* operator new(std::size_t size, COFLUX_ARGUMENT(Args, Given) & ... args) {
        return allocate_generator_frame_for(guess_frame_shape(size), args...);
    }
    COFLUX_COROUTINE_ARGUMENTS(Args, Given)
    COFLUX_INLINE static void* operator new(std::size_t size, std::align_val_t alignment,
                                            COFLUX_ARGUMENT(Args, Given) & ... args) {
        return allocate_generator_frame_for(frame_shape_of(size, alignment), args...);
    }
    COFLUX_INLINE static void operator delete(void* frame, std::size_t size) noexcept {
        deallocate_generator_frame(frame, guess_frame_shape(size));
    }
    COFLUX_INLINE static void operator delete(void* frame, std::size_t size, std::align_val_t alignment) noexcept {
        deallocate_generator_frame(frame, frame_shape_of(size, alignment));
    }

    COFLUX_INLINE generator<T> get_return_object() noexcept {
        static_assert((... && (alignof(std::remove_cvref_t<Args>) <= largest_frame_alignment)),
                      "coflux: a coroutine's parameters cannot be aligned to more than 64 bytes");
        return generator<T>(*this);
    }
};

}  // namespace detail
}  // namespace coflux

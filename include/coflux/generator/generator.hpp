// generator: a lazy sequence, computed by a coroutine inside the loop that reads it.
#pragma once

#include <coroutine>
#include <cstddef>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/base/config.hpp>
#include <coflux/generator/detail/generator_promise.hpp>

namespace coflux {

/// A synchronous generator: a move-only input range and view over what its body yields.
///
/// Shapes: as std::generator of C++23. `*it` gives `T&&` for an object type T, which may be moved from, and T itself
/// for a reference type: `generator<T&>` lends objects for change, `generator<const T&>` for reading. `co_yield v`
/// copies nothing, but for an lvalue in a generator of rvalues, whose copy is yielded. `co_yield std::move(sub)` of a
/// generator with the same elements yields all of them, in constant time an element at any depth; `co_yield
/// elements_of(range)` any range. No co_await.
/// Returns: the body begins in begin() and runs on in `++`, until its next co_yield. begin() of a generator that has
/// begun gives an iterator at the present element. The element is valid until `++`, iterators until the generator is
/// yielded by another.
/// Errors: what the body throws comes out of begin() or `++`, after which the generator is at its end; that of a
/// sub-generator comes out of the co_yield in the generator that yields it, first. Exceptions of the resource come
/// out of the call that makes it, without effect. `++` at the end, and begin() of a generator that was moved from, are
/// checked errors.
/// Stops: no stop point; a body is part of the code that iterates.
/// Threads: one at a time, any. A generator must not iterate itself.
/// Costs: one frame: from the environment if that is the first parameter, or the second after an object; from a
/// `std::pmr::memory_resource*` there, or an allocator after `std::allocator_arg`; else from the frame pool. An
/// element: an indirect call, no allocation.
/// Lifetime: a plain object, no child of a scope. Destroyed half-way, it destroys the bodies that have begun, the
/// innermost first. Parameters that are references, and the closure of a lambda, must outlive it.
/// Source: P2502 std::generator; the stack of generators is cppcoro's recursive_generator.
template <typename T>
class [[nodiscard("a generator that is not iterated never begins")]] generator
    : public std::ranges::view_interface<generator<T>> {
    static_assert(std::is_object_v<std::remove_reference_t<T>>,
                  "coflux: the elements of a generator are objects, or references to objects");

public:
    using value_type = std::remove_cvref_t<T>;
    using reference = std::conditional_t<std::is_reference_v<T>, T, T&&>;

    class iterator {
    public:
        using iterator_concept = std::input_iterator_tag;
        using value_type = generator::value_type;
        using difference_type = std::ptrdiff_t;

        iterator(iterator&& other) noexcept = default;
        iterator& operator=(iterator&& other) noexcept = default;
        iterator(const iterator&) = delete;
        iterator& operator=(const iterator&) = delete;

        [[nodiscard]] COFLUX_INLINE reference operator*() const noexcept {
            return static_cast<reference>(*static_cast<std::remove_reference_t<T>*>(root_->value()));
        }
        COFLUX_INLINE iterator& operator++() {
            root_->next();
            return *this;
        }
        COFLUX_INLINE void operator++(int) { root_->next(); }
        [[nodiscard]] COFLUX_INLINE friend bool operator==(const iterator& it, std::default_sentinel_t) noexcept {
            return it.root_->at_end();
        }

    private:
        friend class generator;
        COFLUX_INLINE explicit iterator(detail::generator_base& root) noexcept : root_(&root) {}

        detail::generator_base* root_;
    };

    COFLUX_INLINE generator(generator&& other) noexcept : root_(std::exchange(other.root_, nullptr)) {}
    COFLUX_INLINE generator& operator=(generator&& other) noexcept {
        generator(std::move(other)).swap(*this);
        return *this;
    }
    generator(const generator&) = delete;
    generator& operator=(const generator&) = delete;
    COFLUX_INLINE ~generator() {
        if (root_ != nullptr) root_->destroy();
    }
    void swap(generator& other) noexcept { std::swap(root_, other.root_); }

    [[nodiscard]] COFLUX_INLINE iterator begin() {
        COFLUX_VERIFY(root_ != nullptr, "a generator was iterated after it was moved from");
        root_->begin();
        return iterator(*root_);
    }
    [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

private:
    template <typename>
    friend class detail::generator_elements;
    template <typename, typename...>
    friend class detail::generator_promise;
    COFLUX_INLINE explicit generator(detail::generator_base& root) noexcept : root_(&root) {}

    /// The frame for a co_yield, which takes it over.
    COFLUX_INLINE static detail::generator_base& release(generator& from) noexcept {
        COFLUX_VERIFY(from.root_ != nullptr, "a generator was yielded after it was moved from");
        return *std::exchange(from.root_, nullptr);
    }

    detail::generator_base* root_;
};

}  // namespace coflux

template <typename T, typename... Args>
struct std::coroutine_traits<coflux::generator<T>, Args...> {
    using promise_type = coflux::detail::generator_promise<T, Args...>;
};

// Rules for a coroutine's parameters (law 10), with one sentence for each mistake.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <coflux/core/environment.hpp>
#include <coflux/memory/detail/frame_layout.hpp>

namespace coflux {

/// A reference that a fork or task may take: the caller promises that the referent outlives the coroutine.
///
/// Shapes: a member function borrows its object without this word, so it cannot be a fork or task. A static one with a
/// `borrowed` can. So can each member function of a class that has no data, or that has
/// `using outlives_its_coroutines = void;` in its public part.
/// Lifetime: `borrowed<T>(x)` keeps a pointer to x; nothing checks that x is still there. So a child of a with_scope
/// borrows objects from outside the block. Elsewhere a fork or task that borrows must have ended when its handle dies,
/// also while an exception passes, which is checked: await it, or say .attach() where x outlives the scope that the
/// child belongs to.
template <typename T>
class borrowed {
public:
    explicit borrowed(T& referent) noexcept : referent_(&referent) {}
    [[nodiscard]] T& get() const noexcept { return *referent_; }
    T& operator*() const noexcept { return *referent_; }
    T* operator->() const noexcept { return referent_; }

private:
    T* referent_;
};
template <typename T>
borrowed(T&) -> borrowed<T>;

namespace detail {

/// By a conversion of pointers: the type behind a reference may be incomplete where a coroutine is defined, and
/// std::derived_from needs a complete one.
template <typename A>
inline constexpr bool is_any_environment = std::is_convertible_v<std::remove_cvref_t<A>*, const volatile environment*>;

template <typename A>
inline constexpr bool is_environment = is_any_environment<A> && !std::is_const_v<std::remove_reference_t<A>>;

template <typename A>
inline constexpr bool is_constant_environment = is_any_environment<A> && std::is_const_v<std::remove_reference_t<A>>;

template <typename... Args>
inline constexpr int environment_position = -1;
template <typename First, typename... Rest>
inline constexpr int environment_position<First, Rest...> = is_environment<First> ? 0 : -1;
template <typename First, typename Second, typename... Rest>
inline constexpr int environment_position<First, Second, Rest...> =
    is_environment<First>                                                   ? 0
    : std::is_class_v<std::remove_cvref_t<First>> && is_environment<Second> ? 1
                                                                            : -1;

/// Stands in where there is no environment, so that the sentence about it is the only error.
environment& missing_environment() noexcept;

template <typename... Args>
COFLUX_INLINE environment& find_environment(Args&...) noexcept {
    return missing_environment();
}
template <typename First, typename... Rest>
    requires is_environment<First>
COFLUX_INLINE environment& find_environment(First& env, Rest&...) noexcept {
    return env;
}
template <typename First, typename Second, typename... Rest>
    requires(!is_environment<First> && is_environment<Second>)
COFLUX_INLINE environment& find_environment(First&, Second& env, Rest&...) noexcept {
    return env;
}

template <typename T>
consteval bool is_closure() {
    const std::string_view name = __PRETTY_FUNCTION__;  // g++: "<lambda(...)>", clang: "(lambda at file:line:column)"
    return name.find("<lambda(") != name.npos || name.find("(lambda at ") != name.npos;
}

/// True for what shows elements of something else: a std::string_view, a std::span, a std::ranges::subrange. Not for a
/// range that makes its elements, as views::iota(). The headers of the former declare enable_borrowed_range.
template <typename T>
concept shows_elements = std::ranges::enable_borrowed_range<T> && !std::is_empty_v<T> &&
                         requires(T& range) { requires std::is_lvalue_reference_v<decltype(*range.begin())>; };
template <typename T>
inline constexpr bool is_view = shows_elements<T>;
template <typename T>
inline constexpr bool is_view<std::initializer_list<T>> = true;  // of an array that dies with the full expression
template <typename T>
inline constexpr bool is_capturing = std::is_class_v<T> && !std::is_empty_v<T> && is_closure<T>();

template <typename A>
inline constexpr bool is_borrowed = false;
template <typename T>
inline constexpr bool is_borrowed<borrowed<T>> = true;
template <typename A>
inline constexpr bool owns_itself = !std::is_reference_v<A> && !is_view<std::remove_cv_t<A>>;

/// True for a base that reaches the data of `Derived` by a cast of itself.
template <typename Base, typename Derived>
concept is_base_of_data =
    requires { sizeof(Derived); } && std::is_base_of_v<Base, Derived> && !std::is_empty_v<Derived>;
template <typename X>
inline constexpr bool has_data = !std::is_empty_v<X>;
template <template <typename...> typename X, typename... Ts>
inline constexpr bool has_data<X<Ts...>> = !std::is_empty_v<X<Ts...>> || (... || is_base_of_data<X<Ts...>, Ts>);

template <typename X>
concept says_that_it_outlives = requires { typename X::outlives_its_coroutines; };

template <typename... Args>
struct object_before_environment {
    using type = void;
};
template <typename First, typename... Rest>
    requires(environment_position<First, Rest...> == 1)
struct object_before_environment<First, Rest...> {
    using type = First;
};
/// The object of a member function or a lambda, with its reference; void where there is none.
template <typename... Args>
using object_of = typename object_before_environment<Args...>::type;

template <typename Object>
inline constexpr bool borrows_object = std::is_reference_v<Object> && has_data<std::remove_cvref_t<Object>>;

/// True if a coroutine with these parameters refers to objects that it does not own, and says so.
template <typename... Args>
inline constexpr bool borrows_any = borrows_object<object_of<Args...>> || (... || is_borrowed<std::remove_cv_t<Args>>);

template <typename Object>
inline constexpr bool object_lives =
    std::is_reference_v<Object> ? !borrows_object<Object> || says_that_it_outlives<std::remove_cvref_t<Object>>
                                : owns_itself<Object>;

/// Checks a fork's or task's parameters behind the environment.
template <int Environment, typename... Args>
consteval bool parameters_own() {
    int position = 0;
    return (... && (position++ <= Environment || owns_itself<Args>));
}

/// How a frame has a parameter: a reference as a pointer, whatever it refers to.
template <typename A>
using in_frame = std::conditional_t<std::is_reference_v<A>, void*, A>;

// Instantiated late, in get_return_object, when closures are complete types.
template <typename... Args>
consteval void check_parameters() {
    static_assert((... && (alignof(in_frame<Args>) <= largest_frame_alignment)),
                  "coflux: a coroutine's parameters cannot be aligned to more than 64 bytes");
    static_assert(!(... || is_constant_environment<Args>),
                  "coflux: an environment that is const cannot own children: make the parameter `auto&& env` or "
                  "`coflux::environment& env`");
}
template <typename... Args>
consteval void check_environment() {
    check_parameters<Args...>();
    static_assert(environment_position<Args...> >= 0 || (... || is_constant_environment<Args>),
                  "coflux: only a call may leave its environment out, because its awaiter gives it one: make `auto&& "
                  "env` or `coflux::environment& env` the first parameter");
}
template <typename... Args>
consteval void check_call_parameters() {
    check_parameters<Args...>();
    static_assert(environment_position<Args...> >= 0 || !(... || is_environment<Args>),
                  "coflux: the environment of a call is its first parameter: put it in front, or leave it out");
}
template <typename... Args>
consteval void check_owned_parameters() {
    check_environment<Args...>();
    using object = object_of<Args...>;
    static_assert(
        !is_capturing<std::remove_cvref_t<object>>,
        "coflux: a lambda with captures cannot be a fork or task: the captures die before the coroutine does; pass "
        "them as parameters");
    static_assert(
        object_lives<object> || is_capturing<std::remove_cvref_t<object>>,
        "coflux: a fork or task that is a member function borrows *this: make it a call, or a static function that "
        "takes the object by value, std::shared_ptr or coflux::borrowed, or put `using outlives_its_coroutines = "
        "void;` into the class");
    if constexpr (environment_position<Args...> >= 0) {
        static_assert(parameters_own<environment_position<Args...>, Args...>(),
                      "coflux: a fork or task must own its parameters: take them by value, or say coflux::borrowed<T>; "
                      "references belong in a call, and so do views, as a std::span or a std::initializer_list");
    }
}

}  // namespace detail
}  // namespace coflux

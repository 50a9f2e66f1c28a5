// Executors: the concept, how an environment remembers one, and how a coroutine names one.
#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include <coflux/base/address_of.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/stop.hpp>

namespace coflux {

/// Something that resumes coroutines.
///
/// Laws: `execute(h)` resumes `h` exactly once, later, never inside the call, with `h.resume()` on a stack that is not
/// that of a coroutine. Everything that happened before the call happens before the resumption. An executor outlives
/// the environments that name it, and waits in its destructor for calls of `execute` that have not returned. Optional
/// members refine it. `static constexpr bool starts_inline = true` says that it does not schedule: then `execute` is
/// never called, see noop_executor. `const void* identity() const noexcept` says which objects are the same
/// executor; the default is the object's address. With `static void execute_on(void* identity, handle) noexcept`
/// environments need the object itself no longer.
template <typename E>
concept executor = std::is_object_v<E> && (requires { requires E::starts_inline; } || requires(E& e,
                       std::coroutine_handle<> h) { { e.execute(h) } noexcept;
                   });

/// The executor of the environment's coroutine: what `fork<T>` and `task<T>` run on when they name none.
struct inherit_executor {};

/// Picks the N-th executor of type `E` of the environment, counted from 0 in the order given to make_environment.
template <executor E, std::size_t N>
struct nth {};

namespace detail {

template <typename E>
consteval const char* name_of() {
    return __PRETTY_FUNCTION__;
}

/// Stands for an executor type: by its address, or by the type's name where libraries have a key of their own each.
struct executor_key {
    const char* name;
    std::size_t hash;     ///< of the name; 0: the type is of one file alone, and so is its name
    const void* library;  ///< the copy of Coflux that the file is linked with

    [[nodiscard]] bool operator==(const executor_key& other) const noexcept {
        return this == &other || (hash == other.hash && hash != 0 && std::strcmp(name, other.name) == 0);
    }
};

/// FNV-1a; 0 for a name with a part that is no name: of an unnamed namespace or a closure.
consteval std::size_t hash_of(std::string_view name) {
    for (const std::string_view nameless : {"{anonymous}", "(anonymous", "<unnamed", "<lambda", "(lambda"}) {
        if (name.find(nameless) != std::string_view::npos) return 0;
    }
    std::uint64_t hash = 14695981039346656037U;
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
    return hash | 1;
}

template <typename E>
inline constexpr executor_key key_of{name_of<E>(), hash_of(name_of<E>()), &stop_requests};

template <typename E>
inline constexpr bool starts_inline = false;
template <typename E>
    requires requires { requires E::starts_inline; }
inline constexpr bool starts_inline<E> = true;

/// An internal kind that starts inline, but only when its maker asks.
template <typename E>
inline constexpr bool starts_deferred = false;
template <typename E>
    requires requires { requires E::starts_deferred; }
inline constexpr bool starts_deferred<E> = true;

/// One executor of one environment: what a frame keeps a pointer to. Immutable once made.
struct executor_entry {
    const executor_key* key;
    const void* identity;
    void* object;
    void (*execute)(void* object, std::coroutine_handle<> h) noexcept;

    void post(std::coroutine_handle<> h) const noexcept { execute(object, h); }
};

/// The entry where there are no executors. No coroutine names it.
inline constexpr executor_entry no_executor{};

template <typename E>
executor_entry entry_for(E& e) noexcept {
    if constexpr (requires(void* id, std::coroutine_handle<> h) {
                      { E::execute_on(id, h) } noexcept;
                  }) {
        return {&key_of<E>, e.identity(), e.identity(), &E::execute_on};
    } else {
        const void* identity = detail::address_of(e);
        if constexpr (requires {
                          { e.identity() } -> std::convertible_to<const void*>;
                      })
            identity = e.identity();
        return {&key_of<E>, identity, detail::address_of(e),
                [](void* object, std::coroutine_handle<> h) noexcept { static_cast<E*>(object)->execute(h); }};
    }
}

/// The identity of an executor, for use where its entry may be gone; nullptr for none.
inline const void* identity_of(const executor_entry* e) noexcept {
    return e != nullptr ? e->identity : nullptr;
}

/// How a coroutine type names its executor: none (the parent's), a type, or the N-th of a type.
template <typename E>
struct executor_choice {
    using type = E;
    static constexpr std::size_t position = 0;
};
template <typename E, std::size_t N>
struct executor_choice<nth<E, N>> {
    using type = E;
    static constexpr std::size_t position = N;
};

template <typename E>
inline constexpr bool names_executor =
    std::is_same_v<E, inherit_executor> || executor<typename executor_choice<E>::type>;

}  // namespace detail
}  // namespace coflux

// make_environment: the environment of a root, or one derived inside a coroutine.
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include <coflux/base/address_of.hpp>
#include <coflux/core/deadline.hpp>
#include <coflux/core/environment_object.hpp>
#include <coflux/core/executor.hpp>

namespace coflux {
namespace detail {

template <typename O>
concept executor_option = executor<std::remove_cvref_t<O>>;
template <typename O>
concept memory_option = std::convertible_to<O, std::pmr::memory_resource*>;
template <typename O>
concept deadline_option = std::same_as<std::remove_cvref_t<O>, std::chrono::steady_clock::time_point>;
template <typename O>
concept trace_option = std::same_as<std::remove_cvref_t<O>, trace_context>;
/// A type that is no option, and the message about it.
template <typename O>
concept duration_option = !requires { typename std::remove_cvref_t<O>::clock; } && requires {
    typename std::remove_cvref_t<O>::rep;
    typename std::remove_cvref_t<O>::period;
};
template <typename O>
concept memory_object_option = std::derived_from<std::remove_cvref_t<O>, std::pmr::memory_resource>;
/// False for a constant that cannot queue coroutines. One that can is an executor of the type without const.
template <typename O, typename E = std::remove_reference_t<O>>
inline constexpr bool can_run =
    !executor_option<O> || !std::is_const_v<E> || starts_inline<std::remove_const_t<E>> ||
    requires(E& e, void* identity, std::coroutine_handle<> h) { E::execute_on(identity, h); } ||
    requires(E& e, std::coroutine_handle<> h) { e.execute(h); };
template <typename O>
concept environment_option = executor_option<O> || memory_option<O> || deadline_option<O> || trace_option<O>;

/// The environment object with its executors: references for those given as lvalues, the objects themselves for
/// rvalues.
template <typename... Executors>
class basic_environment : public environment_object {
public:
    template <typename... Options>
    explicit basic_environment(environment* parent, Options&&... options)
        : environment_object(parent),
          executors_(pick_executors(std::forward_as_tuple(std::forward<Options>(options)...))) {
        (apply(options), ...);
        enter(std::index_sequence_for<Executors...>{});
        if constexpr ((... || deadline_option<Options>)) arm_deadline(coflux_deadlines_act);
    }
    /// As make_environment(options...) and make_environment(here, options...), for a caller that has the type
    /// (environment_of).
    template <environment_option... Options>
    explicit basic_environment(Options&&... options)
        : basic_environment(static_cast<environment*>(nullptr), std::forward<Options>(options)...) {}
    template <environment_option... Options>
    explicit basic_environment(environment& here, Options&&... options)
        : basic_environment(&here, std::forward<Options>(options)...) {}
    ~basic_environment() { close(); }

private:
    template <typename O>
    static auto as_executor(O&& option) {
        if constexpr (executor_option<O>) {
            return std::tuple<O>(std::forward<O>(option));
        } else {
            return std::tuple<>();
        }
    }
    template <typename... O>
    static std::tuple<Executors...> pick_executors(std::tuple<O...>&& options) {
        return std::apply([](auto&&... o) { return std::tuple_cat(as_executor(std::forward<decltype(o)>(o))...); },
                          std::move(options));
    }

    template <typename O>
    void apply(O& option) noexcept {
        if constexpr (memory_option<O&>) {
            std::pmr::memory_resource* const given = option;
            COFLUX_VERIFY(given != nullptr, "make_environment was given a null memory resource");
            use(*given);
        } else if constexpr (deadline_option<O>) {
            const std::int64_t ticks = detail::deadline_time::ticks(option);
            if (ticks < storage_.deadline) storage_.deadline = ticks;
        }
    }

    template <std::size_t... I>
    void enter(std::index_sequence<I...>) noexcept {
        ((entry<I>() = entry_of(std::get<I>(executors_))), ...);
        if constexpr (sizeof...(Executors) > 1) storage_.others = others_;
        // The first that schedules is where coroutines of this environment run unless they name another.
        const executor_entry* first = nullptr;
        ((first == nullptr && !starts_inline<std::remove_cvref_t<Executors>> ? void(first = &entry<I>()) : void()),
         ...);
        if (first != nullptr) executor_ = first;
    }
    template <std::size_t I>
    executor_entry& entry() noexcept {
        if constexpr (I == 0) {
            return storage_.first;
        } else {
            return others_[I - 1];
        }
    }
    template <typename E>
    static executor_entry entry_of(const E& constant) noexcept {
        E& e = const_cast<E&>(constant);  // can_run: what is called does not change a constant
        if constexpr (starts_inline<E>) {
            return {&key_of<E>, detail::address_of(e), detail::address_of(e), nullptr};
        } else {
            return entry_for(e);
        }
    }

    std::tuple<Executors...> executors_;
    std::array<executor_entry, sizeof...(Executors) < 2 ? 0 : sizeof...(Executors) - 1> others_{};
};

template <typename Trace>
struct trace_holder {
    Trace held;
};
/// The environment object with its trace. A template of it, so that only who gives one needs the type.
template <typename Trace, typename Object>
class traced_environment final : trace_holder<Trace>, public Object {
public:
    template <typename... Options>
    explicit traced_environment(environment* parent, Options&&... options)
        : trace_holder<Trace>{pick(std::forward<Options>(options)...)},
          Object(parent, std::forward<Options>(options)...) {
        const auto* const data = reinterpret_cast<const std::byte*>(&this->storage_);
        this->storage_.trace_at =
            static_cast<std::int32_t>(reinterpret_cast<const std::byte*>(&this->trace_holder<Trace>::held) - data);
    }
    template <environment_option... Options>
    explicit traced_environment(Options&&... options)
        : traced_environment(static_cast<environment*>(nullptr), std::forward<Options>(options)...) {}
    template <environment_option... Options>
    explicit traced_environment(environment& here, Options&&... options)
        : traced_environment(&here, std::forward<Options>(options)...) {}

private:
    template <typename O, typename... Rest>
    static Trace pick(O&& option, Rest&&... rest) {
        if constexpr (trace_option<O>) {
            return std::forward<O>(option);
        } else {
            return pick(std::forward<Rest>(rest)...);
        }
    }
};

template <typename... Found>
struct found_executors {
    using type = basic_environment<Found...>;
    template <typename O>
    using add = std::conditional_t<executor_option<O>, found_executors<Found..., O>, found_executors<Found...>>;
};
template <typename Found, typename... Options>
struct fold_executors : Found {};
template <typename Found, typename O, typename... Rest>
struct fold_executors<Found, O, Rest...> : fold_executors<typename Found::template add<O>, Rest...> {};
template <typename... Options>
consteval void check_options() {
    static_assert(!(... || duration_option<Options>),
                  "coflux: a deadline is a moment, not a duration: make_environment(here, coflux::clock::now() + 5s)");
    static_assert(!(... || memory_object_option<Options>),
                  "coflux: a memory resource is given by its address: make_environment(pool, &resource)");
    static_assert((... && can_run<Options>),
                  "coflux: an executor that is a constant runs nothing: its execute() is no const function");
    static_assert(
        (... && (environment_option<Options> || duration_option<Options> || memory_object_option<Options>)),
        "coflux: make_environment takes executors, a std::pmr::memory_resource*, a deadline of steady_clock and a "
        "trace_context");
    static_assert((0 + ... + static_cast<int>(trace_option<Options>)) <= 1,
                  "coflux: an environment belongs to one trace: make_environment was given two trace_contexts");
}

template <typename... Options>
inline constexpr bool begins_with_environment = false;
template <typename First, typename... Rest>
inline constexpr bool begins_with_environment<First, Rest...> =
    std::derived_from<std::remove_cvref_t<First>, environment>;

template <typename... Options>
using object_for = typename fold_executors<found_executors<>, Options...>::type;
template <typename... Options>
using environment_for =
    std::conditional_t<(... || trace_option<Options>), traced_environment<trace_context, object_for<Options...>>,
                       object_for<Options...>>;

}  // namespace detail

/// The type of make_environment(options...), for a member of a class or a std::optional; it is made from those
/// arguments, with `here` before them if it is to be below one: `std::optional<coflux::environment_of<pool&>> env;
/// env.emplace(threads);`
///
/// Shapes: an executor as an lvalue reference is used, as an object type it is owned.
template <detail::environment_option... Options>
using environment_of = detail::environment_for<Options...>;

/// Makes a root environment from any of: executors, by reference or by value (then it owns them); a
/// `std::pmr::memory_resource*` for the frames (default: the frame pool); a deadline (a
/// `std::chrono::steady_clock::time_point`), which stops what is made in it; a `trace_context`
/// (<coflux/inspect/trace_context.hpp>). The first executor that schedules runs what names none.
///
/// Returns: an environment_object, not movable, of the type environment_of<Options...>.
/// Errors: a null resource is a checked error.
/// Lifetime: resource and executors given by reference outlive the environment, which outlives what is made in it.
template <typename... Options>
    requires(!detail::begins_with_environment<Options...>)
[[nodiscard]] auto make_environment(Options&&... options) {
    detail::check_options<Options...>();
    return detail::environment_for<Options...>(static_cast<environment*>(nullptr), std::forward<Options>(options)...);
}

/// Makes an environment below `here`, inside a coroutine: with another memory resource, more executors, a nearer
/// deadline (a `std::chrono::steady_clock::time_point`) or its own `trace_context`. The rest is the parent's.
/// `co_await sub.join()` before it dies.
template <typename... Options>
[[nodiscard]] auto make_environment(environment& here, Options&&... options) {
    detail::check_options<Options...>();
    return detail::environment_for<Options...>(&here, std::forward<Options>(options)...);
}

}  // namespace coflux

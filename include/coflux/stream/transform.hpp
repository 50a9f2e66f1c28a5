// map, filter, flat_map, tap: stages without a state.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include <coflux/stream/stage.hpp>

namespace coflux::stream {

namespace detail {

template <typename F, typename Next>
class map_operator : public stage_operator<Next> {
public:
    map_operator(F f, Next next) : stage_operator<Next>(std::move(next)), f_(std::move(f)) {}
    template <typename In>
    void process(place& at, In& value) {
        decltype(auto) output = std::invoke(f_, std::as_const(value));
        this->next().process(at, output);
    }

private:
    [[no_unique_address]] F f_;
};

template <typename F, typename Next>
class filter_operator : public stage_operator<Next> {
public:
    filter_operator(F f, Next next) : stage_operator<Next>(std::move(next)), f_(std::move(f)) {}
    template <typename In>
    void process(place& at, In& value) {
        if (std::invoke(f_, std::as_const(value))) this->next().process(at, value);
    }

private:
    [[no_unique_address]] F f_;
};

template <typename F, typename Next>
class tap_operator : public stage_operator<Next> {
public:
    tap_operator(F f, Next next) : stage_operator<Next>(std::move(next)), f_(std::move(f)) {}
    template <typename In>
    void process(place& at, In& value) {
        std::invoke(f_, std::as_const(value));
        this->next().process(at, value);
    }

private:
    [[no_unique_address]] F f_;
};

/// The type that `F` gives for a const In&, where it takes one.
template <bool Takes, typename F, typename In>
struct result_if_taken {
    using type = In;
};
template <typename F, typename In>
struct result_if_taken<true, F, In> {
    using type = std::invoke_result_t<F&, const In&>;
};
template <bool Takes, typename F, typename In>
using result_if = typename result_if_taken<Takes, F, In>::type;

template <typename U, typename F, typename Next>
class flat_map_operator : public stage_operator<Next> {
public:
    flat_map_operator(F f, Next next) : stage_operator<Next>(std::move(next)), f_(std::move(f)) {}
    template <typename In>
    void process(place& at, In& value) {
        const auto emit = [&](U output) { this->next().process(at, output); };
        std::invoke(f_, std::as_const(value), emit);
    }

private:
    [[no_unique_address]] F f_;
};

}  // namespace detail

/// `map(f)`: each value becomes `f(value)`.
///
/// Shapes: `f` takes `const T&` or `T`; a pointer to a member, too.
template <typename F>
struct map {
    using stage_type = map;
    F f;
    explicit map(F g) : f(std::move(g)) {}

    template <typename In, typename Key>
    using output = std::remove_cvref_t<std::invoke_result_t<F&, const In&>>;
    template <typename In, typename Key>
    struct check {
        static constexpr bool takes = std::is_invocable_v<F&, const In&>;
        static constexpr bool gives_nothing = std::is_void_v<detail::result_if<takes, F, In>>;
        static constexpr bool ok = takes && !gives_nothing;
        static void say() {
            static_assert(
                takes, "coflux: the function of map() takes the flow's value as const T& or T: it changes no record, "
                       "because one whose later stage throws is tried again as it was");
            static_assert(
                !takes || !gives_nothing,
                "coflux: the function of map() gives the value that goes on; tap(f) is for one that gives none");
        }
    };
    template <typename In, typename Key, typename Next>
    [[nodiscard]] auto bind(Next next) const {
        return detail::map_operator<F, Next>(f, std::move(next));
    }
};

/// `filter(f)`: values for which `f(value)` is true go on.
template <typename F>
struct filter {
    using stage_type = filter;
    F f;
    explicit filter(F g) : f(std::move(g)) {}

    template <typename In, typename Key>
    using output = In;
    template <typename In, typename Key>
    struct check {
        static constexpr bool ok = std::is_invocable_r_v<bool, F&, const In&>;
        static void say() {
            static_assert(ok,
                          "coflux: the function of filter() takes the flow's value as const T& or T, and gives a bool: "
                          "whether the value goes on");
        }
    };
    template <typename In, typename Key, typename Next>
    [[nodiscard]] auto bind(Next next) const {
        return detail::filter_operator<F, Next>(f, std::move(next));
    }
};

/// `tap(f)`: calls `f(value)`, and the value goes on.
template <typename F>
struct tap {
    using stage_type = tap;
    F f;
    explicit tap(F g) : f(std::move(g)) {}

    template <typename In, typename Key>
    using output = In;
    template <typename In, typename Key>
    struct check {
        static constexpr bool ok = std::is_invocable_v<F&, const In&>;
        static void say() {
            static_assert(ok, "coflux: the function of tap() takes the flow's value as const T& or T");
        }
    };
    template <typename In, typename Key, typename Next>
    [[nodiscard]] auto bind(Next next) const {
        return detail::tap_operator<F, Next>(f, std::move(next));
    }
};

/// `flat_map<U>(f)`: `f(value, emit)` calls `emit(u)` for each of 0 to n outputs.
template <typename U, typename F>
struct flat_map_stage {
    using stage_type = flat_map_stage;
    F f;

    template <typename In, typename Key>
    using output = U;
    template <typename In, typename Key>
    struct check {
        static constexpr bool ok = std::is_invocable_v<F&, const In&, const detail::any_emit<U>&>;
        static void say() {
            static_assert(ok, "coflux: the function of flat_map<U>() takes the flow's value as const T& or T, and then "
                              "`const auto& emit`, which it calls with each output U");
        }
    };
    template <typename In, typename Key, typename Next>
    [[nodiscard]] auto bind(Next next) const {
        return detail::flat_map_operator<U, F, Next>(f, std::move(next));
    }
};
template <typename U, typename F>
[[nodiscard]] flat_map_stage<U, F> flat_map(F f) {
    return {std::move(f)};
}

}  // namespace coflux::stream
